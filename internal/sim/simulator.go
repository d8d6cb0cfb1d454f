package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
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
	Moves    Moves
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
	wake   core.Time // when the engine wants to be called again

	tasks     map[core.JobID]*task
	spare     []*task
	coming    *task // the next to arrive
	intruders intruders
	inbox     []core.Input
	told      int // of inbox
	starts    []int64
	// acquisitions is how often processors were asked for in a cluster's own queue, for jobs that run.
	acquisitions uint32

	// To notice when nothing will happen any more.
	running int // tasks
	quiet   int // instants since a job came, began to run, or was over
}

// New builds the grid of a simulation.
func New(cfg Config) (*Simulator, error) {
	s := &Simulator{cfg: cfg, tasks: map[core.JobID]*task{}, wake: core.Never}
	for i := range cfg.Platform.Clusters {
		c := cfg.Platform.Clusters[i]
		if cfg.Local != nil {
			c.Local = *cfg.Local
		}
		if n, ok := cfg.KeepFree[c.Name]; ok {
			c.KeepFree = n
		}
		if n, ok := cfg.GrowFree[c.Name]; ok {
			c.GrowFree = n
		}
		if problem := c.FreeProblem(c.KeepFree, c.GrowFree); problem != "" {
			return nil, fmt.Errorf("cluster %s: want %s", c.Name, problem)
		}
		st := newSite(&c, cfg.Queue, cfg.Disturb != nil)
		st.extends = st.queue != nil && cfg.Engine.Malleable != nil
		s.sites = append(s.sites, st)
		s.spec.Clusters = append(s.spec.Clusters, st.clusterSpec(&c))
	}
	s.net = newNetwork(cfg.Platform, &s.spec)
	s.spec.MaxTries, s.spec.DefaultPlace = cfg.MaxTries, cfg.Place
	s.eng = engine.New(cfg.Engine, world.New(s.spec))
	return s, nil
}

// WorldSpec is the grid as the engine was told about it.
func (s *Simulator) WorldSpec() world.Spec { return s.spec }

// Run simulates until all jobs are over, or until those that are left can
// never start; their number is returned.
func (s *Simulator) Run(ctx context.Context) (left int, err error) {
	const often = 64 // instants between two looks at the context
	s.beginRun()
	for n := 0; ; n++ {
		t, more := s.nextMoment()
		switch {
		case !more:
			return len(s.tasks), nil
		case t < s.now:
			return len(s.tasks), fmt.Errorf("simulator: time went back from %g s to %g s", s.now.Seconds(), t.Seconds())
		case n%often == 0 && ctx.Err() != nil:
			return len(s.tasks), ctx.Err()
		}
		s.runInstant(t)
	}
}

func (s *Simulator) beginRun() {
	s.expectNext()
	s.scheduleDisturbances()
}

// nextMoment is the next moment at which something happens; false if all jobs are
// over, or if nothing will ever happen to those that are left.
func (s *Simulator) nextMoment() (core.Time, bool) {
	if s.coming == nil && len(s.tasks) == 0 || s.isStuck() {
		return 0, false
	}
	t := min(s.agenda.nextTime(), s.wake, s.net.nextEvent())
	return t, t != core.Never
}

// runInstant lets everything happen that happens at t: a cluster's own queue
// looks at its jobs once all of it is known.
func (s *Simulator) runInstant(t core.Time) {
	s.now = t
	s.quiet++
	s.agenda.dropVoid(isVoid)
	s.net.advanceTo(s, t)
	for s.agenda.nextTime() == t {
		e := s.agenda.popEntry()
		s.handleEntry(&e)
		s.drainInbox()
	}
	if s.wake == t {
		s.wake = core.Never
		s.tellEngine(core.Input{Kind: core.Tick})
		s.drainInbox()
	}
	s.scheduleQueues()
}

