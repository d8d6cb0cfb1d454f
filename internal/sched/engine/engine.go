package engine

import (
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Approach says who comes first when processors become free (papers/001, V-B).
type Approach uint8

const (
	PRA Approach = iota // precedence to running applications; never shrinks
	PWA                 // precedence to waiting applications; shrinks to make room
)

func (a Approach) String() string {
	if a == PWA {
		return "pwa"
	}
	return "pra"
}

// Config is what an operator chooses.
type Config struct {
	Approach  Approach
	Malleable malleable.Policy // nil: sizes never change
	// ScanEvery is the period of looking through the placement queue when
	// nothing else prompts it. Whatever makes room does; so it only matters to
	// jobs whose tries are counted or that were put off for a while.
	ScanEvery time.Duration
	// ShrinkGrace is how long a job may take to release processors that it
	// must; after that it is stopped. For its answer to an offer that it may
	// refuse others wait as long. 0 sets no limit.
	ShrinkGrace time.Duration
	// GrowGrace is how long the manager of a managed cluster may take to give a job that runs the processors that it
	// accepted; with what it has by then the job goes on. 0 sets no limit.
	GrowGrace time.Duration
	// StopGrace is how long a job that is stopped may take to save itself and
	// leave; after that it is killed. 0 sets no limit.
	StopGrace time.Duration
	// CollectGrace is how long a job that was cancelled may take, beyond its own
	// time of grace, to say that it has ended; after that what it wrote is given up.
	// 0 sets no limit.
	CollectGrace time.Duration
	// ClaimGrace is how long a part of a job that has been claimed waits for the
	// claims of the others; after that all are given up. 0 sets no limit.
	ClaimGrace time.Duration
	// ClaimMargin is how long before the estimated start processors are
	// claimed where they cannot be reserved.
	ClaimMargin time.Duration
	// RetryPause is how long a job waits before it is started again whose attempt
	// was lost soon after it began; twice as long after each further one, up to
	// maxRetryPause. 0: not at all.
	RetryPause time.Duration
	// Whole leaves no job split over clusters: whoever carries commands out cannot
	// start the parts of one job together.
	Whole bool
	// Describes says that whoever submits jobs answers Describe: what is known of a
	// job is asked for again once nothing holds it.
	Describes bool
	// DescribeEvery is how often a job is looked at again that may run on none of the
	// clusters, should they not change. 0: never.
	DescribeEvery time.Duration
	// ResultsAtEnd says that nobody tells when results are returned: they are when a
	// job ends.
	ResultsAtEnd bool
	// Resched is how reluctant a job is to move for its deadline.
	Resched resched.Config
}

// DefaultConfig is a sensible Config.
func DefaultConfig() Config {
	return Config{Approach: PWA, Malleable: malleable.Marginal{}, ScanEvery: 30 * time.Second,
		ShrinkGrace: time.Minute, GrowGrace: 20 * time.Second,
		StopGrace: 10 * time.Minute, CollectGrace: 2 * time.Minute, ClaimGrace: 10 * time.Minute,
		ClaimMargin: 10 * time.Second,
		RetryPause:  time.Second}
}

// Output is what a Step brought about. Its slices are valid until the next
// Step.
type Output struct {
	Events   []core.Event
	Commands []core.Command
	WakeAt   core.Time // core.Never if nothing is due by itself
	// Idle says that nothing came of the input: another engine that is not told it
	// decides the same ever after.
	Idle bool
}

// Engine is the state machine. What it keeps besides the world is only what a
// step has still to do.
type Engine struct {
	cfg Config
	w   *world.World

	now     core.Time
	out     Output
	dirty   []dirt // by cluster
	anyDirt bool
	marked  bool         // something became due to be looked at in this step
	scan    bool         // the placement queue is to be looked through
	again   []core.JobID // to be placed again, after those who wait longer
	noted   []notedWait  // who waited when something was drained or undrained in this step
	holds   unsettledHolds
	gains   bool // something became free in this step that running jobs might gain by
	choices []place.Choice
	offers  []malleable.Offer

	holdsPerStep int // held jobs that a tick looks at
	holdsLeft    int // that this one may still
}

// New is an engine on a world: a fresh one, or one that events made.
func New(cfg Config, w *world.World) *Engine {
	e := &Engine{cfg: cfg, w: w, dirty: make([]dirt, len(w.Clusters())), holdsPerStep: maxHoldsPerStep}
	if w.LiveCount() > 0 { // whatever the last engine had still to do
		for _, c := range w.Clusters() {
			e.markDirty(c)
			e.markFreed(c)
		}
		e.reviewHolds()
		e.gains = false // what became free before was looked at then
	}
	return e
}

// World is the state; the caller must only read it.
func (e *Engine) World() *world.World { return e.w }

// Step takes in one input. Should the clock have been set back, time stands
// still until it has caught up.
func (e *Engine) Step(now core.Time, in *core.Input) *Output {
	e.now = max(now, e.w.Now())
	e.out.Events = e.out.Events[:0]
	e.out.Commands = e.out.Commands[:0]
	e.holdsLeft = e.holdsPerStep
	if in.Kind != core.Tick { // many inputs may be told together: what was left before waits for a tick
		e.holdsLeft = 0
		if e.holds.isEmpty() {
			e.holdsLeft = max(1, e.holdsPerStep*maxHoldsAtATime/maxHoldsPerStep)
		}
	}
	settled := e.isSettled()
	e.marked = false
	e.dispatchInput(in)
	e.settleDue()
	e.reschedule()
	e.explainWaits()
	e.out.WakeAt = max(e.now, min(e.w.NextTimer(), e.w.NextRetry())) // a hold that is due may be left for the next step
	if !e.holds.isEmpty() {
		e.out.WakeAt = e.now
	}
	if e.w.NeedsRescan() && e.cfg.ScanEvery > 0 {
		e.out.WakeAt = min(e.out.WakeAt, e.w.LastScan().Add(e.cfg.ScanEvery))
	}
	e.out.Idle = settled && !e.marked && len(e.out.Events)+len(e.out.Commands) == 0
	return &e.out
}

// dispatchInput dispatches an input. Messages about a job that is over or of an epoch
// that is past are dropped: this is the fence against running twice.
func (e *Engine) dispatchInput(in *core.Input) {
	switch in.Kind {
	case core.Tick:
		return
	case core.Submit:
		e.submitJob(in)
		return
	case core.Returned:
		e.resultsReturned(in)
		return
	}
	if e.dispatchCluster(in) {
		return
	}
	j := e.w.Job(in.Job)
	if j == nil {
		return
	}
	switch in.Kind {
	case core.Cancel:
		e.cancelJob(j, in)
		return
	case core.StopJob:
		e.stopJob(j, in.Aim, core.Reason{Code: core.AskedByUser})
		return
	case core.Migrate:
		e.migrateJob(j, in)
		return
	case core.Described:
		e.jobDescribed(j, in.Spec)
		return
	}
	if e.steerJob(j, in) {
		return
	}
	if in.Epoch != j.Epoch() {
		return
	}
	switch in.Kind {
	case core.Routed:
		e.inputRouted(j, in)
	case core.Staged:
		e.partStaged(j, in.Part)
	case core.Claimed:
		e.confirmClaim(j, in.Part)
	case core.ClaimLost:
		e.claimLost(j, in)
	case core.Started:
		e.ensureRunning(j)
	case core.Ended:
		e.programEnded(j, in.ExitCode)
	case core.Crashed:
		e.attemptCrashed(j, in)
	case core.Left:
		e.programLeft(j)
	case core.StaysOn:
		e.staysOn(j)
	case core.ContractBroken:
		e.contractBroken(j, in)
	case core.Assessed:
		e.jobAssessed(j, in.Assessment)
	case core.InDanger:
		e.inDanger(j, in.Outlook)
	case core.Progress:
		e.recordProgress(j, in)
	case core.Collecting:
		e.awaitResults(j)
	default:
		e.takeResize(j, in)
	}
}

// dispatchCluster dispatches an input about a cluster, and reports whether it is one.
func (e *Engine) dispatchCluster(in *core.Input) bool {
	switch in.Kind {
	case core.Polled, core.HostsDown, core.HostsUp:
		e.clusterChanged(in)
	case core.Felt:
		e.recordLoad(in)
	case core.Rated:
		e.recordRating(in)
	case core.DefineCluster:
		e.defineCluster(in)
	case core.DrainCluster:
		e.drainCluster(in)
	case core.UndrainCluster:
		e.undrainCluster(in)
	case core.Weather:
		e.recordNetwork(in)
	case core.FoundApart:
		e.recordApart(in)
	default:
		return false
	}
	return true
}

// emitEvent makes an event true: applied to the world and reported.
func (e *Engine) emitEvent(ev core.Event) {
	ev.At = e.now
	if ev.Why.IsDrain() {
		e.nameDrain(&ev)
	}
	if ev.Why.Code == core.HostsApart {
		e.nameApart(&ev)
	}
	if ev.Kind == core.ResultsReturned || ev.Kind == core.JobBecame && (ev.To == core.Running || ev.To.IsTerminal()) {
		e.emitTold(&ev)
		return
	}
	e.applyEvent(&ev)
}

// emitTold makes an event true that jobs may be held for.
func (e *Engine) emitTold(ev *core.Event) {
	array, neverRan := ev.Array, false
	if j := e.w.Job(ev.Job); j != nil {
		array = j.Spec().Array
		neverRan = j.AttemptCount() == 0
		if ev.To.IsTerminal() {
			e.freeSlot(j.Spec())
		}
	}
	before := e.w.TargetState(ev.Job, array)
	e.applyEvent(ev)
	if e.w.TargetState(ev.Job, array) != before {
		e.holds.targets = append(e.holds.targets, reachedTarget{job: ev.Job, array: array})
	}
	if e.cfg.ResultsAtEnd && ev.Kind == core.JobBecame && ev.To.IsTerminal() && e.w.HasWaiters(ev.Job, array) {
		e.emitEvent(core.Event{Kind: core.ResultsReturned, Job: ev.Job, Array: array, To: ev.To, NeverRan: neverRan})
	}
}

func (e *Engine) applyEvent(ev *core.Event) {
	if err := e.w.ApplyEvent(ev); err != nil {
		panic(fmt.Sprintf("engine: decided something impossible: %v", err))
	}
	e.out.Events = append(e.out.Events, *ev)
}

func (e *Engine) emitCommand(c core.Command) { e.out.Commands = append(e.out.Commands, c) }

// changeState moves a job to another state.
func (e *Engine) changeState(j *world.Job, to core.State, why core.Reason) {
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: to, Why: why})
}

// graceEnd is the moment at which a time of grace that begins now is over; 0
// sets no limit.
func (e *Engine) graceEnd(grace time.Duration) core.Time {
	if grace == 0 {
		return core.Never
	}
	return e.now.Add(grace)
}

func (e *Engine) viewFor(j core.JobID) world.View {
	v := e.w.ViewFor(e.now, j)
	v.Whole = e.cfg.Whole
	return v
}

// EverFits reports whether a job could be placed if nobody else were there, and
// otherwise why not.
func (e *Engine) EverFits(spec *core.Job) (core.Reason, bool) {
	return place.EverFits(e.viewFor(0), spec, e.w.PlacePolicy(spec))
}

// waitingView is the world as a job that waits to be placed may see it.
func (e *Engine) waitingView(j core.JobID) world.View {
	v := e.viewFor(j)
	v.RunningFirst = e.cfg.Approach == PRA
	return v
}
