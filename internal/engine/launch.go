package engine

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/policy/place"
	"github.com/godwit-hpc/godwit/internal/world"
)

// submit takes in a new job: placed at once if that works, else to the tail of
// the placement queue.
func (e *Engine) submit(spec *core.Job) {
	e.emit(core.Event{Kind: core.JobSubmitted, Job: spec.ID, Spec: spec, Why: core.Reason{Code: core.SubmittedByUser}})
	j := e.w.Job(spec.ID)
	if most, ok := place.EverFits(e.view(spec.ID), spec, e.w.PlacePolicy(spec)); !ok {
		e.become(j, core.Failed, core.Reason{Code: core.NeverFits, A: float64(spec.MinSize()), B: float64(most)})
		return
	}
	e.placeOrEnqueue(j)
}

func (e *Engine) placeOrEnqueue(j *world.Job) {
	why, ok := e.tryPlace(j)
	if ok {
		return
	}
	e.emit(core.Event{Kind: core.JobEnqueued, Job: j.Spec().ID, Epoch: j.Epoch(), Why: why})
	if e.w.Waiting() == 1 {
		e.scan = true // it is the head now: room may have to be made for it
	}
}

// tryPlace asks the job's placement policy and, if it finds places, begins to
// carry its choice out.
func (e *Engine) tryPlace(j *world.Job) (core.Reason, bool) {
	v := e.waitingView(j.Spec().ID)
	var why core.Reason
	var ok bool
	e.choices, why, ok = place.Place(v, j.Spec(), e.w.PlacePolicy(j.Spec()), e.choices[:0])
	if ok {
		e.plan(j, e.choices, why)
	}
	return why, ok
}

// plan turns choices into parts. Processors are held at once where nothing has
// to be staged or the cluster can reserve; otherwise they are claimed shortly
// before the estimated start.
func (e *Engine) plan(j *world.Job, choices []place.Choice, why core.Reason) {
	spec := j.Spec()
	epoch := j.Epoch() + 1
	staging := e.stagingTime(spec, choices)
	claimAt := max(e.now, e.now.Add(staging-e.cfg.ClaimMargin))
	for i, ch := range choices {
		c := e.w.Cluster(ch.Cluster)
		ev := core.Event{Kind: core.PartPlanned, Job: spec.ID, Epoch: epoch, Part: i, Component: ch.Component,
			Cluster: ch.Cluster, N: ch.Size, Min: ch.Min, Max: ch.Max, When: claimAt, Why: why}
		if !c.Managed() && (staging == 0 || c.Reserves()) {
			ev.Procs = c.Choose(ch.Size, nil)
		}
		e.emit(ev)
	}
	e.become(j, core.Selected, why)
	if staging == 0 {
		for i := range j.Parts() {
			if len(spec.Components[j.Part(i).Component()].Inputs) > 0 {
				e.emit(core.Event{Kind: core.PartStaged, Job: spec.ID, Epoch: epoch, Part: i})
			}
		}
		e.become(j, core.Queued, core.Reason{Code: core.NothingToStage})
		e.launch(j)
		return
	}
	e.become(j, core.Staging, core.Reason{Code: core.MustStage, A: staging.Seconds()})
	for i, p := range j.Parts() {
		e.command(core.Command{Kind: core.Stage, Job: spec.ID, Epoch: epoch, Part: i, Cluster: p.Cluster().ID()})
	}
}

// stagingTime estimates how long all input files take to arrive, clusters in
// parallel.
func (e *Engine) stagingTime(spec *core.Job, choices []place.Choice) time.Duration {
	var longest time.Duration
	for _, ch := range choices {
		d, _ := e.w.TransferTime(&spec.Components[ch.Component], ch.Cluster)
		longest = max(longest, d)
	}
	return longest
}

// staged notes that the files of a part have arrived; with the last of them
// the processors are claimed, whether their time has come or not.
func (e *Engine) staged(j *world.Job, part int) {
	p := j.Part(part)
	if p == nil || j.State() != core.Staging || p.Staged() {
		return
	}
	e.emit(core.Event{Kind: core.PartStaged, Job: j.Spec().ID, Epoch: j.Epoch(), Part: part})
	for _, p := range j.Parts() {
		if !p.Staged() {
			return
		}
	}
	for _, p := range j.Parts() {
		if !p.Held() && !e.claim(j, p) {
			return
		}
	}
	e.become(j, core.Queued, core.Reason{Code: core.AllStaged})
	e.launch(j)
}

// claim takes the processors for a part that was placed earlier. If they are
// gone the whole job is placed again.
func (e *Engine) claim(j *world.Job, p *world.Part) bool {
	c := p.Cluster()
	if e.waitingView(j.Spec().ID).Room(c) < p.Size() {
		e.replace(j)
		return false
	}
	e.emit(core.Event{Kind: core.PartHeld, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(), Cluster: c.ID(),
		Procs: c.Choose(p.Size(), nil), Why: core.Reason{Code: core.ClaimDue, A: e.cfg.ClaimMargin.Seconds()}})
	return true
}

// launch asks the clusters for a job whose files are there and whose
// processors are ours. One part claims and starts with one command; several
// parts are all claimed before any of them starts.
func (e *Engine) launch(j *world.Job) {
	if len(j.Parts()) == 1 {
		e.command(e.commandFor(core.Start, j, j.Part(0)))
		return
	}
	for _, p := range j.Parts() {
		e.command(e.commandFor(core.Claim, j, p))
	}
}

func (e *Engine) commandFor(kind core.CommandKind, j *world.Job, p *world.Part) core.Command {
	return core.Command{Kind: kind, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(),
		Cluster: p.Cluster().ID(), N: p.Size(), Procs: p.Procs()}
}

func (e *Engine) claimed(j *world.Job, part int) {
	p := j.Part(part)
	if p == nil || j.State() != core.Queued || p.Claimed() {
		return
	}
	e.emit(core.Event{Kind: core.PartClaimed, Job: j.Spec().ID, Epoch: j.Epoch(), Part: part})
	for _, p := range j.Parts() {
		if !p.Claimed() {
			return
		}
	}
	e.command(core.Command{Kind: core.Start, Job: j.Spec().ID, Epoch: j.Epoch(), N: j.Size()})
}

// claimLost places a job again whose processors somebody else has. The
// cluster says who holds what now; a cluster that does not is looked at again
// only with the next scan, so that the engine cannot spin on stale knowledge.
func (e *Engine) claimLost(j *world.Job, in *core.Input) {
	p := j.Part(in.Part)
	if p == nil || j.State() != core.Queued {
		return
	}
	c := p.Cluster()
	if len(in.Procs) > 0 {
		e.emit(core.Event{Kind: core.OthersPolled, Cluster: c.ID(), Procs: in.Procs})
		e.scan = true
	}
	e.goBack(j)
	e.emit(core.Event{Kind: core.JobEnqueued, Job: j.Spec().ID, Epoch: j.Epoch(), Why: core.Reason{Code: core.ClaimTaken}})
}

// replace gives up a placement that cannot be carried out and looks for
// another.
func (e *Engine) replace(j *world.Job) {
	e.goBack(j)
	e.placeOrEnqueue(j)
}

// goBack returns a job that was placed but has not started to where it waits
// to be placed.
func (e *Engine) goBack(j *world.Job) {
	e.command(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
	e.touchAll(j)
	waits := core.Submitted
	if j.Attempts() > 0 {
		waits = core.Resuming
	}
	e.become(j, waits, core.Reason{Code: core.ClaimTaken})
}
