package broker

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// loopRead is a question that changes nothing that is stored. It is put between two turns, or while the changes
// of one are being written, which the question is given then: nobody may see them yet. If it
// needs them it returns false, and is put again when they are durable.
type loopRead func(writing *turn) (answered bool)

// readLoop puts a question to the loop and waits for the answer. A disk that is slow, or full,
// keeps it from nothing but what is just being written. After an error the question may still be
// put: what it sets must not be looked at then.
func (b *Broker) readLoop(ctx context.Context, f loopRead) error {
	done := make(chan struct{})
	ask := func(writing *turn) bool {
		answered := f(writing)
		if answered {
			close(done)
		}
		return answered
	}
	select {
	case b.reads <- ask:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.ctx.Done():
		return ErrStopped
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-b.ctx.Done():
		return ErrStopped
	}
}

// writeAndAnswer makes the changes of a turn durable, and answers questions meanwhile.
func (t *turn) writeAndAnswer(ctx context.Context) error {
	written := make(chan error, 1)
	go func() { written <- t.b.storeBatch(ctx, &t.batch) }()
	for {
		select {
		case err := <-written:
			return err
		case read := <-t.b.reads:
			if !read(t) {
				t.afterCommit(func() { read(nil) })
			}
		}
	}
}

// isWriting reports whether a change of a job is being written. No turn writes nothing.
func (t *turn) isWriting(id core.JobID) bool { return t != nil && t.touched[id] != nil }

// isWritingArray reports whether a change of an array is being written for which is holds.
func (t *turn) isWritingArray(is func(*array) bool) bool {
	if t == nil {
		return false
	}
	for _, a := range t.arrays {
		if is(a) {
			return true
		}
	}
	return false
}

// durableViews gives jobs as they are and, where a change is being written, the numbers of those
// that have to be read from the store.
func (b *Broker) durableViews(jobs []liveJob, writing *turn) (views []View, stored []core.JobID) {
	for _, j := range jobs {
		switch {
		case !writing.isWriting(j.id):
			views = append(views, b.currentView(j.job))
		case j.job.kept: // else it is new, and nobody has been told of it
			stored = append(stored, j.id)
		}
	}
	return views, stored
}

// storedViews reads live jobs from the store.
func (b *Broker) storedViews(ctx context.Context, ids []core.JobID) ([]View, error) {
	var views []View
	for _, id := range ids {
		recs, err := b.opt.Store.ListJobs(ctx, store.Filter{From: id, Below: id + 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		for i := range recs {
			views = append(views, View{Job: recs[i]})
		}
	}
	return views, nil
}
