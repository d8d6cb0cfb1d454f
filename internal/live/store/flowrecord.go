package store

import "github.com/godwit-hpc/godwit/internal/sched/core"

// ApplyEvent brings the record of a workflow, and that of the task of which an event is,
// up to date with the event; task may be nil if it is of none. How a workflow and its tasks
// are is what its events, in order, say, and nothing else sets it.
func (f *Flow) ApplyEvent(ev *core.FlowEvent, task *FlowTask) {
	if task != nil && ev.Kind.IsOfTask() {
		f.countTask(task, -1)
		task.ApplyEvent(ev)
		f.countTask(task, 1)
		return
	}
	switch ev.Kind {
	case core.FlowSubmitted:
		f.State, f.Resumed = FlowRunning, ev.N
	case core.FlowResumed:
		f.State, f.Why, f.Ended = FlowRunning, "", 0
		f.Resumed++
	case core.FlowPlanned:
		if f.Heuristic == "" {
			f.Planned, f.Bound, f.Heuristic = ev.Seconds, ev.Bound, ev.Heuristic
			f.Replans += ev.N - 1
		} else {
			f.Replans += ev.N
		}
	case core.FlowCancelAsked:
		f.State, f.Why = FlowCancelling, ev.Why
	case core.FlowCompleted:
		f.State, f.Why, f.Ended = FlowCompleted, "", ev.When
	case core.FlowFailed:
		f.State, f.Why, f.Ended = FlowFailed, ev.Why, ev.When
	case core.FlowCancelled:
		f.State, f.Why, f.Ended = FlowCancelled, ev.Why, ev.When
	}
}

// countTask counts a task among those done or failed, or takes it from them again.
func (f *Flow) countTask(t *FlowTask, n int) {
	switch {
	case t.Done:
		f.Done += n
	case t.Failed:
		f.Failed += n
	}
}

// ApplyEvent brings the record of a task up to date with an event that is about it.
func (t *FlowTask) ApplyEvent(ev *core.FlowEvent) {
	switch ev.Kind {
	case core.TaskSubmitted:
		*t = FlowTask{Flow: t.Flow, N: t.N, Forgiven: t.Forgiven, Job: ev.Job, Try: max(t.Try, ev.Try), Cluster: ev.Cluster}
	case core.TaskSeen:
		t.State, t.Why = ev.State, ev.Why
		if ev.When != 0 {
			t.Started = ev.When
		}
	case core.TaskMoved:
		t.Cluster = ev.Cluster
	case core.TaskSucceeded:
		t.State, t.Ended, t.Done, t.Failed, t.Why = ev.State, ev.When, true, false, ""
	case core.TaskTryFailed:
		t.Why = ev.Why
		if ev.State != 0 {
			t.State, t.Ended = ev.State, ev.When
		}
	case core.TaskGivenUp:
		t.Failed = true
	case core.TaskForgiven:
		t.Forgiven, t.Done, t.Failed, t.Why = ev.Try, false, false, ""
	case core.TaskOutdated:
		t.Done, t.Failed = false, false
	}
}
