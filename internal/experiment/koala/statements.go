package koala

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// Statement is something that the paper says about its results, and how we
// see whether it holds for ours.
type Statement struct {
	Name   string // short, for tests and JSON
	Where  string // the figure that shows it
	Says   string // in our words
	Rule   string // how it is checked
	Wanted bool   // one of those that must come out (spec 10); else the paper says it besides
	check  func(r *Results) (bool, string)
}

// Verdict is a statement with what we saw.
type Verdict struct {
	Statement
	Holds bool
	Saw   string
}

// CheckStatements evaluates every statement.
func (r *Results) CheckStatements() []Verdict {
	var list []Verdict
	for _, s := range allStatements() {
		holds, saw := s.check(r)
		list = append(list, Verdict{s, holds, saw})
	}
	return list
}

// How words of the paper are taken.
const (
	often        = 0.25 // of the jobs
	manyJobs     = 1. / 3
	fewJobs      = 0.5
	near600      = 540 // seconds: at most 10 % below 600
	hardly       = 0.25
	similarRatio = 1.2 // the largest over the smallest
	muchMore     = 1.5
	farWorse     = 1.2
)

func allStatements() []Statement {
	pra := []Workload{wm, wmr}
	return []Statement{
		{"pra-mean-size", "7a", "EGS gives jobs more cores than FPSMA on average", "mean size on Wm and on Wmr", true,
			egsAbove(meanSize, formatNumber, pra...)},
		{"pra-max-size", "7b", "EGS lets jobs reach larger sizes than FPSMA",
			"largest size, mean over jobs, on Wm and on Wmr", true,
			egsAbove(maxSize, formatNumber, pra...)},
		{"pra-utilisation", "7e", "EGS leads to a higher utilization than FPSMA when all jobs are malleable",
			"utilization on Wm", true,
			egsAbove(meanUtilization, formatPercent, wm)},
		{"pra-grows", "7f", "EGS makes more grow operations than FPSMA", "on Wm and on Wmr", true,
			egsAbove(growCount, formatNumber, pra...)},
		{"pra-malleable-faster", "7c, 7d", "jobs of Wm end sooner than those of Wmr: malleability makes them faster",
			"mean execution and response time, both policies", true, malleableFaster},
		{"pra-ft-stuck", "7a, 7b", "short jobs (FT) under FPSMA often end at their first size, before it is their turn to " +
			"grow",
			fmt.Sprintf("at least %s of the malleable FT jobs, and more than under EGS, on Wm", formatShare(often)), true,
			ftStuck},
		{"pwa-stuck", "8a, 8b", "many jobs are stuck at their smallest size, whatever the workload and the policy",
			fmt.Sprintf("at least %s of the malleable jobs, in all four runs", formatShare(manyJobs)), true, manyStuck},
		{"pwa-gadget-600", "8c", "most GADGET 2 jobs have an execution time of 600 s",
			fmt.Sprintf("more than half take at least %d s, in all four runs", near600), true, gadgetNear600},
		{"pwa-egs-worst", "8d", "response times are worst with EGS on W'm",
			"the highest mean response time of the four", true, worstOfFour(meanResponse)},

		{"pra-few-keep-size", "7a, 7b", "relatively few malleable jobs of Wmr retain their first size",
			fmt.Sprintf("less than %s, both policies", formatShare(fewJobs)), false, fewKeepSize},
		{"pra-two-groups", "7c", "two groups appear: FT below 200 s, GADGET 2 above 400 s",
			"at least 9 of 10 jobs, in all four runs", false, twoGroups},
		{"pra-malleable-utilisation", "7e", "utilization is better with Wm than with Wmr", "both policies", false,
			malleableAbove(meanUtilization, formatPercent, 1)},
		{"pra-malleable-grows", "7f", "many more grow operations happen when all jobs are malleable",
			fmt.Sprintf("%g times as many, both policies", muchMore), false, malleableAbove(growCount, formatNumber, muchMore)},
		{"pwa-settles", "8f", "beyond a certain time the manager can change nothing any more",
			fmt.Sprintf("at most %s of all changes after half of the submissions, in all four runs", formatShare(hardly)), false,
			checkSettles},
		{"pwa-egs-stuck-more", "8a, 8b", "more jobs are stuck with EGS than with FPSMA", "of the malleable jobs, on W'm",
			false, egsStuckMore},
		{"pwa-alike", "8c", "execution times are almost the same in the four runs",
			fmt.Sprintf("mean execution times within a factor of %g", similarRatio), false, executionAlike},
		{"pwa-gadget-slower", "8c", "GADGET 2 takes about 30 % longer than under PRA", "mean of all runs, from 15 to 50 %",
			false, gadgetSlower},
		{"pwa-egs-waits", "8d", "the worst response times come from waiting",
			"EGS on W'm has the highest mean waiting time of the four", false, worstOfFour(meanWait)},
		{"pwa-egs-far-worse", "8d", "and they are far worse than in the other three runs",
			fmt.Sprintf("mean response time at least %g times the next", farWorse), false, egsFarWorse},
	}
}

