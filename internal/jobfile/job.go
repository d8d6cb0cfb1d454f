// Package jobfile is what a user asks for: the job, as a YAML file or a command
// line gives it, checked as a whole before anything happens. It knows the
// fields and their meaning, not what is done with them.
package jobfile

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/core"
)

// Job is one job as its user described it. It is kept in the store as JSON.
type Job struct {
	Name    string            `json:"name,omitempty"`
	Argv    []string          `json:"argv"`              // `run: line` becomes sh -c line
	Setup   string            `json:"setup,omitempty"`   // shell line run once before, in the same folder
	Workdir string            `json:"workdir,omitempty"` // absolute on the submitting machine; "": an empty folder
	Outputs []string          `json:"outputs,omitempty"` // brought back; none named: whatever changed
	Inputs  []string          `json:"inputs,omitempty"`
	Env     map[string]string `json:"env,omitempty"`

	Deadline time.Duration `json:"deadline,omitempty"` // from submission; 0 if none
	Estimate time.Duration `json:"estimate,omitempty"` // CPU time at 100 % on the reference host; 0 if unknown

	Min  int       `json:"min"` // processors, summed over hosts
	Max  int       `json:"max"`
	Kind core.Kind `json:"kind"`

	Memory    int64         `json:"memory,omitempty"` // bytes on each host
	Time      time.Duration `json:"time,omitempty"`   // killed after this much wall time; 0: never
	Processes int           `json:"processes,omitempty"`

	On          []string         `json:"on,omitempty"` // clusters where it may run; empty: any
	Place       core.PlacePolicy `json:"place,omitempty"`
	Confidence  float64          `json:"confidence,omitempty"`  // act when P(deadline met) falls below; 0: the default 0.95
	Reliability float64          `json:"reliability,omitempty"` // least reliability of a cluster
	Retries     int              `json:"retries"`
	Adapt       Adapt            `json:"adapt,omitempty"`

	Checkpoint Checkpoint `json:"checkpoint"`
	Progress   string     `json:"progress,omitempty"` // pattern with two groups, done and total, or one, per cent

	Array ArrayRange `json:"array,omitzero"`
}

// Adapt says whether a job that is about to miss its deadline is moved.
type Adapt string

const (
	AdaptAuto Adapt = ""    // move it
	AdaptOff  Adapt = "off" // only watch and say so
)

// Checkpoint is how a job is saved.
type Checkpoint struct {
	Method  string        `json:"method"`            // auto, sandbox, signal, exit85, restart
	Every   time.Duration `json:"every,omitempty"`   // 0: chosen from cost and failure rate; <0: never by itself
	Signal  string        `json:"signal,omitempty"`  // e.g. USR1
	Files   []string      `json:"files,omitempty"`   // what the program writes
	Restart []string      `json:"restart,omitempty"` // argv that continues from these files
}

// ArrayRange is the indices of an array job, and how many may run at once.
type ArrayRange struct {
	First, Last, Step, AtOnce int
}
