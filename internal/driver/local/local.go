// Package local is the driver of this machine: some of its CPUs as a cluster.
// An attempt is a folder with a file that says what to run, and an agent, a
// process in a session of its own, that runs it and survives us. The package
// starts agents, notices when one dies and starts another on its folder, ends
// what is to be ended, and senses how busy the CPUs are with the work of
// others. It must not know what an agent does, nor why an attempt is started.
package local

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/local/load"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// Options describe one cluster on this machine.
type Options struct {
	Cluster string   // its name
	Dir     string   // holds the folders of its attempts; made if it is missing; this cluster's alone
	Agent   []string // command of an agent, to which the folder is added; nil: this program with the word agent
	Broker  string   // where agents find the broker; "": as their attempts say

	CPUs   []int   // this cluster's; nil: all that this process may use
	Slots  int     // processors it offers; 0: as many as CPUs. With more than CPUs, attempts share all of them
	Quota  float64 // share of each CPU that attempts may use; 0 or 1: all. Needs cgroups
	Memory int64   // bytes that an attempt may use that names no limit; 0: no limit. Needs cgroups
	Nice   int     // of attempts that name none

	NoCgroups bool // do without cgroups even where they are allowed
	// Kin is a part of the paths of folders in which the same broker has attempts here
	// as other users; "": there are none.
	Kin    string
	Sample time.Duration // how often the load is sensed; 0: every 2 s
	Clock  clock.Clock   // nil: the machine's
	Log    *slog.Logger  // nil: nowhere
}

// ErrReleased is what StartAttempt returns for an attempt that was released: it never
// runs again.
var ErrReleased = attemptdir.ErrReleased

// Driver runs attempts on this machine. It may be used by several goroutines.
type Driver struct {
	opt   Options
	agent command
	clock clock.Clock
	log   *slog.Logger
	null  *os.File
	owner groups
	meter *load.Meter
	kin   *otherUsers
	notes []string
	loose bool // fewer processors than CPUs because of a quota: the kernel chooses which

	folders *attemptdir.Folders

	mu       sync.Mutex
	attempts map[driver.ID]*attempt
	idle     []*process // agents without an attempt, the one that was busy last at the end
	closed   bool

	spent   atomic.Int64  // nanoseconds of CPU time of agents that ended
	closing chan struct{} // closed by Close
	tasks   sync.WaitGroup
}

var (
	_ driver.Driver    = (*Driver)(nil)
	_ driver.Explainer = (*Driver)(nil)
)

// New takes over the attempts that are found in the folder, whoever started
// them: agents that live are watched, and where one died after it had started
// something, another is started to tell.
func New(o Options) (*Driver, error) {
	d := &Driver{opt: o, clock: o.Clock, log: o.Log, attempts: make(map[driver.ID]*attempt),
		closing: make(chan struct{})}
	if err := d.completeOptions(); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", o.Cluster, err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	d.null = null
	if d.folders, err = attemptdir.Open(d.opt.Dir, d.clock, d.log); err != nil {
		_ = null.Close() // nothing was written
		return nil, fmt.Errorf("cluster %s: %w", o.Cluster, err)
	}
	d.owner, d.notes = newGroups(&d.opt)
	d.kin = &otherUsers{folder: d.opt.Kin, clock: d.clock}
	d.meter = load.NewMeter(load.Config{CPUs: d.opt.CPUs, Nice: d.opt.Nice, Quota: d.opt.Quota, Every: d.opt.Sample,
		Own: d.allOwnAttempts, Spent: func() time.Duration { return time.Duration(d.spent.Load()) },
		Bounds: cgroup.QuotaBounds, Clock: d.clock})
	if err := d.takeOver(); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// completeOptions fills in what the options leave open.
func (d *Driver) completeOptions() error {
	o := &d.opt
	if d.clock == nil {
		d.clock = clock.RealClock()
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}
	o.Dir = dir
	usable, err := UsableCPUs()
	if err != nil {
		return err
	}
	if o.CPUs == nil {
		o.CPUs = usable
	}
	o.CPUs = slices.Compact(slices.Sorted(slices.Values(o.CPUs)))
	for _, cpu := range o.CPUs {
		if !slices.Contains(usable, cpu) {
			return fmt.Errorf("CPU %d is not one that may be used here (%v)", cpu, usable)
		}
	}
	if len(o.CPUs) == 0 {
		return errors.New("no CPUs")
	}
	if o.Slots == 0 {
		o.Slots = UsableProcessors(len(o.CPUs))
	}
	d.loose = o.Slots < len(o.CPUs) && UsableProcessors(len(o.CPUs)) < len(o.CPUs)
	if o.Quota <= 0 || o.Quota > 1 {
		o.Quota = 1
	}
	if o.Sample <= 0 {
		o.Sample = 2 * time.Second
	}
	d.agent, err = agentCommand(o.Agent)
	return err
}

// agentCommand is how agents are called. By default it is the very program that
// runs here, also after its file was replaced: broker and agent then speak the
// same language.
func agentCommand(argv []string) (command, error) {
	c := command{path: "/proc/self/exe", argv: []string{filepath.Base(os.Args[0]), "agent"}, env: os.Environ()}
	if len(argv) > 0 {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			return c, fmt.Errorf("the agent: %w", err)
		}
		if c.path, err = filepath.Abs(path); err != nil {
			return c, err
		}
		c.argv = slices.Clone(argv)
	}
	return c, nil
}

// Close stops watching. Agents run on.
func (d *Driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	close(d.closing)
	for _, a := range d.attempts {
		a.forgetAgent()
	}
	for _, p := range d.idle {
		p.sendSignal(syscall.SIGKILL)
	}
	d.mu.Unlock()
	d.meter.Close()
	d.tasks.Wait()
	return errors.Join(d.null.Close(), d.folders.Close())
}

// UserNotes says what of the options this machine does not allow, one line each
// for the user.
func (d *Driver) UserNotes() []string { return slices.Clone(d.notes) }