func formatNumber(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// formatShare is one of the bounds above.
func formatShare(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

func formatPercent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
func formatSeconds(x float64) string { return formatNumber(x) + " s" }

type total = func(*outcome.Summary) float64

// findings puts what was seen into one sentence and remembers whether all of
// it was as it should be.
type findings struct {
	saw   []string
	wrong bool
}

func (f *findings) addFinding(ok bool, format string, args ...any) {
	f.saw = append(f.saw, fmt.Sprintf(format, args...))
	f.wrong = f.wrong || !ok
}

func (f *findings) toVerdict() (bool, string) { return !f.wrong, strings.Join(f.saw, "; ") }

func egsAbove(of total, show func(float64) string, on ...Workload) func(*Results) (bool, string) {
	return func(r *Results) (bool, string) {
		var f findings
		for _, w := range on {
			e, p := r.meanOf(w, egs, of), r.meanOf(w, fpsma, of)
			f.addFinding(e > p, "%s: EGS %s, FPSMA %s", w.Name, show(e), show(p))
		}
		return f.toVerdict()
	}
}

func malleableFaster(r *Results) (bool, string) {
	var f findings
	for _, policy := range []string{fpsma, egs} {
		x, y := r.meanOf(wm, policy, meanRunTime), r.meanOf(wmr, policy, meanRunTime)
		a, b := r.meanOf(wm, policy, meanResponse), r.meanOf(wmr, policy, meanResponse)
		f.addFinding(x < y && a < b, "%s: execution %s on Wm, %s on Wmr, response %s and %s", policyTitle(policy),
			formatSeconds(x), formatSeconds(y), formatSeconds(a), formatSeconds(b))
	}
	return f.toVerdict()
}

func ftStuck(r *Results) (bool, string) {
	among := bothHold(isMalleable, runsApp(ft))
	p, e := r.shareOf(wm, fpsma, among, isStuck), r.shareOf(wm, egs, among, isStuck)
	var f findings
	f.addFinding(p >= often && p > e, "FPSMA %s, EGS %s", formatPercent(p), formatPercent(e))
	return f.toVerdict()
}

// eachRun calls check with the runs of the paper on some workloads.
func eachRun(ws []Workload, check func(w Workload, policy string)) {
	for _, w := range ws {
		for _, policy := range []string{fpsma, egs} {
			check(w, policy)
		}
	}
}

func manyStuck(r *Results) (bool, string) {
	var f findings
	eachRun([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		x := r.shareOf(w, policy, isMalleable, isStuck)
		f.addFinding(x >= manyJobs, "%s %s %s", policyTitle(policy), w.Name, formatPercent(x))
	})
	return f.toVerdict()
}

func gadgetNear600(r *Results) (bool, string) {
	var f findings
	eachRun([]Workload{fastM, fastMR}, func(w Workload, policy string) {
		x := r.shareOf(w, policy, runsApp(gadget), func(j job) bool { return j.RunSeconds() >= near600*r.Scale })
		f.addFinding(x > 0.5, "%s %s %s", policyTitle(policy), w.Name, formatPercent(x))
	})
	return f.toVerdict()
}

func worstOfFour(of total) func(*Results) (bool, string) {
	return func(r *Results) (bool, string) {
		var f findings
		worst := r.meanOf(fastM, egs, of)
		eachRun([]Workload{fastM, fastMR}, func(w Workload, policy string) {
			x := r.meanOf(w, policy, of)
			f.addFinding(x < worst || w == fastM && policy == egs, "%s %s %s", policyTitle(policy), w.Name, formatSeconds(x))
		})
		return f.toVerdict()
	}
}

func policyTitle(policy string) string { return strings.ToUpper(policy) }
