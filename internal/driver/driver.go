// Package driver is the port to whatever runs jobs: this machine, a batch
// system, a host behind SSH. A driver starts agents and finds them again; it
// must not know why. Every driver passes the one suite in drivertest.
package driver

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/core"
)

// ID names one attempt of one job.
type ID struct {
	Job   core.JobID
	Epoch core.Epoch
}

// Driver runs the attempts of one cluster.
type Driver interface {
	// Start makes sure that an agent has run, or runs, the attempt: however
	// often it is called, with whatever crashes in between, the program is
	// started at most once. Calling it for an attempt whose agent died has the
	// loss, or the end that nobody heard of, reported by a new agent.
	Start(ctx context.Context, a *wire.Attempt) error
	// Release ends the attempt if it still runs, sees to it that it can never
	// start, and forgets it. When it returns nil no process of it is left.
	Release(ctx context.Context, id ID) error
	// Find lists the attempts the cluster knows, running or not.
	Find(ctx context.Context) ([]Found, error)
	// Load says how busy the cluster is with the work of others.
	Load(ctx context.Context) (Load, error)
}

// Found is an attempt that a cluster knows.
type Found struct {
	ID
	Alive bool // its agent runs
}

// Load is how busy a cluster is, as a newcomer would feel it.
type Load struct {
	Share float64 // of a processor that a new process would get, 0 to 1
	Sd    float64 // how sure that is
	Why   string
}
