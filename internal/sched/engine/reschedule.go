package engine

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// ruling is a decision of a rescheduler: whether a running job moves, where, with how many processors, and why.
type ruling struct {
	aim   core.Aim // 0: it stays
	size  int      // 0: as many as its placement gives it
	procs core.ProcSet
	gain  *core.Gain
	why   core.Reason
}

// rescheduler decides whether one running job moves. There are two: by the chance of meeting the deadline, and by
// the gain of time.
type rescheduler interface{ rule() ruling }

// deadlineRule is the one for jobs whose deadline is in danger.
type deadlineRule struct {
	q   resched.Question
	cfg resched.Config
}

func (r deadlineRule) rule() ruling {
	v := resched.Decide(r.q, r.cfg)
	out := ruling{why: verdictReason(v)}
	if v.Go {
		out.aim = core.AimAt(v.To)
	}
	return out
}

// gainRule is the one for jobs with a contract.
type gainRule struct {
	q   resched.GainQuestion
	cfg resched.GainConfig
}

func (r gainRule) rule() ruling {
	g, to := resched.DecideGain(r.q, r.cfg)
	out := ruling{gain: &g, why: core.Reason{Code: core.GainTooSmall, A: g.Gain, B: g.Threshold}}
	switch {
	case to != nil:
		out.aim, out.size, out.procs = core.AimAt(to.Cluster), to.Size, to.Procs
		out.why.Code = core.GainEnough
		if g.Forced != "" {
			out.why.Code = core.MoveForced
		}
	case g.Size == 0:
		out.why = core.Reason{Code: core.NoPlaceToGain}
	case g.Forced != "":
		out.why.Code = core.StayForced
	}
	return out
}

// carryRuling tells what a rescheduler decided, and has the job leave if it moves: what it goes to is held for it from
// then on. It reports whether the job moves.
func (e *Engine) carryRuling(j *world.Job, r rescheduler) bool {
	d := r.rule()
	if d.gain != nil {
		if at, aimed := d.aim.Cluster(); aimed {
			d.gain.Where = e.w.Cluster(at).Name()
		}
	}
	e.emitEvent(core.Event{Kind: core.JobJudged, Job: j.Spec().ID, Epoch: j.Epoch(), Aim: d.aim, N: d.size, Procs: d.procs,
		Gain: d.gain, Why: d.why})
	if d.aim != 0 {
		e.stopJob(j, d.aim, d.why)
	}
	return d.aim != 0
}

// askAssessment asks what is predicted of a job.
func (e *Engine) askAssessment(j *world.Job) {
	e.emitCommand(e.commandFor(core.Assess, j, j.Part(0)))
}

// contractBroken: a program is slower than promised. The rescheduler looks at it in its turn.
func (e *Engine) contractBroken(j *world.Job, in *core.Input) {
	if !e.ensureRunning(j) || !j.HasContract() || !isFraction(in.Done) {
		return
	}
	if j.Spec().StaysPut {
		e.emitEvent(core.Event{Kind: core.JobJudged, Job: j.Spec().ID, Epoch: j.Epoch(),
			Why: core.Reason{Code: core.MigrationOff}})
		e.emitCommand(core.Command{Kind: core.RaiseLimits, Job: j.Spec().ID, Epoch: j.Epoch()})
		return
	}
	e.askReschedule(j, in.Why)
}

// askReschedule puts a job into the queue of the rescheduler, if it is not there.
func (e *Engine) askReschedule(j *world.Job, why core.Reason) {
	id := j.Spec().ID
	if j.State() != core.Running || j.IsSuspended() || e.w.IsAssessed(j) {
		return
	}
	for _, queued := range e.w.RescheduleQueue() {
		if queued == id {
			return
		}
	}
	e.emitEvent(core.Event{Kind: core.RescheduleAsked, Job: id, Epoch: j.Epoch(), Why: why})
}

// reschedule lets the rescheduler look at the next job. Those who wait to be placed came first: what is still free
// after them is what a running job may gain by.
func (e *Engine) reschedule() {
	if e.gains && !e.cfg.Resched.Gain.NoOpportunity {
		for _, id := range e.w.ContractedJobs() {
			if j := e.w.Job(id); !j.Spec().StaysPut && e.hasRoomElsewhere(j) {
				e.askReschedule(j, core.Reason{Code: core.ResourcesFreed})
			}
		}
	}
	e.gains = false
	if queue := e.w.RescheduleQueue(); len(queue) > 0 && e.w.RescheduleBusy() == 0 {
		j := e.w.Job(queue[0])
		e.emitEvent(core.Event{Kind: core.RescheduleBegan, Job: queue[0], Epoch: j.Epoch()})
		e.askAssessment(j)
	}
}

// hasRoomElsewhere reports whether another cluster could have the job now.
func (e *Engine) hasRoomElsewhere(j *world.Job) bool {
	v := e.viewFor(j.Spec().ID)
	for _, c := range e.w.Clusters() {
		if e.couldGo(v, j, c.ID()) && !c.IsClosed() {
			return true
		}
	}
	return false
}

