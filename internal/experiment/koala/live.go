package koala

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
)

// scaledSeconds is how long a second of the paper takes in the lab: two seconds for a minute.
const scaledSeconds = 2. / 60

// LivePlan says how the eight runs are made in the lab.
type LivePlan struct {
	Scenarios string // folder of the scenario files
	Godwit    string // the program
	Repeat    int    // how often each run is made
	Results   string // file in which the runs are kept
	Add       bool   // to the runs that are there
	Out       io.Writer
}

// LiveRun is a run in the lab: what happened to its jobs.
type LiveRun struct {
	Workload string       `json:"workload"` // its file
	Policy   string       `json:"policy"`
	Began    time.Time    `json:"began"`
	Load     string       `json:"load"` // load averages of the machine at its end
	Events   []core.Event `json:"events"`
}

// LiveResults are the runs in the lab and where they were made.
type LiveResults struct {
	Machine measured.Machine
	Runs    []LiveRun
}

// MeasureLive makes the eight runs in labs of their own, and keeps each when it is over.
func (p *LivePlan) MeasureLive(ctx context.Context, now clock.Clock) (*LiveResults, error) {
	r := &LiveResults{Machine: measured.ThisMachine(now)}
	if p.Add {
		var err error
		if r, err = ReadLive(p.Results); err != nil {
			return nil, err
		}
	}
	for n := range p.Repeat {
		var failed error
		eachRun(Workloads(), func(w Workload, policy string) {
			if failed == nil {
				// it is only told
				_, _ = fmt.Fprintf(p.Out, "%s with %s, run %d of %d\n", w.Name, policyTitle(policy), n+1, p.Repeat)
				failed = p.addRun(ctx, r, w, policy, now)
			}
		})
		if failed != nil {
			return nil, failed
		}
	}
	return r, nil
}

// addRun makes a run and keeps it with those before.
func (p *LivePlan) addRun(ctx context.Context, r *LiveResults, w Workload, policy string, now clock.Clock) error {
	run, err := p.runInLab(ctx, w, policy, now)
	if err != nil {
		return fmt.Errorf("%s with %s: %w", w.Name, policyTitle(policy), err)
	}
	r.Runs = append(r.Runs, *run)
	r.Machine.LoadAfter = run.Load
	return r.keepRuns(p.Results)
}

// liveFile is the scenario of a run in the lab.
func liveFile(dir string, w Workload, policy string) string {
	return filepath.Join(dir, fmt.Sprintf("live-%s-%s-%s.yaml", w.File, w.Approach, policy))
}

// runInLab plays the scenario of a run as a user does.
func (p *LivePlan) runInLab(ctx context.Context, w Workload, policy string, now clock.Clock) (_ *LiveRun, err error) {
	dir, err := os.MkdirTemp("/var/tmp", "godwit-koala-") // hosts of a lab have a /tmp of their own
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log := filepath.Join(dir, "log.jsonl")
	run := &LiveRun{Workload: w.File, Policy: policy, Began: now().UTC()}
	cmd := exec.CommandContext(ctx, p.Godwit, "lab", "run", liveFile(p.Scenarios, w, policy))
	cmd.Env = append(os.Environ(), "KOALA_LOG="+log)
	cmd.Stdout, cmd.Stderr = p.Out, p.Out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it removes its lab
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	run.Load = measured.LoadAverage()
	run.Events, err = readEvents(log)
	return run, err
}

// wantedEvents are those that say what became of jobs.
var wantedEvents = []core.EventKind{core.JobSubmitted, core.JobBecame, core.PartPlanned, core.PartAnswered,
	core.PartGaveBack}

