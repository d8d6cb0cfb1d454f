// Package koala repeats the experiment of the KOALA paper (papers/001, sections
// VI and VII): malleable jobs on the DAS-3, under two approaches and two
// policies, and ours beside them. It runs the scenario files, evaluates every
// statement that the paper makes about its results on what came out, and
// writes the report. What the paper says is fixed here; whether it holds is
// computed. It must not know how a simulation works.
package koala

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/trial"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Workload is one of the four of section VI-C.
type Workload struct {
	Name     string // as the paper calls it
	File     string // of its scenario, without the ending
	Approach engine.Approach
}

// The workloads: all jobs malleable, or half of them rigid; a job every two
// minutes for PRA, every 30 s for PWA.
var (
	wm     = Workload{"Wm", "wm", engine.PRA}
	wmr    = Workload{"Wmr", "wmr", engine.PRA}
	fastM  = Workload{"W'm", "w2m", engine.PWA}
	fastMR = Workload{"W'mr", "w2mr", engine.PWA}
)

// Workloads lists them in the order of the paper.
func Workloads() []Workload { return []Workload{wm, wmr, fastM, fastMR} }

// The paper's policies.
const (
	fpsma = "fpsma"
	egs   = "egs"
)

// cell is a policy on a workload, run once for each seed.
type cell struct {
	workload string // its file
	policy   string
}

// Run is one simulation.
type Run struct {
	Summary outcome.Summary
	Records []outcome.Record
	Series  *outcome.Series
	Apps    []string // which program each job runs
}

// Results is everything that was run: every policy on every workload, under
// the approach of the workload, with every seed.
type Results struct {
	Seeds []uint64
	Procs int
	Scale float64     // how long a second of the paper takes
	Lab   *Comparison // nil: nothing was made in the lab
	runs  map[cell][]*Run
}

// Policies lists the policies that are compared, the paper's first.
func Policies() []string { return malleable.PolicyNames() }

// Simulate runs the experiment from the scenario files in dir.
func Simulate(ctx context.Context, dir string, seeds []uint64) (*Results, error) {
	r := &Results{Seeds: seeds, Scale: 1, runs: map[cell][]*Run{}}
	for _, w := range Workloads() {
		s, err := scenario.Load(filepath.Join(dir, w.File+".yaml"))
		if err != nil {
			return nil, err
		}
		r.Procs = s.Platform.TotalProcs()
		for _, policy := range Policies() {
			for _, seed := range seeds {
				run, err := simulateCell(ctx, s, w, policy, seed)
				if err != nil {
					return nil, fmt.Errorf("%s with %s, seed %d: %w", w.Name, policy, seed, err)
				}
				at := cell{w.File, policy}
				r.runs[at] = append(r.runs[at], run)
			}
		}
	}
	return r, nil
}

func simulateCell(ctx context.Context, s *scenario.Scenario, w Workload, policy string, seed uint64) (*Run, error) {
	t := trial.FromScenario(s)
	t.Seed, t.Policy.Approach, t.Policy.Malleable = seed, w.Approach, policy
	result, err := t.Run(ctx, trial.Options{Series: true})
	if err != nil {
		return nil, err
	}
	apps, err := jobPrograms(s, seed)
	if err != nil {
		return nil, err
	}
	o := result.Outcome
	return &Run{Summary: result.Summary, Records: o.Records(), Series: o.Series(), Apps: apps}, nil
}

// jobPrograms lists which program each job of a workload runs: the same seed gives
// the same jobs.
func jobPrograms(s *scenario.Scenario, seed uint64) ([]string, error) {
	jobs, _, err := s.OpenJobs(seed)
	if err != nil {
		return nil, err
	}
	var apps []string
	var j workload.Job
	for jobs.NextJob(&j) {
		apps = append(apps, j.Spec.App)
	}
	return apps, nil
}

// runsOf lists the runs of a policy on a workload.
func (r *Results) runsOf(w Workload, policy string) []*Run { return r.runs[cell{w.File, policy}] }

// meanOf is a total averaged over the seeds.
func (r *Results) meanOf(w Workload, policy string, of func(*outcome.Summary) float64) float64 {
	sum := 0.0
	runs := r.runsOf(w, policy)
	for _, run := range runs {
		sum += of(&run.Summary)
	}
	return sum / float64(len(runs))
}
