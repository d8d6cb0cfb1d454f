package engine

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// migrateJob: the user wants a job elsewhere. One that runs saves itself and leaves
// for a cluster that has room for it now; one that waits waits there from now on.
func (e *Engine) migrateJob(j *world.Job, in *core.Input) {
	aim, why := e.migrationTarget(j, in)
	e.emitEvent(core.Event{Kind: core.JobJudged, Job: j.Spec().ID, Epoch: j.Epoch(), Aim: aim, Why: why})
	if aim == 0 {
		return
	}
	if j.State() == core.Running {
		e.stopJob(j, aim, why)
		return
	}
	e.emitEvent(core.Event{Kind: core.JobPinned, Job: j.Spec().ID, Epoch: j.Epoch(), Aim: aim, Why: why})
	if len(j.Parts()) > 0 { // placed, but not started: what it asked for there is taken back first
		e.abandonPlacement(j, why)
		return
	}
	if j.CurrentHold() == core.NotHeld {
		e.tryPlace(j)
	}
}

// migrationTarget is where a job goes that its user wants elsewhere, and why; no aim
// if it stays.
func (e *Engine) migrationTarget(j *world.Job, in *core.Input) (core.Aim, core.Reason) {
	switch s := j.State(); {
	case len(j.Spec().Components) != 1 || len(j.Parts()) > 1:
		return 0, core.Reason{Code: core.MoveParts}
	case s == core.Stopping || s == core.Stopped:
		return 0, core.Reason{Code: core.MoveNotNow}
	}
	if to, named := in.Aim.Cluster(); named {
		if code := e.refusesMove(j, to); code != core.NoReason {
			return 0, e.moveReason(j, to, code)
		}
		return in.Aim, core.Reason{Code: core.UserMoves}
	}
	if aim, left := e.soonestCluster(j, in.Outlook); aim != 0 {
		return aim, core.Reason{Code: core.UserMovesSoonest, A: left}
	}
	return e.byPolicy(j)
}

// soonestCluster is where a job is expected to end first, among the clusters to which it
// may go, and in how many seconds.
func (e *Engine) soonestCluster(j *world.Job, o *core.Outlook) (aim core.Aim, left float64) {
	if o == nil {
		return 0, 0
	}
	for _, m := range o.Moves {
		d, ok := predict.FromQuantiles(m.Left)
		if ok && e.refusesMove(j, m.Cluster) == core.NoReason && (aim == 0 || d.Median() < left) {
			aim, left = core.AimAt(m.Cluster), d.Median()
		}
	}
	return aim, left
}

// byPolicy is where the job's placement policy would have it, were it not where
// it is.
func (e *Engine) byPolicy(j *world.Job) (core.Aim, core.Reason) {
	if len(j.Parts()) == 0 {
		return 0, core.Reason{Code: core.MoveNowhere} // it waits for any cluster
	}
	v := e.viewFor(j.Spec().ID)
	v.Except = core.AimAt(j.Part(0).Cluster().ID())
	choices, why, ok := place.Place(v, j.Spec(), e.w.PlacePolicy(j.Spec()), e.choices[:0])
	e.choices = choices
	if !ok || len(choices) != 1 || e.refusesMove(j, choices[0].Cluster) != core.NoReason {
		return 0, core.Reason{Code: core.MoveNowhere}
	}
	return core.AimAt(choices[0].Cluster), why
}

// refusesMove says what keeps a job from going to a cluster; NoReason: nothing.
func (e *Engine) refusesMove(j *world.Job, to core.ClusterID) core.ReasonCode {
	if to < 0 || int(to) >= len(e.w.Clusters()) || e.w.Cluster(to).IsRemoved() {
		return core.ClusterRemoved
	}
	c, comp := e.w.Cluster(to), &j.Spec().Components[0]
	v := e.viewFor(j.Spec().ID)
	_, seatsWait := place.CountSeats(v, c, comp)
	switch {
	case len(comp.Clusters) > 0 && !slices.Contains(comp.Clusters, to):
		return core.MoveForbidden
	case len(j.Parts()) == 1 && j.Part(0).Cluster() == c:
		return core.MoveSame
	case j.IsBarred(to):
		return core.MoveRefused
	case !c.IsUnknown() && (!c.MeetsRequirements(comp) || c.UsableProcs() < comp.Min):
		return core.MoveTooSmall
	case c.IsDrained():
		return core.ClusterIsDrained
	case j.State() != core.Running:
		return core.NoReason
	case c.IsClosed() || c.IsUnknown():
		return core.MoveOutOfReach
	case seatsWait || v.RoomIn(c) < comp.Min:
		return core.MoveNoRoom
	}
	return core.NoReason
}

// mayWaitFor reports whether a job that does not run may be sent to a cluster alone: one that
// is drained it waits for.
func (e *Engine) mayWaitFor(j *world.Job, to core.ClusterID) bool {
	code := e.refusesMove(j, to)
	return code == core.NoReason || code == core.ClusterIsDrained
}

// moveReason gives such a code its numbers.
func (e *Engine) moveReason(j *world.Job, to core.ClusterID, code core.ReasonCode) core.Reason {
	r := core.Reason{Code: code}
	switch code {
	case core.ClusterIsDrained:
		r.A, r.B = float64(to), 1
	case core.MoveTooSmall:
		r.A, r.B = float64(j.Spec().Components[0].Min), float64(e.w.Cluster(to).UsableProcs())
	case core.MoveNoRoom:
		r.A, r.B = float64(j.Spec().Components[0].Min), float64(e.viewFor(j.Spec().ID).RoomIn(e.w.Cluster(to)))
	}
	return r
}
