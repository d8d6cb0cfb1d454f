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
	Name  string
	Dir   string // where its files are
	Tasks []Task
	Needs []Need
	Kinds []string // the ids of the tasks as written; instances of a sweep are one kind
}

// A Task is one program run.
type Task struct {
	ID      string
	Kind    int // in Flow.Kinds
	Job     *jobfile.Job
	Inputs  []string // files of the flow's folder, those of the workflow included
	Outputs []Output
	// Estimate is CPU time on the reference host; 0: nobody knows. Those of single
	// clusters are wall times there.
	Estimate time.Duration
	On       map[string]time.Duration
}

// An Output is a file that a task makes.
type Output struct {
	Name  string
	Bytes int64 // as its user expects; 0: nobody knows
}

// A Need makes one task wait for another, both given by their index. Each pair of
// tasks has one.
type Need = dag.Need
