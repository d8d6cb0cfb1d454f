package broker

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/broker/estimate"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// recordEvent brings the record of a job up to date with an event.
func (t *turn) recordEvent(ev *core.Event) {
	j := t.b.jobs[ev.Job]
	if j == nil {
		return // of a cluster
	}
	from, hasRun, waited := j.rec.State, j.rec.Started != 0, j.rec.Reason
	j.rec.ApplyEvent(ev, t.b.clusterName(ev.Cluster))
	switch ev.Kind {
	case core.PartPlanned:
		t.recordPlan(j, ev)
	case core.PartHeld:
		t.touchJob(j)
	case core.PartOffered, core.PartAccepted, core.PartAnswered, core.PartSilent, core.PartAsked, core.PartGaveBack,
		core.JobSized:
		t.recordSize(j, ev)
	case core.InputRouted:
		t.recordRoute(j, ev)
	case core.RanksOrdered:
		t.recordRanks(j, ev)
	case core.JobBecame:
		t.noteWait(j, false)
		t.recordState(j, ev, from, hasRun)
	case core.JobEnqueued, core.JobWaits:
		if j.waits != j.rec.Reason { // the same every half minute tells nobody anything
			j.waits = j.rec.Reason
			t.explainJob(j, "wait", "", j.rec.Reason, nil)
		}
		t.touchJob(j)
	case core.JobJudged:
		t.recordVerdict(j, ev)
	case core.JobHeld:
		t.noteWait(j, ev.Hold == core.HeldDependency || ev.Hold == core.HeldBegin)
		t.heldUp(j, ev, waited)
	case core.JobReleased:
		t.noteWait(j, false)
		t.touchJob(j)
	case core.JobHeldByUser, core.JobReleasedByUser, core.JobSuspended, core.JobContinued, core.JobUpdated:
		t.recordSteering(j, ev)
	}
}

func (t *turn) recordPlan(j *job, ev *core.Event) {
	c := t.b.allClusters()[ev.Cluster]
	if ev.Part == 0 {
		j.rec.Hosts = c.HostNames
		j.rec.Seq, j.rec.Mark, j.rec.Method, j.rec.SaveOrder = 0, newMark(), "", 0
	}
	if ev.Part < len(j.rec.Parts) {
		j.rec.EditPart(ev.Part).Hosts = c.HostNames
	}
	j.places = append(j.places, whereabouts{ev.Epoch, ev.Part, ev.Cluster})
	j.waits, j.danger, j.judged, j.requested, j.startedAt = "", false, core.NoReason, t.now, 0
	j.contract = keptContract{}
	t.touchJob(j)
	v := t.b.eng.Cluster(ev.Cluster)
	t.explainJob(j, "place", "cluster "+c.Name, ev.Why.String(), map[string]any{
		"cores": ev.N, "attempt": int(ev.Epoch), "speed": v.Speed, "share": v.Share})
	t.explainScript(j, c)
}

// newMark is a name for the processes of an attempt that nobody guesses.
func newMark() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// recordState sees to what follows from a state. from is the one before, hasRun whether
// the job had run before.
func (t *turn) recordState(j *job, ev *core.Event, from core.State, hasRun bool) {
	if from == core.Staging && len(j.stopStaging) > 0 {
		for _, stop := range j.stopStaging {
			t.afterCommit(stop)
		}
		j.stopStaging = nil
		j.requested = t.now // what came before was no waiting for the cluster
	}
	j.rec.Reason = t.reasonText(j, ev)
	t.touchJob(j)
	switch ev.To {
	case core.Contracted:
		t.explainJob(j, "contract", "accepted on "+j.rec.Cluster, ev.Why.String(), map[string]any{"promise_s": ev.Promise})
	case core.Running:
		if from == core.Stopping {
			t.explainJob(j, "stay", "on "+j.rec.Cluster, ev.Why.String(), nil)
			return
		}
		j.startedAt = t.now
		if !hasRun {
			t.jobStarted(j)
		}
	case core.Stopping:
		if ev.Aim == core.AimNowhere {
			t.explainJob(j, "cancel", "stopping it on "+j.rec.Cluster, ev.Why.String(), nil)
			return
		}
		choice := "requeued"
		j.aimed = string(history.Stopped)
		if c, ok := ev.Aim.Cluster(); ok {
			choice = fmt.Sprintf("move from %s to %s", j.rec.Cluster, t.b.allClusters()[c].Name)
			if j.danger {
				j.aimed = string(history.Moved)
			}
		}
		t.explainJob(j, "move", choice, ev.Why.String(), nil)
	case core.Stopped:
		if ev.Lost {
			how := history.Lost
			if ev.Why.Code == core.ProgramFailed { // by itself; its user wants it started again
				how = history.Failed
			}
			t.recordRun(j, how)
			choice, why := "attempt lost", ev.Why.String()
			if w, live := t.b.eng.FindJob(ev.Job); live {
				choice, why = "requeued", why+"; "+j.retryText(w.Losses)
			}
			t.explainJob(j, "lost", choice, why, map[string]any{"attempt": int(ev.Epoch)})
		} else {
			t.recordRun(j, history.Outcome(max(j.aimed, string(history.Stopped))))
		}
	case core.Done, core.Failed, core.Cancelled:
		t.recordEnd(j, ev)
	}
}

