package core

// FlowEvent is something that happened to a workflow or to one of its tasks, and the only
// way in which their records change: they are what the events of the workflow, replayed in
// order, give. Each kind says which fields it uses.
type FlowEvent struct {
	Kind      FlowEventKind `json:"kind"`
	Task      int           `json:"task,omitempty"` // place in the workflow, from 0
	Job       JobID         `json:"job,omitempty"`
	Try       int           `json:"try,omitempty"`
	Cluster   string        `json:"cluster,omitempty"`
	State     State         `json:"state,omitempty"`
	When      Time          `json:"when,omitempty"`
	Why       string        `json:"why,omitempty"`
	N         int           `json:"n,omitempty"`
	Seconds   float64       `json:"seconds,omitempty"`
	Bound     float64       `json:"bound,omitempty"`
	Heuristic string        `json:"heuristic,omitempty"`
}

// FlowEventKind says what happened.
type FlowEventKind uint8

const (
	_               FlowEventKind = iota
	FlowSubmitted                 // N: how often it was gone on with before
	FlowResumed                   // its user has it go on after its end
	FlowRestarted                 // the broker was started again, or has other clusters: what is stored counts
	FlowPlanned                   // N times; to end after Seconds by Heuristic; no plan could be shorter than Bound
	FlowStranded                  // no cluster is up that could run what is next
	FlowCancelAsked               // Why
	FlowCompleted                 // When
	FlowFailed                    // When, Why
	FlowCancelled                 // When, Why
	TaskSubmitted                 // Task: as Job, its try number Try, to start on Cluster
	TaskSeen                      // Task: its job is in State, Why, and was started at When if that is known
	TaskMoved                     // Task: its job is on Cluster now
	TaskSucceeded                 // Task: its job ended at When in State, and its outputs are there
	TaskTryFailed                 // Task: Why; its job ended at When in State, if there was one
	TaskGivenUp                   // Task: it is not tried again
	TaskForgiven                  // Task: tries up to Try do not count: it is tried again
	TaskOutdated                  // Task: it counts as not done until its job is looked at again
	TaskNoted                     // Task: something to be told that changes nothing
)

var flowEventNames = [...]string{
	FlowSubmitted: "flow-submitted", FlowResumed: "flow-resumed", FlowRestarted: "flow-restarted",
	FlowPlanned: "flow-planned", FlowStranded: "flow-stranded", FlowCancelAsked: "flow-cancel-asked",
	FlowCompleted: "flow-completed", FlowFailed: "flow-failed", FlowCancelled: "flow-cancelled",
	TaskSubmitted: "task-submitted", TaskSeen: "task-seen", TaskMoved: "task-moved",
	TaskSucceeded: "task-succeeded", TaskTryFailed: "task-try-failed", TaskGivenUp: "task-given-up",
	TaskForgiven: "task-forgiven", TaskOutdated: "task-outdated", TaskNoted: "task-noted",
}

func (k FlowEventKind) String() string { return nameOf(flowEventNames[:], int(k)) }

// IsOfTask reports whether events of this kind are about one task.
func (k FlowEventKind) IsOfTask() bool { return k >= TaskSubmitted }
