// Package fake is a driver without processes, for tests of whoever uses one: a
// test says what each attempt does, message by message, and sees the orders
// that are given. It must not know brokers, sockets or folders.
package fake

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Script is what an attempt does. It runs in a goroutine of its own from StartAttempt
// on; it must return soon after Done is closed. If it returns without having
// said Ended, Left or Lost, and nobody ended it, its agent counts as died, and
// the next one says Lost.
type Script func(r *Run)

// Run is an attempt that runs, as its script sees it.
type Run struct {
	attempt *wire.Attempt
	driver  *Driver
	orders  chan wire.Order
	stop    chan struct{} // closed when it is ended from outside
	gone    chan struct{} // closed when the script has returned

	// Guarded by the driver.
	stopped bool
	silent  bool // ended by Kill or ReleaseAttempt: it says no more
	over    bool // the script has returned
	said    []wire.Message
	told    int // how many of them reached the broker
	next    uint64
}

// ErrReleased is what StartAttempt returns for an attempt that was released.
var ErrReleased = errors.New("the attempt was released")

// Driver runs scripts.
type Driver struct {
	script Script
	to     func(wire.Message)

	mu       sync.Mutex
	changed  *sync.Cond
	runs     map[driver.ID]*Run
	released map[driver.ID]bool
	load     driver.Load
	deaf     bool
	closed   bool
	tasks    sync.WaitGroup
}

var _ driver.Driver = (*Driver)(nil)

// New makes a driver whose attempts do what script says and tell to. It is
// called from one goroutine per attempt, in the order of what is said; every
// attempt says Hello first.
func New(script Script, to func(wire.Message)) *Driver {
	d := &Driver{script: script, to: to, runs: map[driver.ID]*Run{}, released: map[driver.ID]bool{},
		load: driver.Load{Share: 1, Sd: 0.02, Why: "nobody else is here"}}
	d.changed = sync.NewCond(&d.mu)
	return d
}

// Attempt is what was started.
func (r *Run) Attempt() *wire.Attempt { return r.attempt }

// SendMessage sends a message to the broker. Job, epoch and mark are filled in, and the
// number, except for kinds that have none.
func (r *Run) SendMessage(m wire.Message) {
	r.driver.mu.Lock()
	defer r.driver.mu.Unlock()
	if !r.stopped {
		r.sendLocked(m)
	}
}

// sendLocked is SendMessage with the driver locked.
func (r *Run) sendLocked(m wire.Message) {
	m.Job, m.Epoch, m.Part, m.Mark = r.attempt.Job, r.attempt.Epoch, r.attempt.Part, r.attempt.Mark
	if m.Kind != wire.Hello && m.Kind != wire.Status {
		r.next++
		m.Seq = r.next
	}
	r.said = append(r.said, m)
	r.driver.changed.Broadcast()
}

// hasEnded says whether the last word was said.
func (r *Run) hasEnded() bool {
	return slices.ContainsFunc(r.said, func(m wire.Message) bool {
		return m.Kind == wire.Ended || m.Kind == wire.Left || m.Kind == wire.Lost
	})
}

// Orders are what the broker tells the attempt, except Ack.
func (r *Run) Orders() <-chan wire.Order { return r.orders }

// Done is closed when the attempt is ended from outside: by Kill, ReleaseAttempt, KillAgent
// or Close.
func (r *Run) Done() <-chan struct{} { return r.stop }

// endRun closes Done; silent says that nothing more is told. The driver is locked.
func (r *Run) endRun(silent bool) {
	r.silent = r.silent || silent
	if !r.stopped {
		r.stopped = true
		close(r.stop)
	}
	r.driver.changed.Broadcast()
}

// StartAttempt runs the script, unless it runs or ran: then what was said last is said
// again, as a new agent would.
func (d *Driver) StartAttempt(ctx context.Context, a *wire.Attempt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id := driver.AttemptID(a)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r := d.runs[id]; {
	case d.closed:
		return errors.New("the driver is closed")
	case d.released[id]:
		return ErrReleased
	case r != nil:
		if r.over && len(r.said) > 0 {
			r.told = min(r.told, len(r.said)-1)
			d.changed.Broadcast()
		}
		return nil
	}
	r := &Run{attempt: a, driver: d, orders: make(chan wire.Order, 64), stop: make(chan struct{}),
		gone: make(chan struct{})}
	d.runs[id] = r
	r.sendLocked(wire.Message{Kind: wire.Hello})
	d.tasks.Go(func() { d.deliverMessages(r) })
	d.tasks.Go(func() {
		d.script(r)
		d.mu.Lock()
		defer d.mu.Unlock()
		r.over = true
		if !r.silent && !r.hasEnded() {
			r.sendLocked(wire.Message{Kind: wire.Lost, Why: "its agent died"})
		}
		close(r.gone)
		d.changed.Broadcast()
	})
	return nil
}

// deliverMessages brings to the broker what an attempt says.
func (d *Driver) deliverMessages(r *Run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		for !d.closed && !r.silent && (d.deaf || r.told == len(r.said)) {
			d.changed.Wait()
		}
		if d.closed || r.silent {
			return
		}
		m := r.said[r.told]
		r.told++
		d.mu.Unlock()
		d.to(m)
		d.mu.Lock()
	}
}

// ReleaseAttempt ends the attempt and remembers that it may not run.
func (d *Driver) ReleaseAttempt(ctx context.Context, id driver.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	d.released[id] = true
	r := d.runs[id]
	if r != nil {
		r.endRun(true)
	}
	d.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.gone:
	case <-ctx.Done():
		return ctx.Err()
	}
	d.mu.Lock()
	delete(d.runs, id)
	d.mu.Unlock()
	return nil
}

// FindAttempts lists what was started and not released.
func (d *Driver) FindAttempts(ctx context.Context) ([]driver.Found, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []driver.Found
	for id, r := range d.runs {
		found = append(found, driver.Found{ID: id, Alive: !r.over})
	}
	slices.SortFunc(found, func(a, b driver.Found) int { return driver.CompareIDs(a.ID, b.ID) })
	return found, ctx.Err()
}

// MeasureLoad is what SetLoad set: at first a cluster where nobody else is.
func (d *Driver) MeasureLoad(ctx context.Context) (driver.Load, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.load, ctx.Err()
}

// SetLoad sets what MeasureLoad answers.
func (d *Driver) SetLoad(l driver.Load) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load = l
}

// SendOrder hands an order to the agent of an attempt; false if none lives. Kill
// ends it without a word.
func (d *Driver) SendOrder(id driver.ID, o wire.Order) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[id]
	if r == nil || r.over || r.stopped {
		return false
	}
	switch o.Kind {
	case wire.Ack:
		return true
	case wire.Kill:
		r.endRun(true)
		return true
	}
	select {
	case r.orders <- o:
	default: // the script does not listen
	}
	return true
}

// KillAgent ends the agent of an attempt as kill -9 would: its program dies with it,
// and a new agent tells of the loss, or of the end that was not yet told.
func (d *Driver) KillAgent(id driver.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.runs[id]; r != nil {
		r.endRun(false)
	}
}

// SetDeaf keeps what is said until the broker is within reach again.
func (d *Driver) SetDeaf(deaf bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deaf = deaf
	d.changed.Broadcast()
}

// Close ends everything and waits for the scripts.
func (d *Driver) Close() {
	d.mu.Lock()
	d.closed = true
	for _, r := range d.runs {
		r.endRun(true)
	}
	d.changed.Broadcast()
	d.mu.Unlock()
	d.tasks.Wait()
}
