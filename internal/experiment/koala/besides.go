package koala

import (
	"math"
)

// What the paper says besides; see statements.

func fewKeepSize(r *Results) (bool, string) {
	var f findings
	for _, policy := range []string{fpsma, egs} {
		x := r.share(wmr, policy, isMalleable, stuck)
		f.add(x < few, "%s %s", title(policy), pct(x))
	}
	return f.verdict()
}

func twoGroups(r *Results) (bool, string) {
	const most = 0.9
	var f findings
	four([]Workload{wm, wmr}, func(w Workload, policy string) {
		short := r.share(w, policy, runs(ft), func(j job) bool { return j.Run() < 200 })
		long := r.share(w, policy, runs(gadget), func(j job) bool { return j.Run() > 400 })
		f.add(short >= most && long >= most, "%s %s: FT %s, GADGET 2 %s", title(policy), w.Name, pct(short), pct(long))
	})
	return f.verdict()
}

func malleableAbove(of total, show func(float64) string, times float64) func(*Results) (bool, string) {
	return func(r *Results) (bool, string) {
		var f findings
		for _, policy := range []string{fpsma, egs} {
			x, y := r.mean(wm, policy, of), r.mean(wmr, policy, of)
			f.add(x > times*y, "%s: %s on Wm, %s on Wmr", title(policy), show(x), show(y))
		}
		return f.verdict()
	}
}

func settles(r *Results) (bool, string) {
	var f findings
	four([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		x := r.lateOperations(w, policy)
		f.add(x <= hardly, "%s %s %s", title(policy), w.Name, pct(x))
	})
	return f.verdict()
}

func egsStuckMore(r *Results) (bool, string) {
	e, p := r.share(fastM, egs, isMalleable, stuck), r.share(fastM, fpsma, isMalleable, stuck)
	var f findings
	f.add(e > p, "EGS %s, FPSMA %s", pct(e), pct(p))
	return f.verdict()
}

func executionAlike(r *Results) (bool, string) {
	var f findings
	least, most := math.Inf(1), 0.0
	four([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		x := r.mean(w, policy, execution)
		least, most = min(least, x), max(most, x)
		f.add(true, "%s %s %s", title(policy), w.Name, sec(x))
	})
	f.wrong = most > alike*least
	return f.verdict()
}

func gadgetSlower(r *Results) (bool, string) {
	mean := func(ws []Workload) float64 {
		sum, n := 0.0, 0.0
		four(ws, func(w Workload, policy string) {
			sum += r.average(w, policy, runs(gadget), func(j job) float64 { return j.Run() })
			n++
		})
		return sum / n
	}
	pra, pwa := mean([]Workload{wm, wmr}), mean([]Workload{fastM, fastMR})
	longer := pwa/pra - 1
	var f findings
	f.add(longer >= 0.15 && longer <= 0.5, "%s under PRA, %s under PWA: %s longer", sec(pra), sec(pwa), pct(longer))
	return f.verdict()
}

func egsFarWorse(r *Results) (bool, string) {
	worst, next := r.mean(fastM, egs, response), 0.0
	four([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		if w != fastM || policy != egs {
			next = max(next, r.mean(w, policy, response))
		}
	})
	var f findings
	f.add(worst >= farWorse*next, "EGS on W'm %s, the next %s", sec(worst), sec(next))
	return f.verdict()
}
