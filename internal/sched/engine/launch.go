package engine

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// submit takes in a new job: placed at once if nothing holds it and that works, else
// to the tail of the placement queue. A job told twice is taken once; one that can be run
// nowhere at all was to be refused by whoever took it from the user.
func (e *Engine) submit(in *core.Input) {
	spec, aim := in.Spec, in.Aim
	if spec == nil || spec.Check() != nil || e.w.Job(spec.ID) != nil {
		return
	}
	e.emit(core.Event{Kind: core.JobSubmitted, Job: spec.ID, Spec: spec, Why: core.Reason{Code: core.SubmittedByUser}})
	j := e.w.Job(spec.ID)
	if to, aimed := aim.Cluster(); aimed && e.refusesMove(j, to) == core.NoReason {
		e.emit(core.Event{Kind: core.JobPinned, Job: spec.ID, Aim: aim, Why: core.Reason{Code: core.UserMoves}})
	}
	if why, ok := e.EverFits(spec); !ok && !in.Undescribed {
		e.become(j, core.Failed, why)
		return
	}
	e.admit(j, in.Undescribed)
}

func (e *Engine) placeOrEnqueue(j *world.Job) {
	if why, ok := e.tryPlace(j); !ok {
		e.enqueue(j, 0, why)
	}
}

// enqueue sends a job that could not be placed to the tail of the placement
// queue, unless that was its last try.
func (e *Engine) enqueue(j *world.Job, notBefore core.Time, why core.Reason) {
	e.emit(core.Event{Kind: core.JobEnqueued, Job: j.Spec().ID, Epoch: j.Epoch(), N: 1, When: notBefore, Why: why})
	if most := e.w.MaxTries(j); most > 0 && e.w.Tries(j) >= most {
		e.giveUp(j)
		return
	}
	e.anyDirt = e.anyDirt || e.w.Waiting() == 1 // it is the head now: room may have to be made for it
}

func (e *Engine) giveUp(j *world.Job) {
	e.become(j, core.Failed, core.Reason{Code: core.TooManyTries, A: float64(e.w.Tries(j)), B: float64(e.w.MaxTries(j))})
}

// tryPlace asks the job's placement policy and, if it finds places, begins to
// carry its choice out.
func (e *Engine) tryPlace(j *world.Job) (core.Reason, bool) {
	v := e.waitingView(j.Spec().ID)
	var why core.Reason
	var ok bool
	if at, aimed := j.Aim().Cluster(); aimed {
		if e.choices, ok = place.At(v, j.Spec(), at, e.choices[:0]); ok {
			e.plan(j, e.choices, core.Reason{Code: core.Aimed})
			return core.Reason{}, true
		}
	}
	e.choices, why, ok = place.Place(v, j.Spec(), e.w.PlacePolicy(j.Spec()), e.choices[:0])
	if ok {
		e.plan(j, e.choices, why)
	}
	return why, ok
}

// plan turns choices into parts. Processors are held at once where nothing has
// to be staged or the cluster can reserve, and where others were shrunk for
// them; otherwise they are claimed shortly before the estimated start.
func (e *Engine) plan(j *world.Job, choices []place.Choice, why core.Reason) {
	spec := j.Spec()
	epoch := j.Epoch() + 1
	staging, missing := e.staging(spec, choices)
	claimAt := max(e.now, e.now.Add(staging-e.cfg.ClaimMargin))
	for i, ch := range choices {
		c := e.w.Cluster(ch.Cluster)
		ev := core.Event{Kind: core.PartPlanned, Job: spec.ID, Epoch: epoch, Part: i, Component: ch.Component,
			Cluster: ch.Cluster, N: ch.Size, Min: ch.Min, Max: ch.Max, Why: why}
		switch {
		case c.Managed(): // its own queue sees to it
		case !missing || claimAt == e.now || c.Reserves() || c.ReclaimFor() == spec.ID:
			ev.Procs = place.Processors(e.now, c, &spec.Components[ch.Component], ch.Size)
		default:
			ev.When = claimAt
		}
		e.emit(ev)
	}
	e.become(j, core.Selected, why)
	if missing {
		e.stage(j, staging)
		return
	}
	e.queue(j, core.Reason{Code: core.NothingToStage})
}

