package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/engine"
	"github.com/godwit-hpc/godwit/internal/platform"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
	"github.com/godwit-hpc/godwit/internal/world"
)

// Config is what a simulation needs.
type Config struct {
	Platform *platform.Platform
	Local    *platform.Local // if set, every cluster's own queue is of this kind
	Queue    localq.Options
	Engine   engine.Config
	Place    core.PlacePolicy // of jobs that name none
	MaxTries int
	KeepFree map[string]int // by cluster, over the platform's
	GrowFree map[string]int // likewise
	Jobs     workload.Source
	Disturb  *Disturbances
	// ProgressEvery is how long after a start or a change of size a malleable
	// program first reports how far it has come.
	ProgressEvery time.Duration
	PollEvery     time.Duration // how often we look at what others use
	// Observe is told of every step; what it is given is valid during the call.
	Observe func(now core.Time, in *core.Input, out *engine.Output)
}

// Simulator is one run.
type Simulator struct {
	cfg    Config
	eng    *engine.Engine
	spec   world.Spec
	sites  []*site
	agenda agenda
	net    *network
	now    core.Time
	wake   core.Time

	tasks     map[core.JobID]*task
	spare     []*task
	coming    *task // the next to arrive
	intruders intruders
	inbox     []core.Input
	next      int // first of inbox not told yet
	starts    []int64
	running   int // tasks
	steps     int64
	lastJob   int64 // step at which a job last changed: to notice when nothing will happen any more
}

// New builds the grid of a simulation.
func New(cfg Config) (*Simulator, error) {
	s := &Simulator{cfg: cfg, tasks: map[core.JobID]*task{}, wake: core.Never}
	disturbed := cfg.Disturb != nil
	for i := range cfg.Platform.Clusters {
		c := cfg.Platform.Clusters[i]
		local := c.Local
		if cfg.Local != nil {
			local = *cfg.Local
		}
		if n, ok := cfg.KeepFree[c.Name]; ok {
			c.KeepFree = n
		}
		if n, ok := cfg.GrowFree[c.Name]; ok {
			c.GrowFree = n
		}
		if c.KeepFree+c.GrowFree >= c.Procs {
			return nil, fmt.Errorf("cluster %s keeps all of its %d processors free (keep_free %d, grow_free %d)",
				c.Name, c.Procs, c.KeepFree, c.GrowFree)
		}
		st := newSite(&c, local, cfg.Queue, disturbed)
		s.sites = append(s.sites, st)
		s.spec.Clusters = append(s.spec.Clusters, st.spec(&c))
	}
	s.net = newNetwork(cfg.Platform, &s.spec)
	s.spec.MaxTries, s.spec.DefaultPlace = cfg.MaxTries, cfg.Place
	s.eng = engine.New(cfg.Engine, world.New(s.spec))
	return s, nil
}

// WorldSpec is the grid as the engine was told about it.
func (s *Simulator) WorldSpec() world.Spec { return s.spec }

// World is the engine's state; to be read only.
func (s *Simulator) World() *world.World { return s.eng.World() }

// stuckAfter is how many steps may pass with nothing running, nobody to come
// and no job starting before the run is given up: those that still wait will
// never start.
const stuckAfter = 100_000

func (s *Simulator) stuck() bool {
	return s.running == 0 && s.coming == nil && s.steps-s.lastJob > stuckAfter
}

// Run simulates until all jobs are over, or until those that are left can
// never start; their number is returned.
func (s *Simulator) Run(ctx context.Context) (left int, err error) {
	s.expectNext()
	s.scheduleDisturbances()
	for s.coming != nil || len(s.tasks) > 0 {
		t := min(s.agenda.next(), s.wake, s.net.next())
		if t == core.Never || s.stuck() {
			break
		}
		if s.steps&0xfff < 4 && ctx.Err() != nil {
			return len(s.tasks), ctx.Err()
		}
		if t < s.now {
			return len(s.tasks), fmt.Errorf("simulator: time went back from %d to %d", s.now, t)
		}
		s.instant(t)
	}
	return len(s.tasks), nil
}

// instant lets everything happen that happens at t: a cluster's own queue
// looks at its jobs once all of it is known.
func (s *Simulator) instant(t core.Time) {
	s.now = t
	s.net.advance(s, t)
	for s.agenda.next() == t {
		e := s.agenda.pop()
		s.happen(&e)
		s.drain()
	}
	if s.wake == t {
		s.wake = core.Never
		s.tell(core.Input{Kind: core.Tick})
		s.drain()
	}
	for i, st := range s.sites {
		if st.touched {
			st.touched = false
			s.startQueued(core.ClusterID(i))
		}
	}
	s.drain()
}

func (s *Simulator) happen(e *entry) {
	switch e.kind() {
	case jobEnds:
		if t := s.tasks[e.job]; t != nil && t.version == e.version {
			s.end(t)
		}
	case progressDue:
		if t := s.tasks[e.job]; t != nil && t.version == e.version && t.running {
			s.tell(core.Input{Kind: core.Progress, Job: e.job, Epoch: t.epoch, Done: t.progress.Done(s.now)})
		}
	case jobArrives:
		t := s.coming
		s.tasks[t.job.Spec.ID] = t
		s.lastJob = s.steps
		s.expectNext()
		s.tell(core.Input{Kind: core.Submit, Job: t.job.Spec.ID, Spec: &t.job.Spec})
	default:
		s.disturb(e)
	}
}

// expectNext takes the next job from the source.
func (s *Simulator) expectNext() {
	t := s.freshTask()
	if !s.cfg.Jobs.Next(&t.job) {
		s.coming = nil
		return
	}
	s.coming = t
	s.agenda.add(t.job.Submit, jobArrives, entry{})
}

func (s *Simulator) freshTask() *task {
	n := len(s.spare)
	if n == 0 {
		return &task{}
	}
	t := s.spare[n-1]
	s.spare = s.spare[:n-1]
	*t = task{version: t.version}
	return t
}

// tell queues an input for the engine.
func (s *Simulator) tell(in core.Input) { s.inbox = append(s.inbox, in) }

// drain tells the engine everything and carries out what it wants, until there
// is nothing more to tell.
func (s *Simulator) drain() {
	for s.next < len(s.inbox) {
		in := s.inbox[s.next]
		s.next++
		s.steps++
		out := s.eng.Step(s.now, &in)
		s.wake = out.WakeAt
		for i := range out.Commands {
			s.carryOut(&out.Commands[i])
		}
		if s.cfg.Observe != nil {
			s.cfg.Observe(s.now, &in, out)
		}
		for i := range out.Events {
			if ev := &out.Events[i]; ev.Kind == core.JobBecame && ev.To.Terminal() {
				s.forget(ev.Job)
			}
		}
	}
	s.inbox, s.next = s.inbox[:0], 0
}

func (s *Simulator) forget(id core.JobID) {
	t := s.tasks[id]
	delete(s.tasks, id)
	s.spare = append(s.spare, t)
	s.lastJob = s.steps
}
