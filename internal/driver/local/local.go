// Package local is the driver of this machine: some of its CPUs as a cluster.
// An attempt is a folder with a file that says what to run, and an agent, a
// process in a session of its own, that runs it and survives us. The package
// starts agents, notices when one dies and starts another on its folder, ends
// what is to be ended, and senses how busy the CPUs are with the work of
// others. It must not know what an agent does, nor why an attempt is started.
package local

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// Options describe one cluster on this machine.
type Options struct {
	Cluster string   // its name
	Dir     string   // holds the folders of its attempts; made if it is missing; this cluster's alone
	Agent   []string // command of an agent, to which the folder is added; nil: this program with the word agent

	CPUs   []int   // this cluster's; nil: all that this process may use
	Slots  int     // processors it offers; 0: as many as CPUs. With more than CPUs, attempts share all of them
	Quota  float64 // share of each CPU that attempts may use; 0 or 1: all. Needs cgroups
	Memory int64   // bytes that all attempts together may use; 0: no limit. Needs cgroups
	Nice   int     // of attempts that name none

	Sample time.Duration // how often the load is sensed; 0: every 2 s
	Clock  clock.Clock   // nil: the machine's
	Log    *slog.Logger  // nil: nowhere
	// Failed is told of an attempt on which no agent can be kept running (its
	// binary is gone, the disk is full). Nothing more is tried until the next
	// Start. May be nil.
	Failed func(driver.ID, error)
}

// ErrReleased is what Start returns for an attempt that was released: it never
// runs again.
var ErrReleased = errors.New("the attempt was released")

// Driver runs attempts on this machine. It may be used by several goroutines.
type Driver struct {
	opt Options
}

var _ driver.Driver = (*Driver)(nil)

// New takes over the attempts that are found in the folder, whoever started
// them: agents that live are watched, and where one died after it had started
// something, another is started to tell.
func New(o Options) (*Driver, error) { return &Driver{opt: o}, nil }

// Close stops watching. Agents run on.
func (d *Driver) Close() error { return nil }

// Notes says what of the options this machine does not allow, one line each
// for the user.
func (d *Driver) Notes() []string { return nil }

func (d *Driver) Start(ctx context.Context, a *wire.Attempt) error {
	return errors.ErrUnsupported
}

func (d *Driver) Release(ctx context.Context, id driver.ID) error { return errors.ErrUnsupported }

func (d *Driver) Find(ctx context.Context) ([]driver.Found, error) {
	return nil, errors.ErrUnsupported
}

func (d *Driver) Load(ctx context.Context) (driver.Load, error) {
	return driver.Load{}, errors.ErrUnsupported
}
