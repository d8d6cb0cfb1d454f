package engine

import (
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// submitJob takes in a new job: placed at once if nothing holds it and that works, else
// to the tail of the placement queue. A job told twice is taken once; one that can be run
// nowhere at all was to be refused by whoever took it from the user.
func (e *Engine) submitJob(in *core.Input) {
	spec, aim := in.Spec, in.Aim
	if spec == nil || spec.CheckSpec() != nil || e.w.Job(spec.ID) != nil {
		return
	}
	e.emitEvent(core.Event{Kind: core.JobSubmitted, Job: spec.ID, Spec: spec,
		Why: core.Reason{Code: core.SubmittedByUser}})
	j := e.w.Job(spec.ID)
	if to, aimed := aim.Cluster(); aimed && e.mayWaitFor(j, to) {
		e.emitEvent(core.Event{Kind: core.JobPinned, Job: spec.ID, Aim: aim, Why: core.Reason{Code: core.UserMoves}})
	}
	if why, ok := e.EverFits(spec); !ok && !in.Undescribed {
		e.changeState(j, core.Failed, why)
		return
	}
	if in.Hold {
		e.markHeld(j)
	}
	e.admitJob(j, in.Undescribed)
}

func (e *Engine) placeOrEnqueue(j *world.Job) {
	if why, ok := e.tryPlace(j); !ok {
		e.enqueueJob(j, 0, 0, why)
	}
}

// enqueueJob sends a job that could not be placed to the tail of the placement
// queue, unless that was its last try.
func (e *Engine) enqueueJob(j *world.Job, notBefore core.Time, lostAt core.Aim, why core.Reason) {
	e.emitEvent(core.Event{Kind: core.JobEnqueued, Job: j.Spec().ID, Epoch: j.Epoch(), N: 1, When: notBefore, Aim: lostAt,
		Why: why})
	if most := e.w.MaxTries(j); most > 0 && e.w.PlacementTries(j) >= most && !why.IsDrain() {
		e.giveUp(j)
		return
	}
	e.anyDirt = e.anyDirt || e.w.QueueLength() == 1 // it is the head now: room may have to be made for it
}

func (e *Engine) giveUp(j *world.Job) {
	e.changeState(j, core.Failed, core.Reason{Code: core.TooManyTries, A: float64(e.w.PlacementTries(j)),
		B: float64(e.w.MaxTries(j))})
}

// tryPlace asks the job's placement policy and, if it finds places, begins to
// carry its choice out.
func (e *Engine) tryPlace(j *world.Job) (core.Reason, bool) {
	v := e.waitingView(j.Spec().ID)
	var why core.Reason
	var ok bool
	if at, size, procs := e.w.HeldTarget(j); len(procs) > 0 {
		comp := &j.Spec().Components[0]
		e.choices = append(e.choices[:0], place.Choice{Cluster: at, Size: size, Min: min(comp.Min, size),
			Max: max(size, min(comp.Max, e.w.Cluster(at).UsableProcs()))})
		e.planParts(j, e.choices, core.Reason{Code: core.TargetHeld, A: float64(size)})
		return core.Reason{}, true
	}
	if at, aimed := j.Aim().Cluster(); aimed {
		if e.choices, ok = place.AtCluster(v, j.Spec(), at, e.choices[:0]); ok {
			e.planParts(j, e.choices, core.Reason{Code: core.Aimed})
			return core.Reason{}, true
		}
	}
	e.choices, why, ok = place.Place(v, j.Spec(), e.w.PlacePolicy(j.Spec()), e.choices[:0])
	if ok {
		e.planParts(j, e.choices, why)
	}
	return why, ok
}

// planParts turns choices into parts. Processors are held at once where nothing has
// to be staged or the cluster can reserve, and where others were shrunk for
// them; otherwise they are claimed shortly before the estimated start.
func (e *Engine) planParts(j *world.Job, choices []place.Choice, why core.Reason) {
	spec := j.Spec()
	epoch := j.Epoch() + 1
	// Parts are numbered in the order in which the user wrote the components.
	slices.SortStableFunc(choices, func(a, b place.Choice) int { return a.Component - b.Component })
	staging, missing := e.estimateStaging(spec, choices)
	heldAt, heldSize, held := e.w.HeldTarget(j)
	claimAt := max(e.now, e.now.Add(staging-e.cfg.ClaimMargin))
	for i, ch := range choices {
		c := e.w.Cluster(ch.Cluster)
		ev := core.Event{Kind: core.PartPlanned, Job: spec.ID, Epoch: epoch, Part: i, Component: ch.Component,
			Cluster: ch.Cluster, N: ch.Size, Min: ch.Min, Max: ch.Max, Why: why}
		switch {
		case c.IsManaged(): // its own queue sees to it
		case len(held) > 0 && ch.Cluster == heldAt && ch.Size == heldSize:
			ev.Procs = held
		case !missing || claimAt == e.now || c.CanReserve() || c.ReclaimFor() == spec.ID:
			ev.Procs = place.ChooseProcessors(e.now, c, &spec.Components[ch.Component], ch.Size)
		default:
			ev.When = claimAt
		}
		e.emitEvent(ev)
		e.orderRanks(j, j.Part(i))
	}
	e.changeState(j, core.Selected, why)
	if j.HasContract() {
		e.askAssessment(j)
		return
	}
	e.prepareJob(j, staging, missing)
}

// prepareJob has the inputs of a placed job brought, or queues it at once.
func (e *Engine) prepareJob(j *world.Job, staging time.Duration, missing bool) {
	if missing {
		e.stageInputs(j, staging)
		return
	}
	e.queueJob(j, core.Reason{Code: core.NothingToStage})
}

// orderRanks says on which host each node of a part's pattern is to run, once it is known
// which hosts it has.
func (e *Engine) orderRanks(j *world.Job, p *world.Part) {
	comp := &j.Spec().Components[p.Component()]
	if comp.Pattern == nil || len(comp.Pattern.Edges) == 0 || !p.HoldsProcs() {
		return
	}
	ranks, why := place.OrderRanks(e.now, p.Cluster(), comp, p.Procs())
	e.emitEvent(core.Event{Kind: core.RanksOrdered, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(),
		Cluster: p.Cluster().ID(), Ranks: ranks, Why: why})
}

// estimateStaging estimates how long all input files take to arrive, clusters in
// parallel, and tells whether any is missing at all.
func (e *Engine) estimateStaging(spec *core.Job, choices []place.Choice) (longest time.Duration, missing bool) {
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

// stageInputs has the input files of a placed job brought, and the processors that
// are held meanwhile reserved.
func (e *Engine) stageInputs(j *world.Job, staging time.Duration) {
	e.changeState(j, core.Staging, core.Reason{Code: core.MustStage, A: staging.Seconds()})
	for i, p := range j.Parts() {
		e.emitCommand(core.Command{Kind: core.Stage, Job: j.Spec().ID, Epoch: j.Epoch(), Part: i, Cluster: p.Cluster().ID()})
	}
	for _, p := range j.Parts() {
		if len(p.Procs()) > 0 {
			e.emitCommand(e.commandFor(core.Claim, j, p))
		}
	}
}

// inputRouted notes on which way an input comes, and why: routes are chosen when the file
// is fetched, by what is known of the ways then.
func (e *Engine) inputRouted(j *world.Job, in *core.Input) {
	from, direct := in.Aim.Cluster()
	known := func(c core.ClusterID) bool { return c >= 0 && int(c) < len(e.w.Clusters()) }
	if j.State() != core.Staging || in.N < 0 || !known(in.Cluster) || in.Aim < 0 || direct && !known(from) {
		return
	}
	e.emitEvent(core.Event{Kind: core.InputRouted, Job: j.Spec().ID, Epoch: j.Epoch(), N: in.N, Cluster: in.Cluster,
		Aim: in.Aim, Why: in.Why})
}

// partStaged notes that the files of a part have arrived; with the last of them
// the processors are claimed, whether their time has come or not.
func (e *Engine) partStaged(j *world.Job, part int) {
	p := j.Part(part)
	if p == nil || j.State() != core.Staging || p.IsStaged() {
		return
	}
	e.emitEvent(core.Event{Kind: core.PartStaged, Job: j.Spec().ID, Epoch: j.Epoch(), Part: part})
	for _, p := range j.Parts() {
		if !p.IsStaged() {
			return
		}
	}
	for _, p := range j.Parts() {
		if !p.HoldsProcs() && !e.holdProcs(j, p, core.Reason{Code: core.AllStaged}) {
			return
		}
	}
	e.queueJob(j, core.Reason{Code: core.AllStaged})
}

// claimDue claims the processors of a part whose files are still under way.
func (e *Engine) claimDue(j *world.Job, p *world.Part) {
	if e.holdProcs(j, p, core.Reason{Code: core.ClaimDue, A: e.cfg.ClaimMargin.Seconds()}) {
		e.emitCommand(e.commandFor(core.Claim, j, p))
	}
}

// holdProcs takes the processors for a part that was placed earlier. If they are
// gone the whole job is placed again.
func (e *Engine) holdProcs(j *world.Job, p *world.Part, why core.Reason) bool {
	c, v := p.Cluster(), e.viewFor(j.Spec().ID)
	if _, wait := place.CountSeats(v, c, &j.Spec().Components[p.Component()]); wait || v.RoomIn(c) < p.Size() {
		e.abandonPlacement(j, core.Reason{Code: core.ClaimTaken})
		return false
	}
	e.emitEvent(core.Event{Kind: core.PartHeld, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(), Cluster: c.ID(),
		Procs: place.ChooseProcessors(e.now, c, &j.Spec().Components[p.Component()], p.Size()), Why: why})
	e.orderRanks(j, p)
	return true
}

// queueJob asks the clusters for a job whose files are there and whose processors
// are ours. One part claims and starts with one command; several parts are all
// claimed before any of them starts.
func (e *Engine) queueJob(j *world.Job, why core.Reason) {
	var due core.Time
	for _, p := range j.Parts() {
		if p.IsClaimed() { // reserved already
			due = e.graceEnd(e.cfg.ClaimGrace)
		}
	}
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Queued,
		When: due, Why: why})
	e.markQueued(j)
	if len(j.Parts()) == 1 {
		e.emitCommand(e.commandFor(core.Start, j, j.Part(0)))
		return
	}
	for _, p := range j.Parts() {
		if !p.IsClaimed() {
			e.emitCommand(e.commandFor(core.Claim, j, p))
		}
	}
	e.startIfClaimed(j)
}

func (e *Engine) startIfClaimed(j *world.Job) {
	if j.IsClaimed() && len(j.Parts()) > 1 {
		e.emitCommand(core.Command{Kind: core.Start, Job: j.Spec().ID, Epoch: j.Epoch(), N: j.Size()})
	}
}

func (e *Engine) commandFor(kind core.CommandKind, j *world.Job, p *world.Part) core.Command {
	return core.Command{Kind: kind, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(),
		Cluster: p.Cluster().ID(), N: p.Size(), Procs: p.Procs()}
}

// choicesOf are the places that a job was given.
func choicesOf(j *world.Job) []place.Choice {
	var list []place.Choice
	for _, p := range j.Parts() {
		list = append(list, place.Choice{Cluster: p.Cluster().ID(), Component: p.Component(), Size: p.Size()})
	}
	return list
}
