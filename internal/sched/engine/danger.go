package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// inDanger: the deadline of a running job is in danger where it runs. It is
// moved if that makes it likelier to be met, or, where nobody can meet it, if
// the job ends clearly sooner.
func (e *Engine) inDanger(j *world.Job, o *core.Outlook) {
	if j.State() != core.Running || j.IsSuspended() || o == nil || len(j.Parts()) != 1 {
		return
	}
	stay, ok := predict.FromQuantiles(o.Stay)
	if !ok {
		return
	}
	if j.Spec().StaysPut {
		e.emitEvent(core.Event{Kind: core.JobJudged, Job: j.Spec().ID, Epoch: j.Epoch(),
			Why: core.Reason{Code: core.MigrationOff}})
		return
	}
	q := resched.Question{TimeLeft: j.Spec().Deadline.Sub(e.now).Seconds(), Confidence: o.Confidence, Stay: stay,
		Moved: j.MoveCount(), SinceMove: -1}
	if q.Moved > 0 {
		q.SinceMove = e.now.Sub(j.StartTime()).Seconds()
	}
	v := e.viewFor(j.Spec().ID)
	for _, a := range o.Moves {
		if left, ok := predict.FromQuantiles(a.Left); ok && e.couldGo(v, j, a.Cluster) {
			q.Moves = append(q.Moves, resched.Move{Cluster: a.Cluster, Left: left, Overhead: a.Overhead})
		}
	}
	e.carryRuling(j, deadlineRule{q: q, cfg: e.cfg.Resched})
}

// couldGo reports whether a running job would find room in another cluster.
func (e *Engine) couldGo(v world.View, j *world.Job, to core.ClusterID) bool {
	if to < 0 || int(to) >= len(v.Clusters()) || v.Cluster(to) == j.Part(0).Cluster() {
		return false
	}
	c, comp := v.Cluster(to), &j.Spec().Components[j.Part(0).Component()]
	_, wait := place.CountSeats(v, c, comp)
	return !wait && c.MeetsRequirements(comp) && v.RoomIn(c) >= comp.Min
}

// verdictReason is why a verdict was given.
func verdictReason(v resched.Verdict) core.Reason {
	w := &v.Why
	switch w.Code {
	case resched.Safe:
		return core.Reason{Code: core.WellHere, A: w.Stay}
	case resched.NowhereElse:
		return core.Reason{Code: core.NowhereToGo, A: w.Stay}
	case resched.NotClearlyBetter:
		return core.Reason{Code: core.NotWorthMoving, A: w.Stay, B: w.Go}
	case resched.NothingEarlier:
		return core.Reason{Code: core.NobodyCan, A: w.LeftStay, B: w.LeftGo}
	case resched.MovesUsedUp:
		return core.Reason{Code: core.MovedOften, A: float64(w.Moved), B: w.Stay}
	case resched.Resting:
		return core.Reason{Code: core.MovedJustNow, A: w.SinceMove, B: w.Rest}
	case resched.BetterChance:
		return core.Reason{Code: core.BetterChance, A: w.Stay, B: w.Go}
	case resched.EndsEarlier:
		return core.Reason{Code: core.EndsSooner, A: w.LeftGo, B: w.LeftStay}
	}
	return core.Reason{}
}
