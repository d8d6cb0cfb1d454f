package flowfile

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/format/dag"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// Version is the version of the format that is read.
const Version = 1

// Bounds that keep a slip from filling the memory.
const (
	maxFile  = 16 << 20 // bytes of YAML
	maxTasks = 100_000
	maxNeeds = 5_000_000
)

// A Flow is a workflow. It has no cycles.
type Flow struct {
	Name  string   `json:"name"`
	Dir   string   `json:"dir"` // where its files are
	Tasks []Task   `json:"tasks"`
	Needs []Need   `json:"needs,omitempty"`
	Kinds []string `json:"kinds"` // the ids of the tasks as written; instances of a sweep are one kind
}

// A Task is one program run.
type Task struct {
	ID      string       `json:"id"`
	Kind    int          `json:"kind"` // in Flow.Kinds
	Job     *jobfile.Job `json:"job"`
	Inputs  []string     `json:"inputs,omitempty"` // files of the flow's folder, those of the workflow included
	Outputs []Output     `json:"outputs,omitempty"`
	// Estimate is CPU time on the reference host; 0: nobody knows. Those of single
	// clusters are wall times there.
	Estimate time.Duration            `json:"estimate,omitempty"`
	On       map[string]time.Duration `json:"on,omitempty"`
}

// An Output is a file that a task makes.
type Output struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes,omitempty"` // as its user expects; 0: nobody knows
}

// A Need makes one task wait for another, both given by their index. Each pair of
// tasks has one.
type Need = dag.Need
