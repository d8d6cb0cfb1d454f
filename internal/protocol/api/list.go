package api

import "github.com/godwit-hpc/godwit/internal/sched/core"

// JobPage is a part of a list of jobs, newest first.
type JobPage struct {
	Jobs []Job `json:"jobs"`
	// Next is the cursor of the next page; "": there is none. A page may have fewer jobs than its limit and a
	// next one all the same: so many were looked through.
	Next string `json:"next"`
	// Counts is how many jobs are in each state, of all that could be listed, whatever the filters.
	Counts map[core.State]int `json:"counts"`
	Event  uint64             `json:"event"` // last event of the log that the page may know of
}

// SubmitMany is jobs to be handed in at once.
type SubmitMany struct {
	Jobs []Submit `json:"jobs"`
}

// SubmittedMany says what became of each of them, in their order.
type SubmittedMany struct {
	Jobs []SubmittedOne `json:"jobs"`
}

// SubmittedOne is what became of one of several jobs: its numbers, or why it was refused.
type SubmittedOne struct {
	IDs   []core.JobID `json:"ids,omitempty"`
	Error *Error       `json:"error,omitempty"`
}

// Changes is a message of the stream of changes: what happened up to an event, which is the id of the
// message, since the message before.
type Changes struct {
	Changes []Change           `json:"changes"`
	Jobs    []Job              `json:"jobs,omitempty"` // those looked at that changed, as they are now
	Counts  map[core.State]int `json:"counts,omitempty"`
	// Reset says that what happened meanwhile cannot be told any more: everything is to be read anew.
	Reset bool `json:"reset,omitempty"`
}

// Change is an event of the log about a job.
type Change struct {
	Event uint64         `json:"event"` // its number
	At    *Time          `json:"at"`
	Job   core.JobID     `json:"job"`
	Kind  core.EventKind `json:"kind"`
	From  *core.State    `json:"from,omitempty"` // of job-became
	To    *core.State    `json:"to,omitempty"`
}

// Timeline is where a job has been, and what was predicted of its end meanwhile.
type Timeline struct {
	Segments []Segment `json:"segments"` // without gaps, oldest first
	Marks    []Mark    `json:"marks"`
	Outlooks []Outlook `json:"outlooks"`
	Deadline *Time     `json:"deadline"`
	Now      Time      `json:"now"`
}

// Segment is a stretch of the life of a job.
type Segment struct {
	Kind    string `json:"kind"` // waiting, starting, running, moving
	Cluster string `json:"cluster,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	From    Time   `json:"from"`
	To      *Time  `json:"to"`                // null: it lasts
	Outcome string `json:"outcome,omitempty"` // of a run: finished, moved, lost, …
}

// Mark is a moment in the life of a job.
type Mark struct {
	Kind string `json:"kind"` // as of decisions
	At   Time   `json:"at"`
	Text string `json:"text"`
}

// Outlook is what was predicted of the end at a moment.
type Outlook struct {
	At        Time     `json:"at"`
	Early     *Time    `json:"p05"`
	Middle    *Time    `json:"p50"`
	Late      *Time    `json:"p95"`
	PDeadline *float64 `json:"p_deadline"`
}