func (s *Simulator) handleEntry(e *entry) {
	switch e.entryKind() {
	case grantDue:
		if e.isAwaited() {
			s.grantProcs(e.task, int(e.number))
		}
	case jobEnds:
		if t := currentTask(e); t != nil {
			s.endTask(t)
		}
	case progressDue:
		if t := currentTask(e); t != nil {
			s.tellEngine(core.Input{Kind: core.Progress, Job: t.job.Spec.ID, Epoch: t.epoch, Done: t.progress.DonePart(s.now)})
		}
	case phaseEnds:
		if t := currentTask(e); t != nil {
			s.endPhase(t)
		}
	case saveEnds:
		if t := currentTask(e); t != nil {
			s.leaveSaved(t)
		}
	case jobArrives:
		t := s.coming
		s.tasks[t.job.Spec.ID] = t
		s.quiet = 0
		s.expectNext()
		s.tellEngine(core.Input{Kind: core.Submit, Job: t.job.Spec.ID, Spec: &t.job.Spec, Aim: t.job.StartOn})
	default:
		s.applyDisturbance(e)
	}
}

// currentTask is the task that an entry is about, nil if what it is about is past.
func currentTask(e *entry) *task {
	if t := e.task; t != nil && t.version == e.version {
		return t
	}
	return nil
}

// isVoid reports whether an entry will bring about nothing.
func isVoid(e *entry) bool {
	k := e.entryKind()
	if k == grantDue {
		return !e.isAwaited()
	}
	return (k == jobEnds || k == progressDue || k == saveEnds || k == phaseEnds) && currentTask(e) == nil
}

// expectNext takes the next job from the source.
func (s *Simulator) expectNext() {
	t := s.freshTask()
	if !s.cfg.Jobs.NextJob(&t.job) {
		s.coming = nil
		return
	}
	s.coming = t
	s.agenda.addEntry(t.job.Submit, jobArrives, entry{})
}

func (s *Simulator) freshTask() *task {
	n := len(s.spare)
	if n == 0 {
		return &task{lastCluster: core.Nowhere}
	}
	t := s.spare[n-1]
	s.spare = s.spare[:n-1]
	*t = task{version: t.version, lastCluster: core.Nowhere}
	return t
}

// tellEngine queues an input for the engine.
func (s *Simulator) tellEngine(in core.Input) { s.inbox = append(s.inbox, in) }

// drainInbox tells the engine everything and carries out what it wants, until there
// is nothing more to tell.
func (s *Simulator) drainInbox() {
	for s.told < len(s.inbox) {
		in := &s.inbox[s.told] // stays as it is until all are told, even where the inbox grows
		s.told++
		out := s.eng.Step(s.now, in)
		s.wake = out.WakeAt
		for i := range out.Commands {
			s.carryOut(&out.Commands[i])
		}
		if s.cfg.Observe != nil {
			s.cfg.Observe(s.now, in, out)
		}
		for i := range out.Events {
			if ev := &out.Events[i]; ev.Kind == core.JobBecame && ev.To.IsTerminal() {
				s.forgetTask(ev.Job)
			}
		}
	}
	s.inbox, s.told = s.inbox[:0], 0
}

func (s *Simulator) forgetTask(id core.JobID) {
	t := s.tasks[id]
	t.version++ // entries about it are void, whose task it may be next
	s.spare = append(s.spare, t)
	delete(s.tasks, id)
	s.quiet = 0
}

// How many instants may pass without anything happening to a job before those
// that wait are given up: few if only polls that find nothing new are ahead,
// many if the engine waits for something, or local users come and go, or hosts.
const (
	patience     = 1_000
	longPatience = 1_000_000
)

// isStuck reports whether those that are left wait in vain, as far as anybody
// can tell: nothing runs, nobody is to come, and that has been so for long.
func (s *Simulator) isStuck() bool {
	if s.quiet < patience || s.running > 0 || s.coming != nil {
		return false
	}
	return s.quiet >= longPatience || s.quiet%patience == 0 && !s.moreToCome()
}

// moreToCome reports whether anything is ahead besides a look at what has not
// changed.
func (s *Simulator) moreToCome() bool {
	if s.wake != core.Never || s.net.nextEvent() != core.Never {
		return true
	}
	for i := range s.agenda.heap {
		if e := &s.agenda.heap[i]; e.entryKind() != pollDue && !isVoid(e) {
			return true
		}
	}
	for _, st := range s.sites {
		if st.news && s.cfg.PollEvery > 0 {
			return true
		}
	}
	return false
}
