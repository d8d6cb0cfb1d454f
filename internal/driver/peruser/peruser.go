// Package peruser is a cluster as several users use it, each as themselves: what
// concerns an attempt is asked of a driver that runs as the owner of its job,
// opened when it is first needed and closed when it has had nothing to do for
// long; what concerns the cluster as a whole is asked of that of the broker's own
// user. The package decides whose driver is asked; it must not know how drivers
// of others are made.
package peruser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Member is the driver of one user.
type Member interface {
	driver.Driver
	io.Closer
	// IsIdle says that there is nothing that the driver has to be open for.
	IsIdle() bool
}

// ErrNoJob is what Options.Owner answers for a job that there never was.
var ErrNoJob = errors.New("there is no such job")

// Options say whose drivers there are.
type Options struct {
	Cluster string
	Own     driver.Driver // of the broker's own user, who is number 0
	// Owner is whose a job is.
	Owner func(ctx context.Context, job core.JobID) (user uint32, err error)
	// Open makes the driver of another user. It may not be usable yet.
	Open func(user uint32) (Member, error)
	// Left lists the users of whom attempts may be known to the cluster from before,
	// and Sent says whether this one of a user may be.
	Left func() ([]uint32, error)
	Sent func(user uint32, id driver.ID) bool

	Clock clock.Clock
	Log   *slog.Logger
	Pause time.Duration // between tries to reach the cluster as a user; 0: 200 ms
	Reach time.Duration // how long that is tried before the cluster is taken not to want the user; 0: 30 s
	Idle  time.Duration // how long a driver stays open for nothing; 0: an hour
}

// Driver is the drivers of all users. It may be used by several goroutines.
type Driver struct {
	opt   Options
	stop  chan struct{}
	tasks sync.WaitGroup

	mu      sync.Mutex
	members map[uint32]*member
	owners  map[core.JobID]uint32 // as far as they have been asked for
	strays  map[driver.ID]uint32  // attempts of jobs that nobody knows, and whose driver told of them
	closed  bool
}

// member is a driver that is open.
type member struct {
	Member
	used time.Time
}

var (
	_ driver.Driver    = (*Driver)(nil)
	_ driver.Surveyor  = (*Driver)(nil)
	_ driver.Estimator = (*Driver)(nil)
	_ driver.Explainer = (*Driver)(nil)
	_ driver.PerUser   = (*Driver)(nil)
	_ driver.Sensor    = (*Driver)(nil)
	_ driver.Adjuster  = (*Driver)(nil)
	_ driver.Extender  = (*Driver)(nil)
)

