package history

import (
	"math"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestARunThatWaitsIsExpectedToTakeItsWallTime(t *testing.T) {
	var rows []Run
	for range 5 {
		rows = append(rows, Run{Program: "fetch", Args: []string{"8"}, Procs: 1, Outcome: Finished, Need: 0.012, CPU: 0.012,
			Busy: 0.012, Idle: 8.5})
	}
	a := AloneOf(rows, "fetch", []string{"8"}, 1)
	lo, mid, hi := band(t, a.Quantiles)
	if a.Runs != 5 || math.Abs(mid-8.512) > 0.05 || lo < 7.5 || hi > 9.5 || a.Waiting < 0.99 ||
		!strings.Contains(a.Why, "waits 100 %") {
		t.Errorf("%+v", a)
	}
	if a := AloneOf(rows, "other", nil, 1); a.Quantiles != nil || a.Runs != 0 {
		t.Errorf("a program that never ran takes %+v", a)
	}
}

func TestTimeAloneIsSplitOverProcessors(t *testing.T) {
	rows := []Run{{Program: "solve", Procs: 2, Outcome: Finished, Need: 20, Busy: 10, Idle: 5}}
	if a := AloneOf(rows, "solve", nil, 4); math.Abs(a.Quantiles[6]-10) > 0.1 || math.Abs(a.Waiting-0.5) > 0.01 {
		t.Errorf("on twice the processors it takes %v s, waiting %v of them", a.Quantiles[6], a.Waiting)
	}
}

// Of runs of earlier versions only wall and CPU time are known.
func TestOldRunsTellTheirWallTime(t *testing.T) {
	run := func(wall, cpu float64) Run {
		return Run{Program: "fetch", Procs: 1, Outcome: Finished, Need: cpu, CPU: cpu, Started: core.AtSecond(100),
			Ended: core.AtSecond(100 + wall)}
	}
	a := AloneOf([]Run{run(9, 1), run(10, 1), run(14, 1)}, "fetch", nil, 1)
	if math.Abs(a.Quantiles[6]-9) > 0.1 || math.Abs(a.Waiting-8.0/9) > 0.01 {
		t.Errorf("it waits: %+v", a)
	}
	// Others had the processor now and then: it does not wait.
	if a := AloneOf([]Run{run(5.1, 5), run(9, 5), run(14, 5)}, "fetch", nil, 1); math.Abs(a.Quantiles[6]-5) > 0.1 ||
		a.Waiting != 0 {
		t.Errorf("it computes: %+v", a)
	}
}

func TestLateRunsCountMostAndOddOnesLittle(t *testing.T) {
	logs := func(x ...float64) []float64 {
		for i := range x {
			x[i] = math.Log(x[i])
		}
		return x
	}
	mean, _, count := recentMean(logs(10, 10.1, 9.9, 10, 30), 0.05)
	if got := math.Exp(mean); got > 11 || count < 4 {
		t.Errorf("one of five took three times as long: %.2f is expected, from %.1f runs", got, count)
	}
	var x []float64
	for i := range 40 {
		x = append(x, 10*(1+0.5*float64(i/20)))
	}
	if mean, _, _ := recentMean(logs(x...), 0.05); math.Exp(mean) < 12.5 {
		t.Errorf("it took 10 s twenty times and 15 s since then: %.2f is expected", math.Exp(mean))
	}
	if mean, squares, count := recentMean(logs(7), 0.05); math.Abs(math.Exp(mean)-7) > 1e-9 || squares != 0 || count != 1 {
		t.Errorf("one run: %v, %v, %v", mean, squares, count)
	}
}

func TestChangesOfTheShareAreCountedByCluster(t *testing.T) {
	rows := []Run{
		{Cluster: "a", Outcome: Finished, Busy: 1, Changes: 2, Started: core.AtSecond(1), Ended: core.AtSecond(11)},
		{Cluster: "a", Outcome: Finished, Busy: 1, Started: core.AtSecond(1), Ended: core.AtSecond(6)},
		{Cluster: "a", Outcome: Finished, Started: core.AtSecond(1), Ended: core.AtSecond(6)}, // not measured
		{Cluster: "b", Outcome: Finished, Busy: 1, Changes: 9, Started: core.AtSecond(1), Ended: core.AtSecond(6)},
	}
	if n, s := ShareChanges(rows, "a"); n != 2 || s != 15 {
		t.Errorf("%v changes in %v s", n, s)
	}
}
