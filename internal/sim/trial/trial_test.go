package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

const jobs = `
workload:
  jobs: 2000
  every: 30s
  apps:
    - {name: x, min: 1, max: 8, work: 2m, speedup: linear}
`

func load(t *testing.T, text string) *Setup {
	t.Helper()
	s, err := scenario.Parse("s.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return FromScenario(s)
}

func run(t *testing.T, s *Setup, o Options) *Result {
	t.Helper()
	r, err := s.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAScenarioChoosesAndDefaultsFillTheRest(t *testing.T) {
	s := load(t, "platform: {clusters: [{name: a, hosts: 8}]}\n"+
		"policy: {approach: pra, scan_every: 5s, local: fcfs, max_tries: 3}\nkeep_free: {a: 2}\n"+jobs)
	p := s.Policy
	if p.Approach != engine.PRA || p.ScanEvery != 5*time.Second || *p.Local != platform.LocalFCFS || p.MaxTries != 3 ||
		s.KeepFree["a"] != 2 {
		t.Errorf("the scenario's choices are lost: %+v %v", p, s.KeepFree)
	}
	if p.Place != core.WorstFit || p.Malleable != "marginal" || p.PollEvery <= 0 || p.ProgressEvery <= 0 ||
		p.ShrinkGrace <= 0 {
		t.Errorf("defaults are missing: %+v", p)
	}
	if d := load(t, "platform: {clusters: [{name: a, hosts: 8}]}\n"+jobs).Policy; d.Approach != engine.PWA ||
		d.Local != nil {
		t.Errorf("the default is %+v", d)
	}
}

func TestWhereAllClustersHaveQueuesNoPolicyIsInForce(t *testing.T) {
	s := load(t, "platform: {clusters: [{name: a, hosts: 8, local: easy}, {name: b, hosts: 8, local: fcfs}]}\n"+jobs)
	if r := run(t, s, Options{}); r.About.Malleable != runlog.None || r.About.Local != "mixed" || r.Summary.GrowOps != 0 {
		t.Errorf("got %+v, %d grow operations", r.About, r.Summary.GrowOps)
	}
	none := platform.LocalNone
	s.Policy.Local = &none
	if r := run(t, s, Options{}); r.About.Malleable != "marginal" || r.About.Local != "none" {
		t.Errorf("got %+v", r.About)
	}
}

func TestProgressIsToldNowAndThen(t *testing.T) {
	s := load(t, "platform: {clusters: [{name: a, hosts: 64}]}\n"+jobs)
	begun, told := 0, []int64{}
	run(t, s, Options{Begin: func(n int) { begun = n }, Progress: func(n int64) { told = append(told, n) }})
	if begun != 2000 || len(told) != 1 || told[0] < 1000 {
		t.Errorf("told of %d jobs, then %v", begun, told)
	}
}

func TestOneSetupCanBeRunAgain(t *testing.T) {
	s := load(t, "platform: {clusters: [{name: a, hosts: 16}]}\n"+
		"background: [{cluster: a, poisson: 10m, procs: [1, 4], run: [1m, 5m]}]\nfailures: [{cluster: a, mtbf: 100h, "+
		"repair: 10m}]\n"+
		strings.Replace(jobs, "2000", "200", 1))
	first, second := run(t, s, Options{}), run(t, s, Options{})
	if first.Summary != second.Summary {
		t.Errorf("two runs differ:\n%+v\n%+v", first.Summary, second.Summary)
	}
	s.Seed++
	if third := run(t, s, Options{}); third.Summary == first.Summary {
		t.Error("another seed gives the same run")
	}
}

func trace(t *testing.T, on, records string) *Setup {
	t.Helper()
	p, err := platform.Parse("p.yaml", []byte(on))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.swf")
	if err := os.WriteFile(path, []byte(records), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Setup{Title: "t", Platform: p, Seed: 1, Policy: DefaultPolicy(), Trace: &workload.TraceOptions{File: path}}
	s.Policy.Malleable = runlog.None
	return s
}

const twoClusters = "clusters: [{name: a, hosts: 4}, {name: b, hosts: 3}]"

func TestAJobMayBeAsLargeAsItsPolicyCanPlace(t *testing.T) {
	const six = "5 0 -1 10 6 -1 -1 6 10 -1 1 1 -1 -1 -1 -1 -1 -1\n"
	s := trace(t, twoClusters, six)
	if _, err := s.Run(context.Background(), Options{}); !badinput.Is(err) {
		t.Errorf("6 processors in one cluster of at most 4: got %v", err)
	}
	s.Policy.Place = core.FlexibleMin
	r := run(t, s, Options{})
	if r.Summary.Completed != 1 || r.Names.Labels[0] != 5 {
		t.Errorf("split over both clusters: %+v, labels %v", r.Summary, r.Names.Labels)
	}
	s.KeepFree = map[string]int{"a": 2}
	if _, err := s.Run(context.Background(), Options{}); !badinput.Is(err) {
		t.Errorf("6 processors of 5: got %v", err)
	}
}

func TestATraceWithoutJobsSaysWhy(t *testing.T) {
	s := trace(t, twoClusters, "5 0 -1 -1 1 -1 -1 1 10 -1 1 1 -1 -1 -1 -1 -1 -1\n")
	_, err := s.Run(context.Background(), Options{})
	if !badinput.Is(err) || !strings.Contains(err.Error(), "1 (run time unknown)") {
		t.Errorf("got %v", err)
	}
}

func TestKeepingEverythingFreeIsAMistake(t *testing.T) {
	s := trace(t, twoClusters, "5 0 -1 10 1 -1 -1 1 10 -1 1 1 -1 -1 -1 -1 -1 -1\n")
	s.KeepFree = map[string]int{"b": 3}
	if _, err := s.Run(context.Background(), Options{}); !badinput.Is(err) {
		t.Errorf("got %v", err)
	}
}

func TestARunCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := load(t, "platform: {clusters: [{name: a, hosts: 64}]}\n"+strings.Replace(jobs, "2000", "200000", 1))
	_, err := s.Run(ctx, Options{Progress: func(int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
