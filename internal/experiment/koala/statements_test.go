package koala

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// made is results in which every run has the given totals.
func made(totals func(w Workload, policy string) outcome.Summary) *Results {
	r := &Results{Seeds: []uint64{1}, runs: map[cell][]*Run{}}
	for _, w := range Workloads() {
		for _, policy := range Policies() {
			run := &Run{Summary: totals(w, policy), Records: make([]outcome.Record, 2), Series: &outcome.Series{
				At: []core.Time{0}, Grows: []int32{0}, Shrinks: []int32{0}}, Apps: []string{ft, gadget}}
			r.runs[cell{w.File, policy}] = []*Run{run}
		}
	}
	return r
}

func verdictOn(r *Results, name string) Verdict {
	for _, v := range r.CheckStatements() {
		if v.Name == name {
			return v
		}
	}
	panic("no statement " + name)
}

func TestAVerdictFollowsTheNumbers(t *testing.T) {
	for _, c := range []struct {
		name   string
		totals func(w Workload, policy string) outcome.Summary
		want   bool
	}{
		{"pra-mean-size", func(_ Workload, p string) outcome.Summary { return outcome.Summary{MeanSize: float64(len(p))} },
			false},
		{"pra-mean-size", func(_ Workload, p string) outcome.Summary { return outcome.Summary{MeanSize: -float64(len(p))} },
			true},
		{"pwa-egs-worst", func(w Workload, p string) outcome.Summary {
			if w == fastM && p == egs {
				return outcome.Summary{MeanResponseS: 600}
			}
			return outcome.Summary{MeanResponseS: 500}
		}, true},
		{"pwa-egs-worst", func(Workload, string) outcome.Summary { return outcome.Summary{MeanResponseS: 500} }, false},
		{"pra-malleable-faster", func(w Workload, _ string) outcome.Summary {
			return outcome.Summary{MeanRunS: float64(len(w.Name)), MeanResponseS: float64(len(w.Name))}
		}, true},
		{"pra-malleable-faster", func(Workload, string) outcome.Summary { return outcome.Summary{} }, false},
	} {
		if v := verdictOn(made(c.totals), c.name); v.Holds != c.want {
			t.Errorf("%s: holds %v, want %v; saw %s", c.name, v.Holds, c.want, v.Saw)
		}
	}
}

func TestNamesOfStatementsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range allStatements() {
		if seen[s.Name] || s.Says == "" || s.Rule == "" || s.Where == "" {
			t.Errorf("statement %+v", s)
		}
		seen[s.Name] = true
	}
}

func TestSpreadIsTheStandardDeviationOfARun(t *testing.T) {
	r := made(func(Workload, string) outcome.Summary { return outcome.Summary{} })
	at := cell{wm.File, egs}
	r.runs[at] = nil
	for _, x := range []float64{2, 4, 6} {
		r.runs[at] = append(r.runs[at], &Run{Summary: outcome.Summary{MeanSize: x}})
	}
	if mean, spread := r.meanAndSpread(wm, egs, meanSize); mean != 4 || spread != 2 {
		t.Errorf("got %g ± %g, want 4 ± 2", mean, spread)
	}
}

func TestLateOperationsAreThoseAfterHalfOfTheSubmissions(t *testing.T) {
	r := made(func(Workload, string) outcome.Summary { return outcome.Summary{} })
	run := r.runsOf(wm, egs)[0]
	run.Records = []outcome.Record{{Submit: 0}, {Submit: 100}}
	run.Series = &outcome.Series{At: []core.Time{10, 50, 51, 200}, Grows: []int32{1, 2, 3, 3},
		Shrinks: []int32{0, 1, 1, 2}}
	if got := r.lateOperations(wm, egs); got != 0.4 {
		t.Errorf("got %g, want 2 of 5", got)
	}
}
