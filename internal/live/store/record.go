package store

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// cancelledCode is the exit code of a job that was cancelled, as a shell gives it to a
// program that Ctrl-C ended.
const cancelledCode = 130

// ApplyEvent brings the record of a job up to date with an event of the log: the state
// of its life, where and when, is what the events, in order, say, and nothing else sets
// it. cluster is the name of the event's cluster. It says nothing of Reason but what the
// event does; whoever knows more may put it better.
func (j *Job) ApplyEvent(ev *core.Event, cluster string) {
	switch ev.Kind {
	case core.JobSubmitted:
		j.State = core.Submitted
	case core.PartPlanned:
		j.planPart(ev, cluster)
	case core.PartHeld:
		if ev.Part == 0 {
			j.Procs = ev.Procs.String()
		}
		if ev.Part < len(j.Parts) {
			j.EditPart(ev.Part).Procs = ev.Procs.String()
		}
	case core.PartOffered, core.PartAnswered, core.PartGaveBack:
		j.resizePart(ev)
		j.countResize(ev)
	case core.JobEnqueued, core.JobHeld, core.JobWaits:
		j.Reason = ev.WhyText(cluster)
	case core.JobReleased:
		j.Reason = ""
	case core.JobHeldByUser, core.JobReleasedByUser:
		j.Held = ev.Kind == core.JobHeldByUser
	case core.JobSuspended:
		j.Suspended, j.Reason = ev.At, ev.WhyText(cluster)
	case core.JobContinued:
		if j.Suspended = 0; j.State == core.Running {
			j.Reason = ev.WhyText(cluster)
		}
	case core.JobUpdated:
		j.applyUpdate(ev)
	case core.JobBecame:
		j.State, j.Reason = ev.To, ev.WhyText(cluster)
		j.applyState(ev)
	}
}

// planPart: a part has its place. They are planned one after the other.
func (j *Job) planPart(ev *core.Event, cluster string) {
	part := Part{Cluster: cluster, Procs: ev.Procs.String()}
	switch {
	case ev.Part == 0:
		j.Epoch, j.Cluster, j.Procs, j.Offered, j.Parts, j.Size = ev.Epoch, part.Cluster, part.Procs, "", nil, 0
	case len(j.Parts) == 0:
		j.Parts = []Part{{Cluster: j.Cluster, Procs: j.Procs}, part}
	default:
		j.Parts = append(slices.Clone(j.Parts), part)
	}
	j.Size += ev.N
}

// countResize: a part has grown or shrunk. What a version before did not write down is not known.
func (j *Job) countResize(ev *core.Event) {
	if j.Size == 0 || ev.Kind == core.PartOffered {
		return
	}
	if ev.Kind == core.PartAnswered && ev.Grow {
		j.Size += ev.N
	} else {
		j.Size = max(j.Size-ev.N, 1)
	}
}

// resizePart: a part is offered processors, or has others now.
func (j *Job) resizePart(ev *core.Event) {
	procs, offered := j.Procs, j.Offered
	if ev.Part < len(j.Parts) {
		procs, offered = j.Parts[ev.Part].Procs, j.Parts[ev.Part].Offered
	}
	held, _ := core.ParseProcSet(procs)
	switch ev.Kind {
	case core.PartOffered:
		offered = ""
		if ev.N > 0 {
			offered = ev.Procs.String()
		}
	case core.PartAnswered:
		more, _ := core.ParseProcSet(offered)
		offered = ""
		if ev.Grow {
			more, _ = more.SplitLast(more.CountProcs() - ev.N)
			held = held.Union(more)
		} else {
			held, _ = held.SplitLast(ev.N)
		}
	case core.PartGaveBack:
		held, _ = held.SplitLast(ev.N)
	}
	if ev.Part < len(j.Parts) {
		p := j.EditPart(ev.Part)
		p.Procs, p.Offered = held.String(), offered
	}
	if ev.Part == 0 {
		j.Procs, j.Offered = held.String(), offered
	}
}

func (j *Job) applyState(ev *core.Event) {
	switch ev.To {
	case core.Selected:
		j.Promise = 0
	case core.Contracted:
		j.Promise = ev.Promise
	case core.Running:
		if ev.From == core.Stopping {
			return // it runs on
		}
		if j.Runs++; j.Started == 0 {
			j.Started = ev.At
		}
		j.Migrations = max(0, j.Runs-1-j.Losses)
	case core.Stopped:
		if ev.Lost {
			j.Losses++
		}
	case core.Done, core.Failed, core.Cancelled:
		j.Ended, j.Code = ev.At, ev.ExitCode
		switch {
		case ev.Why.Code == core.DependencyFailed, ev.Why.Code == core.DependencyWentWell:
			j.Code = 1
		case ev.To == core.Cancelled:
			j.Code = cancelledCode
		case ev.To == core.Failed && ev.ExitCode == 0:
			j.Code = 1 // it has none of its own: it was never run, or lost too often
		}
	}
}