// jobAssessed: what is predicted of a job is known. One that was placed gets its contract, one that runs is judged.
func (e *Engine) jobAssessed(j *world.Job, a *core.Assessment) {
	switch {
	case !j.HasContract():
	case j.State() == core.Selected:
		e.judgeContract(j, a)
	case j.State() == core.Running && e.w.IsAssessed(j):
		e.judgeGain(j, a)
	}
}

// judgeContract accepts what is promised where a job was placed, or has it placed where much more is promised. A job
// that is where it was sent is content.
func (e *Engine) judgeContract(j *world.Job, a *core.Assessment) {
	promise := 0.0
	if isPredicted(a) {
		promise = a.Promise
		_, better := resched.DecideGain(resched.GainQuestion{Assessment: &core.Assessment{Left: a.Promise, Spread: a.Spread,
			Phases: a.Phases}, Options: e.optionsWithRoom(j, a)}, resched.GainConfig{Threshold: e.cfg.Resched.Gain.Threshold})
		if better != nil && j.PinnedAim() == 0 && j.AttemptCount() == 0 && j.Epoch() <= maxRejections {
			e.rejectContract(j, promise, better)
			return
		}
	}
	why := core.Reason{Code: core.ContractAccepted, A: promise}
	if promise == 0 {
		why = core.Reason{Code: core.NothingPredicted}
	}
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Contracted,
		Promise: promise, Why: why})
	staging, missing := e.estimateStaging(j.Spec(), choicesOf(j))
	e.prepareJob(j, staging, missing)
}

// maxRejections bounds how often the contract of a job is rejected: predictions may change while it is placed.
const maxRejections = 3

// rejectContract has a job placed where much more is promised, or wherever it can be if it cannot be placed there.
func (e *Engine) rejectContract(j *world.Job, promise float64, better *core.MoveOption) {
	why := core.Reason{Code: core.ContractRejected, A: promise, B: better.Left}
	e.goBack(j, why)
	var ok bool
	if e.choices, ok = place.AtCluster(e.viewFor(j.Spec().ID), j.Spec(), better.Cluster, e.choices[:0]); !ok {
		e.again = append(e.again, j.Spec().ID)
		return
	}
	e.planParts(j, e.choices, core.Reason{Code: core.ShortestPromise, A: better.Left})
}

// judgeGain decides whether a running job moves. If it stays, its limits go to where it is.
func (e *Engine) judgeGain(j *world.Job, a *core.Assessment) {
	if !isPredicted(a) || j.IsSuspended() {
		e.emitEvent(core.Event{Kind: core.JobJudged, Job: j.Spec().ID, Epoch: j.Epoch(), Gain: &core.Gain{},
			Why: core.Reason{Code: core.NothingPredicted}})
		return
	}
	q := resched.GainQuestion{Assessment: a, Options: e.optionsWithRoom(j, a), Moved: j.MoveCount()}
	places := []core.ClusterID{j.Part(0).Cluster().ID()}
	for _, o := range q.Options {
		places = append(places, o.Cluster)
	}
	q.Held = e.w.PredictionAccuracy(places)
	if !e.carryRuling(j, gainRule{q: q, cfg: e.cfg.Resched.Gain}) {
		e.emitCommand(core.Command{Kind: core.RaiseLimits, Job: j.Spec().ID, Epoch: j.Epoch()})
	}
}

// isPredicted reports whether an assessment can be decided by.
func isPredicted(a *core.Assessment) bool {
	return a != nil && isTime(a.Promise) && a.Promise > 0 && isTime(a.Left) && isFraction(a.Done) && isTime(a.Spread) &&
		a.Phases >= 0
}

func isTime(seconds float64) bool { return seconds >= 0 && !math.IsInf(seconds, 1) }

// optionsWithRoom are those of an assessment that the job could have now, each with the processors that would be held.
func (e *Engine) optionsWithRoom(j *world.Job, a *core.Assessment) []core.MoveOption {
	var list []core.MoveOption
	v := e.viewFor(j.Spec().ID)
	comp := &j.Spec().Components[0]
	for _, o := range a.Options {
		if !e.couldGo(v, j, o.Cluster) || o.Size < comp.Min || o.Size > comp.Max || !isTime(o.Left) ||
			!isTime(o.Cost.TotalSeconds()) || j.IsBarred(o.Cluster) {
			continue
		}
		c := e.w.Cluster(o.Cluster)
		if c.IsClosed() || v.RoomIn(c) < o.Size {
			continue
		}
		if c.IsManaged() {
			o.Procs = nil
		} else if o.Procs.CountProcs() != o.Size || !c.AreFree(o.Procs) {
			o.Procs = c.ChooseProcs(o.Size, nil)
		}
		list = append(list, o)
	}
	return list
}
