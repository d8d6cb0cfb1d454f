package wfformat

import "github.com/godwit-hpc/godwit/internal/format/dag"

// Version is the version of the schema that is read.
const Version = "1.5"

// Bounds that keep a slip from filling the memory or the clock.
const (
	maxBytes   = int64(1) << 60 // of one file of the workflow: an exbibyte
	maxSeconds = 1e12           // of one task
	maxFile    = 1 << 30        // bytes of JSON, unpacked
	maxTasks   = 5_000_000
	maxCores   = 1_000_000
)

// A Workflow is a graph of tasks. It has no cycles.
type Workflow struct {
	Name  string
	Tasks []Task
	Needs []Need
}

// A Task is one program run.
type Task struct {
	ID      string
	Seconds float64
	Memory  int64 // bytes; 0: not known
	Cores   int   // 0: not known

	Command []string // program and arguments; none if the file does not say
	Reads   []string // files, by their ids
	Writes  []string
}

// A Need makes one task wait for another, both given by their index, and for
// the files it reads of it. Each pair of tasks has one Need.
type Need = dag.Need