// New opens nobody's driver yet.
func New(o Options) *Driver {
	if o.Clock == nil {
		o.Clock = clock.RealClock()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Pause == 0 {
		o.Pause = 200 * time.Millisecond
	}
	if o.Reach == 0 {
		o.Reach = 30 * time.Second
	}
	if o.Idle == 0 {
		o.Idle = time.Hour
	}
	d := &Driver{opt: o, stop: make(chan struct{}), members: map[uint32]*member{}, owners: map[core.JobID]uint32{},
		strays: map[driver.ID]uint32{}}
	d.tasks.Go(d.closeIdleMembers)
	return d
}

// Close closes the drivers of the others: that of the broker's own user is whose
// it was. Attempts run on.
func (d *Driver) Close() error {
	d.mu.Lock()
	members := d.members
	d.members = nil
	if !d.closed {
		d.closed = true
		close(d.stop)
	}
	d.mu.Unlock()
	d.tasks.Wait()
	var errs []error
	for _, m := range members { // order-free: all are closed
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// closeIdleMembers closes drivers that nobody needs.
func (d *Driver) closeIdleMembers() {
	tick := time.NewTicker(d.opt.Idle / 10)
	defer tick.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
		}
		for _, m := range d.takeUnused() {
			if err := m.Close(); err != nil {
				d.opt.Log.Warn("closing a driver", "cluster", d.opt.Cluster, "error", err)
			}
		}
	}
}

func (d *Driver) takeUnused() []*member {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*member
	for user, m := range d.members { // order-free: each is looked at for itself
		if d.opt.Clock.Since(m.used) > d.opt.Idle && m.IsIdle() {
			delete(d.members, user)
			list = append(list, m)
		}
	}
	return list
}

var errClosed = errors.New("the driver is closed")

// memberOf is the driver of a user.
func (d *Driver) memberOf(user uint32) (driver.Driver, error) {
	if user == 0 {
		return d.opt.Own, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	m := d.members[user]
	if m == nil {
		opened, err := d.opt.Open(user)
		if err != nil {
			return nil, fmt.Errorf("cluster %s, as user %d: %w", d.opt.Cluster, user, err)
		}
		m = &member{Member: opened}
		d.members[user] = m
	}
	m.used = d.opt.Clock()
	return m.Member, nil
}

// isOpen says whether the driver of a user is open.
func (d *Driver) isOpen(user uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return user == 0 || d.members[user] != nil
}

// maxCachedOwners is how many jobs it is remembered of whose they are.
const maxCachedOwners = 10_000

// ownerOf is whose an attempt is.
func (d *Driver) ownerOf(ctx context.Context, id driver.ID) (uint32, error) {
	d.mu.Lock()
	user, known := d.owners[id.Job]
	stray, found := d.strays[id]
	d.mu.Unlock()
	if known {
		return user, nil
	}
	user, err := d.opt.Owner(ctx, id.Job)
	switch {
	case errors.Is(err, ErrNoJob) && found:
		return stray, nil
	case err != nil:
		return 0, fmt.Errorf("whose job %d is: %w", id.Job, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.owners) >= maxCachedOwners {
		clear(d.owners)
	}
	d.owners[id.Job] = user
	return user, nil
}

// StartAttempt starts the attempt as the owner of its job. A cluster that the broker
// reaches and the owner does not, for longer than something may take to come up
// again, does not want the owner.
func (d *Driver) StartAttempt(ctx context.Context, a *wire.Attempt) error {
	user, err := d.ownerOf(ctx, driver.AttemptID(a))
	if err != nil {
		return err
	}
	began := d.opt.Clock()
	for {
		m, err := d.memberOf(user)
		if err != nil {
			return err
		}
		err = m.StartAttempt(ctx, a)
		if user == 0 || !errors.Is(err, driver.ErrAway) {
			return err
		}
		if _, own := d.opt.Own.MeasureLoad(ctx); errors.Is(own, driver.ErrAway) {
			return err
		}
		if d.opt.Clock.Since(began) > d.opt.Reach {
			return fmt.Errorf("%w: the broker gets there, the owner of the job does not: %w", driver.ErrRefused, err)
		}
		if !clock.SleepContext(ctx, d.opt.Pause) {
			return ctx.Err()
		}
	}
}

// ReleaseAttempt releases the attempt as its owner. For one that was never sent there
// nobody's driver is opened.
func (d *Driver) ReleaseAttempt(ctx context.Context, id driver.ID) error {
	user, err := d.ownerOf(ctx, id)
	if errors.Is(err, ErrNoJob) {
		return d.opt.Own.ReleaseAttempt(ctx, id) // nobody else's: theirs are known
	}
	if err != nil {
		return err
	}
	if !d.isOpen(user) && !d.opt.Sent(user, id) {
		return nil
	}
	m, err := d.memberOf(user)
	if err != nil {
		return err
	}
	if err = m.ReleaseAttempt(ctx, id); err == nil {
		d.mu.Lock()
		delete(d.strays, id)
		d.mu.Unlock()
	}
	return err
}

// FindAttempts lists the attempts of all users of whom there may be any. If some cannot
// be asked it lists those of the others besides the error.
func (d *Driver) FindAttempts(ctx context.Context) ([]driver.Found, error) {
	users, err := d.opt.Left()
	all := map[uint32]bool{0: true}
	for _, u := range users {
		all[u] = true
	}
	d.mu.Lock()
	for u := range d.members { // order-free: a set
		all[u] = true
	}
	d.mu.Unlock()
	var mu sync.Mutex
	var found []driver.Found
	errs := []error{err}
	var work sync.WaitGroup
	for user := range all { // order-free: what is found is a set
		work.Go(func() {
			list, err := d.findOf(ctx, user)
			mu.Lock()
			defer mu.Unlock()
			found, errs = append(found, list...), append(errs, err)
		})
	}
	work.Wait()
	return found, errors.Join(errs...)
}

// findOf lists the attempts of one user.
func (d *Driver) findOf(ctx context.Context, user uint32) ([]driver.Found, error) {
	m, err := d.memberOf(user)
	if err != nil {
		return nil, err
	}
	list, err := m.FindAttempts(ctx)
	if err != nil {
		return nil, err
	}
	var found []driver.Found
	for _, f := range list {
		ours, err := d.ownsAttempt(ctx, user, f.ID)
		if err != nil {
			return found, err
		}
		if ours {
			found = append(found, f)
		}
	}
	return found, nil
}

// ownsAttempt says whether an attempt that the driver of a user told of is one of that
// user's: where it comes from, users may write what they like.
func (d *Driver) ownsAttempt(ctx context.Context, user uint32, id driver.ID) (bool, error) {
	owner, err := d.ownerOf(ctx, id)
	if errors.Is(err, ErrNoJob) {
		d.mu.Lock()
		d.strays[id] = user
		d.mu.Unlock()
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if owner != user {
		d.opt.Log.Warn("an attempt is told of by somebody whose it is not", "cluster", d.opt.Cluster, "job", id.Job, "user",
			user)
	}
	return owner == user, nil
}
