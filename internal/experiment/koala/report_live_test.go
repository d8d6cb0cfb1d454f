package koala

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// atSecond is a moment of a run.
func atSecond(s float64) core.Time { return core.Time(s * float64(time.Second)) }

// madeUp is a run of one job, which waits for a second, runs for 8 with 2 and for 2 with 6 cores.
func madeUp(w Workload, policy string) LiveRun {
	spec := &core.Job{ID: 1, Name: gadget, Kind: core.Malleable,
		Components: []core.Component{{Min: 2, Max: 46, Initial: 2}}}
	return LiveRun{Workload: w.File, Policy: policy, Load: "3.50 2.00 1.00", Events: []core.Event{
		{Kind: core.JobSubmitted, Job: 1, Spec: spec},
		{At: atSecond(0.5), Kind: core.PartPlanned, Job: 1, N: 2},
		{At: atSecond(1), Kind: core.JobBecame, Job: 1, To: core.Running},
		{At: atSecond(9), Kind: core.PartAnswered, Job: 1, N: 4, Grow: true},
		{At: atSecond(11), Kind: core.JobBecame, Job: 1, To: core.Done},
	}}
}

// madeUpRuns are eight of them.
func madeUpRuns() *LiveResults {
	r := &LiveResults{Machine: measured.Machine{Model: "A CPU", CPUs: 2, Kernel: "Linux 6", At: time.Unix(1e9, 0).UTC()}}
	for _, w := range Workloads() {
		for _, policy := range []string{fpsma, egs} {
			r.Runs = append(r.Runs, madeUp(w, policy))
		}
	}
	return r
}

func TestRunsInTheLabAreKeptAndReadAgain(t *testing.T) {
	path, want := filepath.Join(t.TempDir(), "deep", "lab.jsonl.gz"), madeUpRuns()
	if err := want.keepRuns(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLive(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("kept %+v, read %+v", want, got)
	}
	if _, err := ReadLive(path + "x"); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestARunInTheLabIsMeasuredFromItsEvents(t *testing.T) {
	l := madeUp(wm, egs)
	s := l.liveRun(272).Summary
	if s.MeanResponseS != 11 || s.MeanWaitS != 1 || s.MeanRunS != 10 || s.GrowOps != 1 || s.ShrinkOps != 0 ||
		s.MaxSizeMean != 6 || math.Abs(s.MeanSize-2.8) > 1e-9 || math.Abs(s.Utilization-28./11/272) > 1e-9 {
		t.Errorf("%+v", s)
	}
}

func TestTheReportSetsTheLabBesideTheSimulator(t *testing.T) {
	c, err := madeUpRuns().CompareLive(t.Context(), scenarios)
	if err != nil {
		t.Fatal(err)
	}
	r := *results(t)
	r.Lab = c
	text, err := r.reportMarkdown()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\n## In the lab\n", "A CPU, 2 cores, Linux 6", "at the end of the runs: 3.5 to 3.5",
		"Every run was made once in the lab.", "| FPSMA, Wm |", " / 11.0 s (", "In 0 of the 8 runs", "koala/lab.svg"} {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q:\n%s", part, text[strings.Index(text, "## All"):])
		}
	}
	if figures := r.namedFigures(); figures[len(figures)-1].name != "lab.svg" {
		t.Error("there is no figure of the lab")
	}
	// The same runs as in the simulator would be close.
	c.Lab = c.Simulated
	if s := r.liveSection(); s.Close != s.Runs || s.Runs != 8 {
		t.Errorf("%d of %d runs are close to themselves", s.Close, s.Runs)
	}
	missing := madeUpRuns()
	missing.Runs = missing.Runs[1:]
	if _, err := missing.CompareLive(t.Context(), scenarios); err == nil ||
		!strings.Contains(err.Error(), "Wm with FPSMA") {
		t.Errorf("a run is missing: %v", err)
	}
}