// readEvents reads what happened to the jobs in the exported log of a broker, in time since the
// first submission.
func readEvents(path string) ([]core.Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	log, err := brokerlog.NewReader(f, path)
	if err != nil {
		return nil, err
	}
	var list []core.Event
	for {
		line, err := log.NextLine()
		switch {
		case errors.Is(err, io.EOF):
			return sinceFirst(list), nil
		case err != nil:
			return nil, err
		case line.Start != nil && len(line.Start.Snapshot) > 0:
			return nil, fmt.Errorf("%s: the broker has forgotten how it began", path)
		case line.Step != nil:
			list = appendWanted(list, line.Step.Events)
		}
	}
}

// appendWanted adds the events that are wanted, without what the outcome of jobs does not rest on.
func appendWanted(list, events []core.Event) []core.Event {
	for i := range events {
		if ev := &events[i]; slices.Contains(wantedEvents, ev.Kind) {
			list = append(list, core.Event{At: ev.At, Kind: ev.Kind, Job: ev.Job, Part: ev.Part, Cluster: ev.Cluster,
				To: ev.To, N: ev.N, Grow: ev.Grow, Spec: shortSpec(ev.Spec)})
		}
	}
	return list
}

// shortSpec is what the outcome of a job needs of its description.
func shortSpec(j *core.Job) *core.Job {
	if j == nil {
		return nil
	}
	short := &core.Job{ID: j.ID, Name: j.Name, Kind: j.Kind}
	for i := range j.Components {
		c := &j.Components[i]
		short.Components = append(short.Components, core.Component{Min: c.Min, Max: c.Max, Initial: c.Initial})
	}
	return short
}

// sinceFirst gives events their times since the first, which is a submission.
func sinceFirst(list []core.Event) []core.Event {
	var first core.Time
	for i := range list {
		if i == 0 {
			first = list[i].At
		}
		list[i].At -= first
	}
	return list
}

// liveRun is a run in the lab in the terms of the simulator.
func (l *LiveRun) liveRun(procs int) *Run {
	c := outcome.NewCollector(procs, 0, true)
	run := &Run{}
	for i := range l.Events {
		ev := &l.Events[i]
		c.Observe(ev)
		if ev.Kind == core.JobSubmitted {
			run.Apps = append(run.Apps, ev.Spec.Name)
		}
	}
	run.Summary, run.Records, run.Series = c.Summary(), c.Records(), c.Series()
	return run
}

// toResults gathers the runs of the lab as those of the simulator are.
func (l *LiveResults) toResults(procs int) (*Results, error) {
	r := &Results{Procs: procs, Scale: scaledSeconds, runs: map[cell][]*Run{}}
	for i := range l.Runs {
		at := cell{l.Runs[i].Workload, l.Runs[i].Policy}
		r.runs[at] = append(r.runs[at], l.Runs[i].liveRun(procs))
	}
	var missing error
	eachRun(Workloads(), func(w Workload, policy string) {
		if len(r.runsOf(w, policy)) == 0 {
			missing = errors.Join(missing, fmt.Errorf("no run of %s with %s", w.Name, policyTitle(policy)))
		}
	})
	return r, missing
}

// simulateScaled runs in the simulator what the lab plays.
func simulateScaled(ctx context.Context, dir string) (*Results, error) {
	r := &Results{Scale: scaledSeconds, runs: map[cell][]*Run{}}
	for _, w := range Workloads() {
		s, err := scenario.Load(filepath.Join(dir, scaledFile(w)))
		if err != nil {
			return nil, err
		}
		r.Procs, r.Seeds = s.Platform.TotalProcs(), []uint64{s.Seed}
		for _, policy := range []string{fpsma, egs} {
			run, err := simulateCell(ctx, s, w, policy, s.Seed)
			if err != nil {
				return nil, fmt.Errorf("%s with %s: %w", w.Name, policy, err)
			}
			r.runs[cell{w.File, policy}] = []*Run{run}
		}
	}
	return r, nil
}

// scaledFile is the scenario of a workload as it is played in the lab.
func scaledFile(w Workload) string { return "scaled-" + w.File + ".yaml" }
