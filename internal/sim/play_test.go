package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Jobs, platforms and disturbances written by hand, and a run that is checked
// after every step and every instant.

// jobList is a source of jobs by hand; they are numbered from 1.
type jobList struct {
	jobs []workload.Job
	next int
}

func listOf(jobs ...workload.Job) *jobList { return &jobList{jobs: jobs} }

func (l *jobList) Len() int { return len(l.jobs) }

func (l *jobList) NextJob(j *workload.Job) bool {
	if l.next == len(l.jobs) {
		return false
	}
	*j = l.jobs[l.next]
	l.next++
	j.Spec.ID = core.JobID(l.next)
	return true
}

// plain is a program without any peculiarity.
var plain = &app.App{Name: "plain", Speedup: app.Linear{}}

// rigid is a job submitted at a second, of so many processors and seconds.
func rigid(at float64, procs int, seconds float64) workload.Job {
	return workload.Job{Submit: core.AtSecond(at), App: plain, Run: core.DurationFromSeconds(seconds),
		Limit: core.DurationFromSeconds(seconds),
		Spec:  core.Job{App: "plain", Components: []core.Component{{Min: procs, Max: procs}}}}
}

// elastic is a malleable job of a program; its work is in seconds on one
// processor.
func elastic(at float64, least, most int, a *app.App, work float64) workload.Job {
	return workload.Job{Submit: core.AtSecond(at), App: a, Work: work,
		Spec: core.Job{App: a.Name, Kind: core.Malleable, Components: []core.Component{{Min: least, Max: most}}}}
}

// with changes a job.
func with(j workload.Job, change func(*workload.Job)) workload.Job {
	j.Spec.Components = slices.Clone(j.Spec.Components)
	change(&j)
	return j
}

func gridOf(t testing.TB, yaml string) *platform.Platform {
	t.Helper()
	p, err := platform.Parse("by hand", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// inTurn hands out a list as a stream.
func inTurn[T any](list ...T) func() (T, bool) {
	return func() (T, bool) {
		var none T
		if len(list) == 0 {
			return none, false
		}
		first := list[0]
		list = list[1:]
		return first, true
	}
}

// played is a run that is over.
type played struct {
	t       testing.TB
	records []outcome.Record
	summary outcome.Summary
	events  []core.Event
	left    int
	sim     *Simulator
}

// play runs jobs by hand.
func play(t testing.TB, cfg Config, jobs ...workload.Job) *played {
	t.Helper()
	cfg.Jobs = listOf(jobs...)
	return playAll(t, cfg)
}

// playSim is play, and tells which simulator it is before it begins.
func playSim(t testing.TB, cfg Config, sim **Simulator, jobs ...workload.Job) *played {
	t.Helper()
	cfg.Jobs = listOf(jobs...)
	return playWith(t, cfg, func(s *Simulator) { *sim = s })
}

// playAll runs a simulation, and checks the engine's world after every step and
// the grid against it after every instant.
func playAll(t testing.TB, cfg Config) *played {
	t.Helper()
	return playWith(t, cfg, func(*Simulator) {})
}

func playWith(t testing.TB, cfg Config, begins func(*Simulator)) *played {
	t.Helper()
	c := outcome.NewCollector(cfg.Platform.TotalProcs(), cfg.Jobs.Len(), false)
	p := &played{t: t}
	observe := cfg.Observe
	cfg.Observe = func(now core.Time, in *core.Input, out *engine.Output) {
		if err := p.sim.eng.World().CheckInvariants(); err != nil {
			t.Fatalf("at %g s, after %s: %v", now.Seconds(), in.Kind, err)
		}
		for i := range out.Events {
			c.Observe(&out.Events[i])
			p.events = append(p.events, out.Events[i])
		}
		if observe != nil {
			observe(now, in, out)
		}
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.sim = s
	begins(s)
	s.beginRun()
	for at, more := s.nextMoment(); more; at, more = s.nextMoment() {
		if at < s.now {
			t.Fatalf("time goes back from %d to %d", s.now, at)
		}
		s.runInstant(at)
		if err := s.truth(); err != nil {
			t.Fatalf("at %g s: %v", at.Seconds(), err)
		}
	}
	p.records, p.summary, p.left = c.Records(), c.Summary(), len(s.tasks)
	return p
}

// times wants jobs, in the order of submission, to start and end at these
// seconds, exactly.
func (p *played) times(seconds ...[2]float64) {
	p.t.Helper()
	if len(p.records) != len(seconds) {
		p.t.Fatalf("%d jobs, want %d", len(p.records), len(seconds))
	}
	for i, want := range seconds {
		r := &p.records[i]
		if r.State != core.Done || r.Start != core.AtSecond(want[0]) || r.End != core.AtSecond(want[1]) {
			p.t.Errorf("job %d is %s and ran from %d to %d ns, want %d to %d",
				i+1, r.State, r.Start, r.End, core.AtSecond(want[0]), core.AtSecond(want[1]))
		}
	}
}

// clusters wants jobs to have run in these clusters.
func (p *played) clusters(ids ...core.ClusterID) {
	p.t.Helper()
	for i, want := range ids {
		if got := p.records[i].Cluster; got != want {
			p.t.Errorf("job %d ran in cluster %d, want %d", i+1, got, want)
		}
	}
}

// sizes tells how the size of a job changed: "0 2, 10 +4, 30 -2".
func (p *played) sizes(id core.JobID) string {
	var list []string
	size := 0
	for i := range p.events {
		ev := &p.events[i]
		switch {
		case ev.Job != id:
		case ev.Kind == core.PartPlanned && ev.Part == 0:
			size = ev.N
		case ev.Kind == core.PartPlanned:
			size += ev.N
		case ev.Kind == core.JobBecame && ev.To == core.Running:
			list = append(list, fmt.Sprintf("%g %d", ev.At.Seconds(), size))
		case ev.Kind == core.PartAnswered && ev.N > 0 && ev.Grow:
			list = append(list, fmt.Sprintf("%g +%d", ev.At.Seconds(), ev.N))
		case ev.Kind == core.PartAnswered && ev.N > 0, ev.Kind == core.PartGaveBack:
			list = append(list, fmt.Sprintf("%g -%d", ev.At.Seconds(), ev.N))
		}
	}
	return strings.Join(list, ", ")
}

// states tells the states of a job: "0 SUBMITTED, 0 SELECTED, …".
func (p *played) states(id core.JobID) string {
	var list []string
	for i := range p.events {
		ev := &p.events[i]
		switch {
		case ev.Job != id:
		case ev.Kind == core.JobSubmitted:
			list = append(list, fmt.Sprintf("%g SUBMITTED", ev.At.Seconds()))
		case ev.Kind == core.JobBecame:
			list = append(list, fmt.Sprintf("%g %s", ev.At.Seconds(), ev.To))
		}
	}
	return strings.Join(list, ", ")
}

func (p *played) same(what, got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// policies is the engine's configuration with a malleability policy and an
// approach, and periods that do not show in results unless they are meant to.
func policies(approach engine.Approach, name string) engine.Config {
	cfg := engine.DefaultConfig()
	cfg.Approach, cfg.Malleable = approach, policyNamed(name)
	return cfg
}

const second = time.Second
