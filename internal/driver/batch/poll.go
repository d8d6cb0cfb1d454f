package batch

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// queueAnswer is one answer of the manager about all our jobs.
type queueAnswer struct {
	number uint64
	jobs   map[string][]Entry // by name
	// holders are those that hold processors for attempts beside their own jobs, by the names of these.
	holders map[string][]Entry
	err     error
	done    chan struct{} // closed when the rest is set
}

// sharedAnswers share answers: whoever needs one that was asked for after he came waits
// for the next, together with all others who do. So however many wait for their
// jobs to leave, the manager is asked one thing at a time.
type sharedAnswers struct {
	mu    sync.Mutex
	busy  bool
	next  *queueAnswer // not asked for yet
	count uint64
}

// lastNumber is the number of the last look that has been asked for.
func (l *sharedAnswers) lastNumber() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// queryQueue asks the manager what jobs of ours it has.
func (d *Driver) queryQueue(ctx context.Context) (*queueAnswer, error) {
	d.looks.mu.Lock()
	if d.looks.next == nil {
		d.looks.next = &queueAnswer{done: make(chan struct{})}
	}
	mine := d.looks.next
	start := !d.looks.busy
	d.looks.busy = true
	d.looks.mu.Unlock()
	if start && !d.inBackground(d.pollWhileAsked) {
		return nil, errClosed
	}
	select {
	case <-mine.done:
		return mine, mine.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-d.ctx.Done():
		return nil, errClosed
	}
}

// pollWhileAsked asks as long as somebody wants to know.
func (d *Driver) pollWhileAsked() {
	for {
		d.looks.mu.Lock()
		now := d.looks.next
		d.looks.next = nil
		if now == nil {
			d.looks.busy = false
			d.looks.mu.Unlock()
			return
		}
		d.looks.count++
		now.number = d.looks.count
		d.looks.mu.Unlock()
		began := d.clock()
		now.askManager(d)
		close(now.done)
		// Who asks again at once shall not be all that the manager does.
		if !clock.SleepContext(d.ctx, min(max(d.clock.Since(began), 10*time.Millisecond), time.Second)) {
			return
		}
	}
}

func (l *queueAnswer) askManager(d *Driver) {
	ctx, cancel := context.WithTimeout(d.ctx, queryTimeout)
	defer cancel()
	entries, err := d.manager.ListQueue(ctx, d.prefix)
	l.err = err
	l.jobs = make(map[string][]Entry, len(entries))
	l.holders = make(map[string][]Entry)
	for _, e := range entries {
		if own, _, holds := strings.Cut(e.Name, holderMark); holds {
			l.holders[own] = append(l.holders[own], e)
		} else {
			l.jobs[e.Name] = append(l.jobs[e.Name], e)
		}
	}
}

// cancels gathers what is to be cancelled while the manager is busy with what was
// before.
type cancels struct {
	mu   sync.Mutex
	busy bool
	next *cancelling
}

type cancelling struct {
	ids  []string
	err  error
	done chan struct{}
}

// cancelJobs has the manager end jobs.
func (d *Driver) cancelJobs(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	d.cancels.mu.Lock()
	if d.cancels.next == nil {
		d.cancels.next = &cancelling{done: make(chan struct{})}
	}
	mine := d.cancels.next
	mine.ids = append(mine.ids, ids...)
	start := !d.cancels.busy
	d.cancels.busy = true
	d.cancels.mu.Unlock()
	if start && !d.inBackground(d.cancelAll) {
		return errClosed
	}
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	case <-d.ctx.Done():
		return errClosed
	}
}

func (d *Driver) cancelAll() {
	for {
		d.cancels.mu.Lock()
		now := d.cancels.next
		d.cancels.next = nil
		if now == nil {
			d.cancels.busy = false
			d.cancels.mu.Unlock()
			return
		}
		d.cancels.mu.Unlock()
		ctx, cancel := context.WithTimeout(d.ctx, queryTimeout)
		now.err = d.manager.CancelJobs(ctx, now.ids)
		cancel()
		close(now.done)
	}
}
