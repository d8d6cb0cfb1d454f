package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// View is a job as it is now.
type View struct {
	store.Job
	Vitals   *wire.Vitals // nil if it does not run, or has not said yet
	VitalsAt core.Time
	Over     bool // its life is over and its results are home
	Pending  int  // it stands for so many jobs of its array that have not been queued yet, itself included
	// Unreturned is why its results are not home though its life is over; "": they
	// are, or on their way.
	Unreturned string
}

// watchInterval is how often a job that somebody looks at tells how it is, unless its
// agent looks more often: then whenever there is something new.
const watchInterval = time.Second

func (b *Broker) watchEvery() time.Duration { return min(watchInterval, b.opt.Sample) }

// GetJob is a job by its number or the beginning of its unique id. Of one that runs
// it gives what its agent says now, if that comes soon.
func (b *Broker) GetJob(ctx context.Context, ref string) (*View, error) {
	j, v, err := b.findJob(ctx, ref)
	if err != nil || j == nil {
		return v, err
	}
	if v.State == core.Running && b.watchAgent(j) {
		timeout, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		for {
			next := j.nextChange()
			if vit, at := j.lastVitals(); vit != nil && at >= v.VitalsAt && b.brokerTime().Sub(at) < watchInterval {
				break
			}
			select {
			case <-next:
				continue
			case <-timeout.Done():
			}
			break
		}
	}
	return b.viewOf(ctx, j)
}

// findJob gives the live job, if it is live, and its view.
func (b *Broker) findJob(ctx context.Context, ref string) (*job, *View, error) {
	var live *job
	ref, err := b.byKey(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil {
		if live, err = b.liveJob(ctx, core.JobID(n)); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case live == nil:
	case live.spec == nil: // it is over; only what it left is being cleared away
		live = nil
	case !b.maySee(ctx, &live.rec):
		return nil, nil, noSuchJob(ref)
	}
	if live == nil {
		rec, err := b.findStored(ctx, ref)
		if errors.Is(err, store.ErrNoJob) {
			if rec, err = b.pendingElement(ctx, ref, err); err == nil {
				ref = strconv.FormatInt(int64(rec.ID), 10)
			}
		}
		if n, e := strconv.ParseInt(ref, 10, 64); e == nil &&
			(errors.Is(err, store.ErrManyJobs) || err == nil && rec.ID != core.JobID(n)) {
			err = store.ErrNoJob // a number is a number, not the beginning of a unique id
		}
		switch {
		case errors.Is(err, store.ErrNoJob):
			return nil, nil, noSuchJob(ref)
		case errors.Is(err, store.ErrManyJobs):
			return nil, nil, &badinput.Error{Problem: "ambiguous job " + ref + ": several unique ids begin like this"}
		case err != nil:
			return nil, nil, err
		}
		if err := b.readLoop(ctx, func(*turn) bool { live = b.jobs[rec.ID]; return true }); err != nil {
			return nil, nil, err
		}
		if live == nil || live.spec == nil {
			return nil, &View{Job: *rec, Over: true}, nil
		}
	}
	v, err := b.viewOf(ctx, live)
	return live, v, err
}

// liveJob is a job that has not been forgotten; nil if there is none. An element of an
// array that has no record gets one.
func (b *Broker) liveJob(ctx context.Context, id core.JobID) (*job, error) {
	var live *job
	isPending := false
	err := b.readLoop(ctx, func(*turn) bool {
		live = b.jobs[id]
		isPending = live == nil && b.pendingArray(id) != nil
		return true
	})
	if err == nil && isPending {
		err = b.askLoop(ctx, func(t *turn) {
			if live = b.jobs[id]; live == nil {
				live = t.elementOf(ctx, id)
			}
		})
	}
	if err != nil {
		return nil, err
	}
	return live, nil
}

// pendingElement finds an element of an array that has no record by its unique id, and
// gives it one.
func (b *Broker) pendingElement(ctx context.Context, ref string, instead error) (*store.Job, error) {
	id, err := b.pendingByUnique(ctx, ref)
	if err != nil || id == 0 {
		return nil, cmp.Or(err, instead)
	}
	if _, err := b.liveJob(ctx, id); err != nil {
		return nil, err
	}
	return b.findStored(ctx, strconv.FormatInt(int64(id), 10))
}

func (b *Broker) viewOf(ctx context.Context, j *job) (*View, error) {
	v := &View{}
	err := b.readLoop(ctx, func(writing *turn) bool {
		v.Job, v.Over, v.Unreturned = b.currentRecord(j), j.over, j.unreturned
		return !writing.isWriting(j.rec.ID)
	})
	v.Vitals, v.VitalsAt = j.lastVitals()
	return v, err
}

// watchAgent has the agent of a job tell how it is for a while. It reports whether
// there is an agent to ask.
func (b *Broker) watchAgent(j *job) bool {
	there := false
	_ = b.readLoop(b.ctx, func(*turn) bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lookedAt = b.opt.Clock()
		there = len(j.links) > 0
		if !j.watching {
			j.watching = true
			j.sendOrder(wire.Order{Kind: wire.Watch, Every: b.watchEvery()})
			b.runUntilStopped(func(ctx context.Context) { b.stopWatching(ctx, j) })
		}
		return true
	})
	return there
}