// recordEnd notes the end of a job's life.
func (t *turn) recordEnd(j *job, ev *core.Event) {
	switch {
	case ev.Why.Code == core.DependencyFailed, ev.Why.Code == core.DependencyWentWell:
	case ev.To == core.Cancelled:
		t.recordRun(j, history.Cancelled)
	case ev.Why.Code == core.ExitedZero:
		t.recordRun(j, history.Finished)
	case ev.Why.Code == core.ExitedNonZero:
		t.recordRun(j, history.Failed)
	}
	why := j.rec.Reason
	if j.failureText != "" {
		why = j.failureText + "; " + why
	}
	t.explainJob(j, "end", ev.To.String(), why, t.b.jobSummary(j))
	if q := j.quote; q != nil && q.Cluster == j.rec.Cluster && ev.To == core.Done {
		q.Ended = t.now
		t.batch.Quotes = append(t.batch.Quotes, *q)
	}
	t.salvageFiles(j, ev)
	for _, s := range j.saved {
		t.forgetCheckpoint(j, s.N)
	}
	j.saved = nil
	if j.rec.Epoch == 0 { // it was never placed: nothing of it is anywhere
		j.rec.StagedOut = true
	}
	if !j.rec.HasResults() || j.rec.StagedOut {
		t.jobFinished(j)
	} else {
		t.afterCommit(func() { t.b.returnResults(j) })
	}
	t.countOut(j)
}

func (b *Broker) jobSummary(j *job) map[string]any {
	m := map[string]any{"wall_s": j.rec.Wall, "turnaround_s": j.rec.Ended.Sub(j.rec.Submitted).Seconds(),
		"cpu_s": j.rec.CPU,
		"moves": j.rec.Migrations}
	if j.rec.Peak > 0 {
		m["peak_memory"] = j.rec.Peak
	}
	if j.rec.Deadline != 0 {
		m["deadline_met"] = j.rec.State == core.Done && j.rec.Ended <= j.rec.Deadline
		m["before_deadline_s"] = j.rec.Deadline.Sub(j.rec.Ended).Seconds()
	}
	return m
}

// recordRun writes into the history what an attempt was like.
func (t *turn) recordRun(j *job, how history.Outcome) {
	if j.rec.Epoch == 0 || j.requested == 0 {
		return
	}
	program, args := history.SplitCommand(j.spec.Argv)
	c := t.b.clusterNamed(j.rec.Cluster)
	run := history.Run{Job: j.rec.ID, Epoch: j.rec.Epoch, Cluster: j.rec.Cluster, User: j.rec.User, Program: program,
		Args:  args,
		Procs: max(1, j.spec.Min), Method: j.rec.Method, Outcome: how, Requested: j.requested, Started: j.startedAt,
		Ended:    t.now,
		Deadline: j.rec.Deadline, Migrated: j.rec.Migrations > 0, Length: estimate.RequestedSeconds(j.spec), Speed: 1}
	if c != nil {
		run.Speed = t.b.eng.Cluster(c.id).Speed
	}
	if v, _ := j.lastVitals(); v != nil {
		run.CPU, run.Share, run.SandboxCost = v.CPU, v.Mean, v.SandboxCost
		if how == history.Finished {
			run.Need, run.Slowness, run.Bytes = v.Used, v.Slowness, float64(j.begunIO+v.Read+v.Written)
			run.Busy, run.Idle, run.Changes = v.Busy, v.Idle, v.Changes
			run.Deviations, j.rec.Waiting = v.Deviations, v.Idle
		}
		j.rec.CPU += v.CPU
		j.rec.Wall += v.Wall
		j.rec.Peak = max(j.rec.Peak, v.Peak)
		j.setVitals(nil, 0)
	}
	j.requested, j.aimed = 0, ""
	t.batch.Runs = append(t.batch.Runs, run)
	t.afterCommit(func() { t.b.past.AddRun(t.b.pastUser(run.User), run) })
}

func (t *turn) recordVerdict(j *job, ev *core.Event) {
	j.verdict = *ev
	choice := "stay on " + j.rec.Cluster
	if j.rec.State != core.Running {
		choice = "wait as before"
	}
	if c, ok := ev.Aim.Cluster(); ok {
		choice = "move to " + t.b.allClusters()[c].Name
	} else if j.judged == ev.Why.Code && ev.Gain == nil {
		return // the same again tells nobody anything
	}
	j.judged = ev.Why.Code
	if ev.Gain != nil {
		t.explainJob(j, "reschedule", choice, ev.Why.String(), gainInputs(ev.Gain))
		return
	}
	inputs := j.question
	if !j.danger {
		inputs = nil
	}
	t.explainJob(j, "decide", choice, ev.WhyText(t.b.clusterName(ev.Cluster)), inputs)
}
