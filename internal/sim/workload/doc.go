// Package workload makes the streams of jobs that a simulation runs: recorded
// ones from SWF traces, as they are or as malleable versions of themselves,
// and generated ones. It decides who is submitted when, how much work they
// bring and how they scale; everything is drawn from a seed. It must not know
// of queues, policies, the engine or the state of any cluster.
package workload

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

// Job is a job of the simulation: what its user submits, and what only the
// simulator knows of it.
type Job struct {
	Submit  core.Time
	Spec    core.Job
	App     *app.App      // how it behaves; never nil, shared by the jobs of a program
	Work    float64       // seconds on one processor of a speed-1 host; used when Run is 0
	Run     time.Duration // if above 0: run time at its fixed size on speed-1 hosts, used instead of Work
	Limit   time.Duration // the run time that its user asked for, at the smallest size; 0 if none
	StartOn core.Aim      // the cluster where it is to start; 0: any
	Label   int64         // its number in the trace; for a generated job that of its Spec
}

// Source is a stream of jobs in the order of their submission, with
// Spec.ID counting from 1.
//
// Next fills in the whole of j and reports whether there was another job. What
// it has filled in belongs to the caller: the source neither keeps nor changes
// it, so a Job, and a pointer to its Spec, stay valid as long as the caller
// keeps that Job and does not hand the same one to Next again. Slices within
// Spec (components, their inputs and clusters) may share memory with those of
// other jobs and must not be changed.
type Source interface {
	NextJob(j *Job) bool
	Len() int // jobs in all
}

// components hands out lists of one component, many of them from one
// allocation. A block lives as long as any of its components.
type components struct{ block []core.Component }

func (c *components) singleComponent(x core.Component) []core.Component {
	const blockSize = 128
	if len(c.block) == 0 {
		c.block = make([]core.Component, blockSize)
	}
	list := c.block[:1:1]
	c.block = c.block[1:]
	list[0] = x
	return list
}
