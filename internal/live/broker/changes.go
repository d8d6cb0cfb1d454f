package broker

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Change is an event of the log by which somebody who looks at a job sees something else.
type Change struct {
	Event uint64 // its number in the log
	At    core.Time
	Job   core.JobID
	Kind  core.EventKind
	From  core.State // of JobBecame
	To    core.State
	user  string
}

// maxKeptChanges is how many changes are kept in memory for who follows them; who comes back later
// is told from the store.
const maxKeptChanges = 4096

// changeFeed is the changes that are durable, the newest of them.
type changeFeed struct {
	mu    sync.Mutex
	last  uint64 // event that is durable
	first uint64 // event from which on all changes are kept
	kept  []Change
	wake  chan struct{} // closed when there are more
}

func newChangeFeed(last uint64) *changeFeed {
	return &changeFeed{last: last, first: last + 1, wake: make(chan struct{})}
}

func (f *changeFeed) lastEvent() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func changeOf(n uint64, ev *core.Event, user string) Change {
	c := Change{Event: n, At: ev.At, Job: ev.Job, Kind: ev.Kind, user: user}
	if ev.Kind == core.JobBecame {
		c.From, c.To = ev.From, ev.To
	}
	return c
}

// publishChanges tells those who follow what became durable.
func (t *turn) publishChanges() {
	if len(t.batch.Events) == 0 {
		return
	}
	f := t.b.changes
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range t.batch.Events {
		ev := &t.batch.Events[i]
		if j := t.b.jobs[ev.Job]; j != nil && ev.Job != 0 {
			f.kept = append(f.kept, changeOf(t.batch.First+uint64(i), ev, j.rec.User))
		}
	}
	f.last = t.batch.First + uint64(len(t.batch.Events)) - 1
	if n := len(f.kept) - maxKeptChanges; n > maxKeptChanges { // now and then, not each time
		f.first = f.kept[n].Event
		f.kept = slices.Clone(f.kept[n:])
	}
	close(f.wake)
	f.wake = make(chan struct{})
}

// since is the changes after an event, up to which event they are all, and what is closed when there
// are more; ok is false if they are not kept any more.
func (f *changeFeed) since(n uint64) (list []Change, last uint64, wake <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > f.last {
		return nil, f.last, f.wake, false
	}
	if n+1 < f.first {
		return nil, n, f.wake, false
	}
	at, _ := slices.BinarySearchFunc(f.kept, n+1, func(c Change, n uint64) int {
		switch {
		case c.Event < n:
			return -1
		case c.Event > n:
			return 1
		}
		return 0
	})
	return slices.Clone(f.kept[at:]), f.last, f.wake, true
}

// ErrChangesGone says that changes cannot be told any more: who asks has to look at everything anew.
var ErrChangesGone = errors.New("the events since then are not kept any more")

// LastEvent is the number of the last event that is durable.
func (b *Broker) LastEvent() uint64 { return b.changes.lastEvent() }

// maxEventsPerRead bounds what is read at once of the log for who follows it.
const maxEventsPerRead = 5000

// ChangesSince gives what changed after an event for who asks, up to which event that is all, and a
// channel that is closed when there is more. Of jobs of others it says nothing. ErrChangesGone if
// there is no event of this number, or it is too long ago.
func (b *Broker) ChangesSince(ctx context.Context, n uint64, everybody bool) (list []Change, last uint64,
	wake <-chan struct{}, err error) {
	u, err := b.requestUser(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	if everybody && u.ID != 0 {
		return nil, 0, nil, errOtherUsers
	}
	list, last, wake, ok := b.changes.since(n)
	if !ok {
		if n > b.changes.lastEvent() {
			return nil, 0, nil, ErrChangesGone
		}
		if list, last, err = b.storedChanges(ctx, n); err != nil {
			return nil, 0, nil, err
		}
		more := make(chan struct{}) // there may be: at once
		close(more)
		wake = more
	}
	if b.opt.Users != nil && !everybody {
		list = slices.DeleteFunc(list, func(c Change) bool { return c.user != u.Name })
	}
	return list, last, wake, nil
}

// storedChanges reads them from the log.
func (b *Broker) storedChanges(ctx context.Context, n uint64) ([]Change, uint64, error) {
	events, err := b.opt.Store.ListEvents(ctx, n, maxEventsPerRead)
	if errors.Is(err, store.ErrDropped) {
		return nil, 0, ErrChangesGone
	}
	if err != nil {
		return nil, 0, err
	}
	var ids []core.JobID
	for i := range events {
		if id := events[i].Job; id != 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	users, err := b.opt.Store.UsersOf(ctx, slices.Compact(ids))
	if err != nil {
		return nil, 0, err
	}
	var list []Change
	for i := range events {
		if user, there := users[events[i].Job]; there {
			list = append(list, changeOf(n+1+uint64(i), &events[i], user))
		}
	}
	return list, n + uint64(len(events)), nil
}

// LookAtJobs gives jobs by their numbers among those that who asks may see.
func (b *Broker) LookAtJobs(ctx context.Context, ids []core.JobID) ([]View, error) {
	views, err := b.viewsOf(ctx, ids)
	return slices.DeleteFunc(views, func(v View) bool { return !b.maySee(ctx, &v.Job) }), err
}
