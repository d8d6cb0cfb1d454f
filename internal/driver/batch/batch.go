package batch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// Options describe one cluster.
type Options struct {
	Cluster string        // its name
	Dir     string        // on a file system that all its hosts share; made if it is missing; this cluster's alone
	Agent   string        // binary of an agent; "": this program
	Broker  string        // where agents find the broker, as package gate takes it
	Poll    time.Duration // how often the manager is asked; 0: every 5 s
	Time    time.Duration // limit of attempts whose job names none; 0: as the manager likes
	Clock   clock.Clock   // nil: the machine's
	Log     *slog.Logger  // nil: nowhere
}

// Bounds of what is asked of a manager, which many use.
const (
	usualPoll   = 5 * time.Second
	longestPoll = time.Minute // when it does not answer
	// maxSubmissions is how many submissions are under way at most.
	maxSubmissions = 8
	// queryTimeout is how long one question may take.
	queryTimeout = 2 * time.Minute
	// submitTimeout is how long StartAttempt and ReleaseAttempt insist; then they say why it does
	// not work.
	submitTimeout = 2 * time.Minute
)

// Driver runs attempts as jobs of a cluster's manager. It may be used by several
// goroutines.
type Driver struct {
	opt     Options
	manager Manager
	clock   clock.Clock
	log     *slog.Logger
	prefix  string // of the names of our jobs
	folders *attemptdir.Folders
	agents  *binaries

	ctx        context.Context // of what is done without being asked; ends with Close
	cancel     context.CancelFunc
	tasks      sync.WaitGroup
	submitting chan struct{} // has room for as many as may submit at once
	looks      sharedAnswers
	cancels    cancels
	survey     memo[*driver.Survey]

	mu       sync.Mutex
	attempts map[driver.ID]*attempt
	waits    map[driver.Need]*memo[driver.Wait]
	silence  error // why the manager did not answer last time
	closed   bool
	wake     chan struct{} // there is something to watch
}

var (
	_ driver.Driver    = (*Driver)(nil)
	_ driver.Surveyor  = (*Driver)(nil)
	_ driver.Estimator = (*Driver)(nil)
	_ driver.Explainer = (*Driver)(nil)
	_ driver.JobNamer  = (*Driver)(nil)
)

var errClosed = errors.New("the driver is closed")

// attempt is what we know of one attempt.
type attempt struct {
	id   driver.ID
	dir  string
	name string // of its job

	mu       sync.Mutex // held while something is done about it, one at a time
	released bool
	reporter lossReporter

	// Guarded by the driver's lock, as others look at it meanwhile.
	stopStart context.CancelFunc // of a StartAttempt under way
	submitted bool               // the manager has, or had, a job for it
	job       string             // the manager's name of that; "": not known
	watched   bool               // while its end may be news
	after     uint64             // an answer of the manager up to this number may not know the job
	missing   int                // answers in a row that do not have it
	hopeless  int                // answers in a row that say that it will never begin
	entry     *Entry             // as it was seen last
	holders   int                // jobs that are to hold processors for it beside its own
}

// New takes over the attempts that are found in the folder. It does not ask the
// manager anything.
func New(o Options, m Manager) (*Driver, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = usualPoll
	}
	dir, err := filepath.Abs(o.Dir)
	if err == nil && strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		err = fmt.Errorf("the folder %q has a name that cannot stand in a script", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", o.Cluster, err)
	}
	o.Dir = dir
	tag := sha256.Sum256([]byte(dir))
	d := &Driver{opt: o, manager: m, clock: o.Clock, log: o.Log,
		prefix:     nameStart + hex.EncodeToString(tag[:tagLength/2]) + "-",
		agents:     &binaries{from: o.Agent, dir: filepath.Join(dir, "bin"), clock: o.Clock},
		submitting: make(chan struct{}, maxSubmissions),
		attempts:   make(map[driver.ID]*attempt), waits: make(map[driver.Need]*memo[driver.Wait]),
		wake: make(chan struct{}, 1)}
	if d.folders, err = attemptdir.Open(filepath.Join(dir, "attempts"), d.clock, d.log); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", o.Cluster, err)
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.tasks.Go(d.watchLoop)
	if err := d.takeOver(); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster %s: %w", o.Cluster, err), d.Close())
	}
	return d, nil
}

// takeOver watches what a driver before us submitted. An attempt of which that is
// not known waits for StartAttempt.
func (d *Driver) takeOver() error {
	ids, err := d.folders.AttemptIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		a := d.attemptRecord(id)
		if attemptdir.HasFile(a.dir, attemptdir.FenceFile) {
			continue // half released: whoever asked for that asks again
		}
		if job, ok := wasSubmitted(a.dir); ok {
			d.keepWatch(a, job)
		}
	}
	return nil
}

// JobPrefix is what the names of this driver's jobs begin with, for people and
// programs that look at the manager's queue.
func (d *Driver) JobPrefix() string { return d.prefix }

// Close stops watching. Jobs and agents run on.
func (d *Driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	d.tasks.Wait()
	return d.folders.Close()
}

// UserNotes says what of the options does not work here, one line each for the user.
func (d *Driver) UserNotes() []string { return slices.Clone(d.agents.userNotes()) }

// attemptRecord gives the record of an attempt; nil if the driver is closed.
func (d *Driver) attemptRecord(id driver.ID) *attempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.attempts[id]
	if a == nil && !d.closed {
		a = &attempt{id: id, dir: d.folders.AttemptPath(id), name: d.prefix + attemptdir.FolderName(id)}
		d.attempts[id] = a
	}
	return a
}

// keepWatch notes that the manager has a job for the attempt.
func (d *Driver) keepWatch(a *attempt, job string) {
	d.mu.Lock()
	a.submitted, a.job, a.watched = true, job, true
	a.missing, a.after = 0, d.looks.lastNumber()
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default: // it is awake
	}
}

// inBackground runs f until the driver is closed. It reports false if it is.
func (d *Driver) inBackground(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.tasks.Go(f)
	return true
}
