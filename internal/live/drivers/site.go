// Package drivers makes the driver of a cluster from its settings, where that
// cluster is: beside the broker, or at an outpost. It is wiring and knows all
// drivers that run on the spot, so that neither the broker nor the outpost has
// to.
package drivers

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/gridengine"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/driver/slurm"
)

// Environment is what a driver finds where it runs.
type Environment struct {
	Broker string   // where agents find the broker, as package gate takes it
	Agent  []string // command of an agent; nil: this program
	Log    *slog.Logger
}

// Driver is a driver that can be closed: attempts run on.
type Driver interface {
	driver.Driver
	io.Closer
	// UserNotes says what of the settings does not work here, for the user.
	UserNotes() []string
}

// Open makes the driver.
func Open(s *driver.Settings, a Environment) (Driver, error) {
	switch s.Kind {
	case "local":
		return local.New(local.Options{Cluster: s.Cluster, Dir: s.Dir, Agent: a.Agent, Broker: a.Broker, CPUs: s.CPUs,
			Slots: s.Slots,
			Quota: s.Quota, Memory: s.Memory, Nice: s.Nice, Kin: s.Kin, Sample: s.Sample, Log: a.Log})
	case "slurm":
		return batch.New(batchOptions(s, a), slurm.New(slurm.Options{Commands: s.Commands, Env: s.Env,
			Partition: s.Partition, Options: s.Options, Log: a.Log}))
	case "gridengine":
		m, err := gridengine.New(gridengine.Options{Commands: s.Commands, Env: s.Env, Queue: s.Partition, PE: s.PE,
			Options: s.Options, Log: a.Log})
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", s.Cluster, err)
		}
		return batch.New(batchOptions(s, a), m)
	}
	return nil, fmt.Errorf("cluster %s: there is no driver %q", s.Cluster, s.Kind)
}

// batchOptions are those of a cluster with a manager of its own.
func batchOptions(s *driver.Settings, a Environment) batch.Options {
	o := batch.Options{Cluster: s.Cluster, Dir: s.Dir, Broker: a.Broker, Poll: s.Poll, Time: s.Time, Log: a.Log}
	if len(a.Agent) > 0 {
		o.Agent = a.Agent[0]
	}
	return o
}