// staging estimates how long all input files take to arrive, clusters in
// parallel, and tells whether any is missing at all.
func (e *Engine) staging(spec *core.Job, choices []place.Choice) (longest time.Duration, missing bool) {
	for _, ch := range choices {
		comp := &spec.Components[ch.Component]
		missing = missing || comp.BringTime(ch.Cluster) > 0
		for _, f := range comp.Inputs {
			from, _, _ := e.w.NearestReplica(f, ch.Cluster)
			missing = missing || from != ch.Cluster
		}
		d, _ := e.w.TransferTime(comp, ch.Cluster)
		longest = max(longest, d)
	}
	return longest, missing
}

// stage has the input files of a placed job brought, and the processors that
// are held meanwhile reserved.
func (e *Engine) stage(j *world.Job, staging time.Duration) {
	e.become(j, core.Staging, core.Reason{Code: core.MustStage, A: staging.Seconds()})
	for i, p := range j.Parts() {
		e.command(core.Command{Kind: core.Stage, Job: j.Spec().ID, Epoch: j.Epoch(), Part: i, Cluster: p.Cluster().ID()})
	}
	for _, p := range j.Parts() {
		if len(p.Procs()) > 0 {
			e.command(e.commandFor(core.Claim, j, p))
		}
	}
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
		if !p.Held() && !e.hold(j, p, core.Reason{Code: core.AllStaged}) {
			return
		}
	}
	e.queue(j, core.Reason{Code: core.AllStaged})
}

// claimDue claims the processors of a part whose files are still under way.
func (e *Engine) claimDue(j *world.Job, p *world.Part) {
	if e.hold(j, p, core.Reason{Code: core.ClaimDue, A: e.cfg.ClaimMargin.Seconds()}) {
		e.command(e.commandFor(core.Claim, j, p))
	}
}

// hold takes the processors for a part that was placed earlier. If they are
// gone the whole job is placed again.
func (e *Engine) hold(j *world.Job, p *world.Part, why core.Reason) bool {
	c, v := p.Cluster(), e.view(j.Spec().ID)
	if _, wait := place.Seats(v, c, &j.Spec().Components[p.Component()]); wait || v.Room(c) < p.Size() {
		e.replace(j, core.Reason{Code: core.ClaimTaken})
		return false
	}
	e.emit(core.Event{Kind: core.PartHeld, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(), Cluster: c.ID(),
		Procs: place.Processors(e.now, c, &j.Spec().Components[p.Component()], p.Size()), Why: why})
	return true
}

// queue asks the clusters for a job whose files are there and whose processors
// are ours. One part claims and starts with one command; several parts are all
// claimed before any of them starts.
func (e *Engine) queue(j *world.Job, why core.Reason) {
	var due core.Time
	for _, p := range j.Parts() {
		if p.Claimed() { // reserved already
			due = e.within(e.cfg.ClaimGrace)
		}
	}
	e.emit(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Queued, When: due, Why: why})
	if len(j.Parts()) == 1 {
		e.command(e.commandFor(core.Start, j, j.Part(0)))
		return
	}
	for _, p := range j.Parts() {
		if !p.Claimed() {
			e.command(e.commandFor(core.Claim, j, p))
		}
	}
	e.startIfClaimed(j)
}

func (e *Engine) startIfClaimed(j *world.Job) {
	if j.Claimed() && len(j.Parts()) > 1 {
		e.command(core.Command{Kind: core.Start, Job: j.Spec().ID, Epoch: j.Epoch(), N: j.Size()})
	}
}

func (e *Engine) commandFor(kind core.CommandKind, j *world.Job, p *world.Part) core.Command {
	return core.Command{Kind: kind, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(),
		Cluster: p.Cluster().ID(), N: p.Size(), Procs: p.Procs()}
}
