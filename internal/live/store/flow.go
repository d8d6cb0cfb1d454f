package store

import (
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// FlowState is how far a workflow is.
type FlowState string

// The states of a workflow.
const (
	FlowRunning    FlowState = "running"
	FlowCancelling FlowState = "cancelling" // its jobs are being cancelled
	FlowCompleted  FlowState = "completed"  // all tasks ended well
	FlowFailed     FlowState = "failed"
	FlowCancelled  FlowState = "cancelled"
)

// IsOver reports whether nothing happens to a workflow in this state unless its user asks
// for it.
func (s FlowState) IsOver() bool { return s != FlowRunning && s != FlowCancelling }

// Flow is a workflow as its user sees it. Fields may be added: what an older version wrote
// lacks them.
type Flow struct {
	ID        int64     `json:"-"`
	Owner     uint32    `json:"-"` // the user by number, of a broker of several; 0: the broker's own
	Key       string    `json:"-"` // made up by its submitter; an owner has one workflow of a key
	User      string    `json:"-"`
	Submitted core.Time `json:"-"`
	// Spec is the workflow as it was submitted; nil in a batch leaves what is there. Lists
	// leave it out: it is long.
	Spec []byte `json:"-"`

	Name    string    `json:"name"`
	State   FlowState `json:"state"`
	Why     string    `json:"why,omitempty"`  // it is in this state
	Work    string    `json:"work,omitempty"` // tree in the depot: the files that no task makes
	Ended   core.Time `json:"ended,omitempty"`
	Tasks   int       `json:"tasks"`
	Done    int       `json:"done,omitempty"`
	Failed  int       `json:"failed,omitempty"`
	Resumed int       `json:"resumed,omitempty"` // how often its user had it go on after its end

	Planned   float64 `json:"planned,omitempty"` // makespan in seconds, by the first plan
	Bound     float64 `json:"bound,omitempty"`   // seconds below which no plan could be
	Heuristic string  `json:"heuristic,omitempty"`
	Replans   int     `json:"replans,omitempty"`
}

// FlowTask is what became of a task of a workflow so far.
type FlowTask struct {
	Flow     int64      `json:"-"`
	N        int        `json:"-"`             // place in the workflow, from 0
	Job      core.JobID `json:"job,omitempty"` // the last one
	Try      int        `json:"try,omitempty"`
	Forgiven int        `json:"forgiven,omitempty"` // tries up to this one do not count as failures
	Cluster  string     `json:"cluster,omitempty"`
	State    core.State `json:"state,omitempty"` // of that job
	Started  core.Time  `json:"started,omitempty"`
	Ended    core.Time  `json:"ended,omitempty"`
	Done     bool       `json:"done,omitempty"`
	Failed   bool       `json:"failed,omitempty"` // for good
	Why      string     `json:"why,omitempty"`
}

// FlowEntry is one entry of the log of a workflow: an event, and how it is told to users. The
// records of a workflow and its tasks are what its events give (ApplyEvent).
type FlowEntry struct {
	Flow int64 `json:"-"`
	wire.Entry
	Event *core.FlowEvent `json:"event,omitempty"` // nil: an older version wrote it
}

// FlowFilter says which workflows, or pools, to list.
type FlowFilter struct {
	Open      bool   // only those that are not over
	Owner     uint32 // whose,
	AllOwners bool   // unless those of all are asked for
	Key       string // "": any
	Limit     int    // 0: all
}

// ErrNoFlow is the answer to who asks for a workflow that there is not.
var ErrNoFlow = errors.New("no such workflow")

// checkFlows says what makes workflows of a batch impossible to store.
func (b *Batch) checkFlows() error {
	for i := range b.Flows {
		if f := &b.Flows[i]; f.ID <= 0 || f.Key == "" || f.State == "" {
			return fmt.Errorf("a workflow has number %d, key %q and state %q", f.ID, f.Key, f.State)
		}
	}
	for i := range b.FlowTasks {
		if t := &b.FlowTasks[i]; t.Flow <= 0 || t.N < 0 {
			return fmt.Errorf("task %d is of workflow %d", t.N, t.Flow)
		}
	}
	return nil
}