// stopWatching stops the telling once nobody has looked for a while.
func (b *Broker) stopWatching(ctx context.Context, j *job) {
	const patience = 5 * time.Second
	for clock.SleepContext(ctx, patience) {
		done := false
		if b.askLoop(ctx, func(*turn) {
			j.mu.Lock()
			defer j.mu.Unlock()
			if done = b.opt.Clock.Since(j.lookedAt) > patience; done {
				j.watching = false
				j.sendOrder(wire.Order{Kind: wire.Watch})
			}
		}) != nil || done {
			return
		}
	}
}

// FollowJob calls see with the state of a job whenever it changes, and at least
// every second, with what was decided since, until its life is over.
func (b *Broker) FollowJob(ctx context.Context, ref string, see func(v *View, news []wire.Entry) error) error {
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return err
	}
	if j == nil {
		return see(v, nil)
	}
	told := 0
	for {
		next := j.nextChange()
		if v, err = b.viewOf(ctx, j); err != nil {
			return err
		}
		if v.State == core.Running {
			b.watchAgent(j)
		}
		var news []wire.Entry
		news, told = j.newsSince(told)
		if err := see(v, news); err != nil || v.Over {
			return err
		}
		timer := time.NewTimer(watchInterval)
		select {
		case <-next:
		case <-timer.C:
		case <-ctx.Done():
		case <-b.ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if b.ctx.Err() != nil {
			return ErrStopped
		}
	}
}

// CheckpointJob saves a running job now.
func (b *Broker) CheckpointJob(ctx context.Context, ref string) (*wire.Saved, error) {
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	if j == nil || v.State != core.Running {
		return nil, fmt.Errorf("job %s is %s: only a running job can be checkpointed", ref, v.State)
	}
	answer := make(chan saveResult, 1)
	if err := b.askLoop(ctx, func(t *turn) {
		j.mu.Lock()
		j.saves = append(j.saves, answer)
		j.mu.Unlock()
		j.rec.SaveOrder = t.numberOrder(j)
		order := wire.Order{Kind: wire.Save, Epoch: j.rec.Epoch, Serial: j.rec.SaveOrder}
		t.afterCommit(func() { j.sendOrder(order) })
	}); err != nil {
		return nil, err
	}
	for {
		next := j.nextChange()
		select {
		case r := <-answer:
			if r.err != "" {
				return nil, fmt.Errorf("%s: checkpoint failed: %s", j.shortName(), r.err)
			}
			return r.saved, nil
		case <-next:
			if v, err := b.viewOf(ctx, j); err != nil || v.State.IsTerminal() {
				return nil, errors.Join(err, fmt.Errorf("%s ended before its checkpoint was complete", j.shortName()))
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.ctx.Done():
			return nil, ErrStopped
		}
	}
}

// ExplainJob lists what was decided for a job, oldest first.
func (b *Broker) ExplainJob(ctx context.Context, ref string) (*View, []wire.Entry, error) {
	_, v, err := b.findJob(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	list, err := b.opt.Store.ListEntries(ctx, v.ID)
	if e, ok := b.waitsInQueue(ctx, v); ok && err == nil {
		list = append(list, e)
	}
	return v, list, err
}

// waitsInQueue says, in the words of the cluster's manager, why a job that was
// handed to it does not run.
func (b *Broker) waitsInQueue(ctx context.Context, v *View) (wire.Entry, bool) {
	c := b.clusterNamed(v.Cluster)
	if c == nil || v.State != core.Queued {
		return wire.Entry{}, false
	}
	x, ok := c.Driver.(driver.Explainer)
	if !ok {
		return wire.Entry{}, false
	}
	why, err := x.ExplainWait(ctx, driver.ID{Job: v.ID, Epoch: v.Epoch})
	return wire.Entry{At: b.brokerTime(), Kind: "wait", Choice: "in the queue of " + c.Name, Why: why}, err == nil &&
		why != ""
}

// CopyLogs copies what a job wrote from an offset on, and with follow until its life
// is over. Where the program went back to a checkpoint nothing is repeated.
func (b *Broker) CopyLogs(ctx context.Context, ref string, stream int, offset int64, follow bool,
	to func([]byte) error) error {
	return b.CopyPartLogs(ctx, ref, 0, stream, offset, follow, to)
}

// CopyPartLogs does so with what one of several parts of a job wrote.
func (b *Broker) CopyPartLogs(ctx context.Context, ref string, part, stream int, offset int64, follow bool,
	to func([]byte) error) error {
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return err
	}
	log := b.outputLog(v.ID, part, stream)
	buf := make([]byte, 64<<10)
	for {
		var next <-chan struct{}
		over := true
		if j != nil {
			next = j.nextChange()
			if v, err = b.viewOf(ctx, j); err != nil {
				return err
			}
			over = v.State.IsTerminal()
		}
		for {
			n, from, err := log.ReadAt(buf, offset)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if err := to(buf[:n]); err != nil {
				return err
			}
			offset = from + int64(n)
		}
		if !follow || over {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		case <-b.ctx.Done():
			return ErrStopped
		}
	}
}

// CountLive is how many jobs are not over. It does not wait for room on a disk that
// is full: who asks wants to know whether the broker can do anything.
func (b *Broker) CountLive(ctx context.Context) (int, error) {
	for {
		n := new(int)
		try, cancel := context.WithTimeout(ctx, 2*diskRetryInterval)
		err := b.askLoop(try, func(*turn) {
			*n = int(b.alive.Load())
			for _, j := range b.ending {
				if !j.line.isIdle() {
					*n++
				}
			}
		})
		cancel()
		switch stuck := b.StuckReason(); {
		case err == nil:
			return *n, nil
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return 0, err
		case stuck != nil:
			return 0, stuck
		}
	}
}
