package store

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Array is a job array of which not every element has a record yet. Those without
// one differ in nothing but number, unique id and index, so that an array of a
// hundred thousand jobs is taken in as one record. An element that somebody does
// something with may have its record before those that come before it.
type Array struct {
	ID        core.JobID     `json:"-"` // number of the first element, and of the array
	User      string         `json:"user"`
	Submitted core.Time      `json:"submitted"`
	Spec      *jobfile.Job   `json:"spec"`
	Template  Job            `json:"template"`        // record of an element when it begins
	First     string         `json:"first"`           // unique id of the first element
	Seed      uint64         `json:"seed"`            // those of the others follow from it
	Count     int            `json:"count"`           // elements in all
	Next      int            `json:"next"`            // the first of them, from 0, that has no record
	Why       string         `json:"why"`             // how its need is known
	Known     map[string]any `json:"known,omitempty"` // what is known of it, for who asks for reasons
	Each      []EachWait     `json:"each,omitempty"`  // arrays of which each element waits for the one with its index
}

// EachWait is an array, and what must have happened to its element with an index
// before the element of another array with the same index is placed.
type EachWait struct {
	Array   core.JobID         `json:"array"`
	Indices jobfile.ArrayRange `json:"indices"` // of that array
	When    jobfile.When       `json:"when,omitempty"`
}

// ElementRecord is the record of the n-th element, from 0, as it is before anything has
// happened to it.
func (a *Array) ElementRecord(n, index int) Job {
	j := a.Template
	j.ID, j.Unique, j.User, j.Submitted, j.Parent = a.ID+core.JobID(n), a.UniqueID(n), a.User, a.Submitted, a.ID
	j.Spec, j.Index, j.State = a.Spec, index, core.Submitted
	return j
}

// UniqueID is the unique id of the n-th element.
func (a *Array) UniqueID(n int) string {
	if n == 0 && a.First != "" {
		return a.First
	}
	x := a.Seed + uint64(n)*0x9e3779b97f4a7c15 // splitmix64: no two elements get the same
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return fmt.Sprintf("%016x", x^x>>31)
}

// EndID is the first number behind those of the array.
func (a *Array) EndID() core.JobID { return a.ID + core.JobID(a.Count) }

// IsComplete reports whether every element has its record.
func (a *Array) IsComplete() bool { return a.Next >= a.Count }
