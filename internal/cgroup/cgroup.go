// Package cgroup makes cgroups of our own where this process may, in version 1
// hierarchies and in version 2, limits and measures what is in them, ends it
// and removes them. It never touches a cgroup that it did not create. It must
// not know what runs inside.
package cgroup

import "time"

// Group is one cgroup of ours: a folder of the same name in each hierarchy
// that is needed for it.
type Group struct{ folders []string }

// Limits are what a group is held to; zero values are no limit.
type Limits struct {
	CPU    float64 // processors' worth of time
	CPUs   []int   // processors
	Memory int64   // bytes
	Pids   int     // processes and threads
}

// Ability says which controllers a new group can have.
type Ability struct {
	CPU, CPUs, Memory, Pids bool
	Usage                   bool   // its CPU time can be read
	Kill                    bool   // it can be ended as a whole
	Why                     string // what is missing, and why; "" if nothing
}

// Available tries what this process may do.
func Available() Ability { return Ability{} }

// Create makes a group of that name, or takes the one of that name that an
// earlier process of ours created, below the cgroup this process is in. A limit that
// cannot be kept is an error.
func Create(name string, l Limits) (*Group, error) { return nil, nil }

// Open is the group that String wrote.
func Open(s string) (*Group, error) { return nil, nil }

// String is the group's folders, for Open in another process.
func (g *Group) String() string { return "" }

// Add moves a process, with all its threads, into the group.
func (g *Group) Add(pid int) error { return nil }

// CPU is what all processes that ever were in the group have used.
func (g *Group) CPU() (time.Duration, error) { return 0, nil }

// Pids lists the processes in the group.
func (g *Group) Pids() ([]int, error) { return nil, nil }

// Kill ends everything in the group. It returns before the last is gone.
func (g *Group) Kill() error { return nil }

// Remove removes the group, which must be empty; one that is gone already is
// no error.
func (g *Group) Remove() error { return nil }
