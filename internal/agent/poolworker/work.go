// Package poolworker is a worker of a pool: it asks the broker for items, runs the user's command
// for each, and reports what came of them. While it runs some it asks for the next, so that it
// never waits for the broker but at its beginning and at its end. It must not know what the
// broker does with a report.
package poolworker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Options is what a worker is made of.
type Options struct {
	Pool int64
	Job  core.JobID
	Mark string // of its attempt
	// Exchange hands in a report and returns the answer.
	Exchange func(ctx context.Context, r *poolwork.Report) (*poolwork.Answer, error)
	// RunItem runs the command for an item. What it returns after ctx has ended does not count.
	RunItem func(ctx context.Context, item []byte) poolwork.Outcome
	Clock   clock.Clock
}

const (
	// reportInterval is how long what was done may wait to be reported.
	reportInterval = 500 * time.Millisecond
	// Pauses before a broker that did not answer is asked again.
	firstPause, longestPause = 20 * time.Millisecond, time.Second
	// leaveTimeout is how long a worker that is told to end tries to report what it has done.
	leaveTimeout = 2 * time.Second
)

type heldItem struct {
	item int
	text []byte
}

// worker is between two goroutines: one runs items, the other talks to the broker.
type worker struct {
	Options
	wake chan struct{} // has something when the one that talks is to look

	mu       sync.Mutex
	more     *sync.Cond // there are items, or there will be none
	queue    []heldItem
	low      int // so many items in the queue are few
	running  int // the item that runs; -1: none
	outcomes []poolwork.Outcome
	bytes    int     // that these wrote
	seconds  float64 // that these took
	isOver   bool
}

// WorkItems works until the broker has nothing more, or ctx ends.
func WorkItems(ctx context.Context, o Options) {
	w := &worker{Options: o, wake: make(chan struct{}, 1), running: -1}
	w.more = sync.NewCond(&w.mu)
	var talk sync.WaitGroup
	talk.Go(func() { w.talkLoop(ctx) })
	w.runLoop(ctx)
	talk.Wait()
}

// runLoop runs one item after the other.
func (w *worker) runLoop(ctx context.Context) {
	for {
		next, ok := w.takeItem()
		if !ok {
			return
		}
		began := w.Clock()
		o := w.RunItem(ctx, next.text)
		took := w.Clock.Since(began)
		if ctx.Err() != nil {
			o = poolwork.Outcome{Item: -1} // it was interrupted
		}
		w.mu.Lock()
		w.running = -1
		if o.Item >= 0 {
			o.Item = next.item
			w.outcomes = append(w.outcomes, o)
			w.bytes += len(o.Out) + len(o.Err)
			w.seconds += took.Seconds()
		}
		isDue := len(w.queue) <= w.low || w.bytes > poolwork.MaxReported/2
		w.mu.Unlock()
		if isDue {
			w.wakeTalk()
		}
	}
}

// takeItem waits for the next item; false: there is none.
func (w *worker) takeItem() (heldItem, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.isOver {
		w.more.Wait()
	}
	if w.isOver {
		return heldItem{}, false
	}
	next := w.queue[0]
	w.queue = w.queue[1:]
	w.running = next.item
	return next, true
}

func (w *worker) wakeTalk() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// talkLoop reports and takes in what comes.
func (w *worker) talkLoop(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		r := w.makeReport(false)
		if r == nil {
			w.untilDue(ctx, reportInterval)
			continue
		}
		a, err := w.Exchange(ctx, r)
		if err != nil {
			w.keepReport(r)
			clock.SleepContext(ctx, pause)
			pause = min(2*pause, longestPause)
			continue
		}
		pause = firstPause
		if w.takeAnswer(a) {
			return
		}
		if a.Wait > 0 && w.isIdle() {
			clock.SleepContext(ctx, time.Duration(a.Wait)*time.Millisecond)
		}
	}
	w.leave(ctx)
}

// untilDue waits until there may be something to report.
func (w *worker) untilDue(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// makeReport is what is to be said now; nil: nothing. What is in it is kept by keepReport if it
// could not be said.
func (w *worker) makeReport(isLeaving bool) *poolwork.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	isIdle := len(w.queue) == 0 && w.running < 0
	if len(w.outcomes) == 0 && !isIdle && !isLeaving {
		return nil
	}
	n, size := 0, 0
	for ; n < len(w.outcomes) && n < poolwork.MaxOutcomes && size < poolwork.MaxReported; n++ {
		size += len(w.outcomes[n].Out) + len(w.outcomes[n].Err)
	}
	r := &poolwork.Report{Pool: w.Pool, Job: w.Job, Mark: w.Mark, Outcomes: slices.Clone(w.outcomes[:n]),
		Leaving: isLeaving}
	if n > 0 {
		r.Seconds = w.seconds * float64(n) / float64(len(w.outcomes))
	}
	w.outcomes, w.bytes, w.seconds = slices.Clone(w.outcomes[n:]), w.bytes-size, w.seconds-r.Seconds
	if !isLeaving {
		r.Holds = poolwork.EncodeRanges(w.heldItems())
	}
	return r
}

// heldItems is what it holds: what waits, what runs, and what is done and not in a report.
func (w *worker) heldItems() []int {
	held := make([]int, 0, len(w.queue)+len(w.outcomes)+1)
	for i := range w.queue {
		held = append(held, w.queue[i].item)
	}
	for i := range w.outcomes {
		held = append(held, w.outcomes[i].Item)
	}
	if w.running >= 0 {
		held = append(held, w.running)
	}
	return held
}

// keepReport takes back what could not be reported.
func (w *worker) keepReport(r *poolwork.Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range r.Outcomes {
		w.bytes += len(r.Outcomes[i].Out) + len(r.Outcomes[i].Err)
	}
	w.outcomes, w.seconds = append(r.Outcomes, w.outcomes...), w.seconds+r.Seconds
}

// takeAnswer takes in what the broker says, and tells whether it is to leave.
func (w *worker) takeAnswer(a *poolwork.Answer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.more.Broadcast()
	drop, err := poolwork.DecodeRanges(a.Drop, poolwork.MaxItems)
	items, err2 := poolwork.DecodeRanges(a.Items, poolwork.MaxItems)
	texts := poolwork.SplitItems(a.Texts)
	if a.Leave || err != nil || err2 != nil || len(texts) != len(items) {
		w.isOver = true
		return true
	}
	if len(drop) > 0 {
		w.queue = slices.DeleteFunc(w.queue, func(h heldItem) bool { return slices.Contains(drop, h.item) })
	}
	for i, item := range items {
		w.queue = append(w.queue, heldItem{item, texts[i]})
	}
	w.low = len(w.queue) / 2
	return false
}

func (w *worker) isIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) == 0 && w.running < 0
}

// leave ends the work, and reports what was done.
func (w *worker) leave(ctx context.Context) {
	w.mu.Lock()
	w.isOver = true
	w.more.Broadcast()
	w.mu.Unlock()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if r := w.makeReport(true); r != nil {
		_, _ = w.Exchange(last, r) // else it is done again
	}
}
