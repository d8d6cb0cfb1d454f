package testbed

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// usedCPU is whether a process has had CPU time: schedstat begins with its nanoseconds.
func usedCPU(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	nanoseconds, _, _ := strings.Cut(string(text), " ")
	return len(nanoseconds) > len("50000000")
}

func TestCompetitorsComputeOnTheirCoreUntilTheyAreStopped(t *testing.T) {
	_, core, err := TwoCores()
	if err != nil {
		t.Fatal(err)
	}
	c, err := StartCompetitors(core, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddCompetitors(1); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, cmd := range c.commands {
		pids = append(pids, cmd.Process.Pid)
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(cmd.Process.Pid, &set); err != nil || set.Count() != 1 || !set.IsSet(core) {
			t.Errorf("a competitor may run on %d cores: %v", set.Count(), err)
		}
	}
	if len(pids) != 2 || c.Count() != 2 {
		t.Errorf("%d competitors", c.Count())
	}
	clocktest.WaitFor(t, "them to compute", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { return !usedCPU(t, pid) })
	})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d is left", pid)
		}
	}
}

func TestTheChartsShowWhatHappened(t *testing.T) {
	r := &Record{Name: "with migration", Took: 30, Deadline: 20, LoadAt: 3, Moves: []float64{5},
		Predictions: []Prediction{{1, 10, 12, 15}, {2, 11, 12, 90}}}
	remaining := r.RemainingChart()
	end := EndCharts(r, &Record{Name: "without", Took: 40, Deadline: 20})[0]
	names := func(series int, label func(int) string) string {
		var list []string
		for i := range series {
			list = append(list, label(i))
		}
		return strings.Join(list, ",")
	}
	if got := names(len(remaining.Series),
		func(i int) string { return remaining.Series[i].Name }); got != "predicted,90 % interval,actual,to the "+
		"deadline,other programs start,migrated" {
		t.Error(got)
	}
	if got := names(len(end.Series),
		func(i int) string { return end.Series[i].Name }); got != "predicted end,90 % interval,other programs "+
		"start,migrated,actual end" {
		t.Error(got)
	}
	if end.XRange.Max != 40 || end.YRange.Max != 50 || len(end.Lines) != 1 || end.Lines[0].Y != 20 {
		t.Errorf("axes to %v and %v, lines %v", end.XRange.Max, end.YRange.Max, end.Lines)
	}
	if late := end.Series[1].High; late[1] != 50 { // what lies above the chart is drawn at its edge
		t.Errorf("drawn at %v", late)
	}
	if left := remaining.Series[0].Y; left[0] != 11 {
		t.Errorf("%v left", left)
	}
}
