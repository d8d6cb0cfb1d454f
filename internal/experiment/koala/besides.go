package koala

import (
	"math"
)

// What the paper says besides; see statements.

func fewKeepSize(r *Results) (bool, string) {
	var f findings
	for _, policy := range []string{fpsma, egs} {
		x := r.shareOf(wmr, policy, isMalleable, isStuck)
		f.addFinding(x < fewJobs, "%s %s", policyTitle(policy), formatPercent(x))
	}
	return f.toVerdict()
}

func twoGroups(r *Results) (bool, string) {
	const most = 0.9
	var f findings
	eachRun([]Workload{wm, wmr}, func(w Workload, policy string) {
		short := r.shareOf(w, policy, runsApp(ft), func(j job) bool { return j.RunSeconds() < 200*r.Scale })
		long := r.shareOf(w, policy, runsApp(gadget), func(j job) bool { return j.RunSeconds() > 400*r.Scale })
		f.addFinding(short >= most && long >= most, "%s %s: FT %s, GADGET 2 %s", policyTitle(policy), w.Name,
			formatPercent(short), formatPercent(long))
	})
	return f.toVerdict()
}

func malleableAbove(of total, show func(float64) string, times float64) func(*Results) (bool, string) {
	return func(r *Results) (bool, string) {
		var f findings
		for _, policy := range []string{fpsma, egs} {
			x, y := r.meanOf(wm, policy, of), r.meanOf(wmr, policy, of)
			f.addFinding(x > times*y, "%s: %s on Wm, %s on Wmr", policyTitle(policy), show(x), show(y))
		}
		return f.toVerdict()
	}
}

func checkSettles(r *Results) (bool, string) {
	var f findings
	eachRun([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		x := r.lateOperations(w, policy)
		f.addFinding(x <= hardly, "%s %s %s", policyTitle(policy), w.Name, formatPercent(x))
	})
	return f.toVerdict()
}

func egsStuckMore(r *Results) (bool, string) {
	e, p := r.shareOf(fastM, egs, isMalleable, isStuck), r.shareOf(fastM, fpsma, isMalleable, isStuck)
	var f findings
	f.addFinding(e > p, "EGS %s, FPSMA %s", formatPercent(e), formatPercent(p))
	return f.toVerdict()
}

func executionAlike(r *Results) (bool, string) {
	var f findings
	least, most := math.Inf(1), 0.0
	eachRun([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		x := r.meanOf(w, policy, meanRunTime)
		least, most = min(least, x), max(most, x)
		f.addFinding(true, "%s %s %s", policyTitle(policy), w.Name, formatSeconds(x))
	})
	f.wrong = most > similarRatio*least
	return f.toVerdict()
}

func gadgetSlower(r *Results) (bool, string) {
	mean := func(ws []Workload) float64 {
		sum, n := 0.0, 0.0
		eachRun(ws, func(w Workload, policy string) {
			sum += r.averageOf(w, policy, runsApp(gadget), func(j job) float64 { return j.RunSeconds() })
			n++
		})
		return sum / n
	}
	pra, pwa := mean([]Workload{wm, wmr}), mean([]Workload{fastM, fastMR})
	longer := pwa/pra - 1
	var f findings
	f.addFinding(longer >= 0.15 && longer <= 0.5, "%s under PRA, %s under PWA: %s longer", formatSeconds(pra),
		formatSeconds(pwa), formatPercent(longer))
	return f.toVerdict()
}

func egsFarWorse(r *Results) (bool, string) {
	worst, next := r.meanOf(fastM, egs, meanResponse), 0.0
	eachRun([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		if w != fastM || policy != egs {
			next = max(next, r.meanOf(w, policy, meanResponse))
		}
	})
	var f findings
	f.addFinding(worst >= farWorse*next, "EGS on W'm %s, the next %s", formatSeconds(worst), formatSeconds(next))
	return f.toVerdict()
}
