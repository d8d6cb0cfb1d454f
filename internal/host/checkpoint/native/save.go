package native

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"golang.org/x/sys/unix"
)

// errEnded is what Save says of a program that has ended.
var errEnded = errors.New("the program has ended")

// Save has the program save itself and takes what it wrote.
func (r *run) Save(ctx context.Context, dir string, stop bool, frozen func() error) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if r.ended() {
		return errEnded
	}
	if r.kind == byRestart {
		return checkpoint.ErrNothingToSave
	}
	if err := errors.Join(ctx.Err(), mustBeEmpty(dir)); err != nil {
		return err
	}
	st, err := r.ask(ctx)
	if err != nil {
		return err
	}
	err = frozen()
	if err == nil {
		err = r.files.take(dir, string(r.kind), r.known())
	}
	if err == nil {
		err = ctx.Err()
	}
	r.mu.Lock()
	if r.killed && err == nil {
		err = errEnded // it may not have stood still
	}
	stop = stop && err == nil
	r.saved = stop
	r.mu.Unlock()
	switch {
	case st != nil:
		st.goesOn <- !stop
		<-st.resumed
	case stop:
		r.end(-1)
	default:
		r.tree.Continue()
		r.onProbation()
	}
	if stop {
		<-r.done
	}
	return err
}

// known is the habit of the program as far as it is known.
func (r *run) known() habit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.habit
}

func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// ask has the program save itself and returns when it stands still: it has
// ended (then there is a standing), or it runs on and was stopped (then there
// is none).
func (r *run) ask(ctx context.Context) (*standing, error) {
	r.mu.Lock()
	if st := r.still; st != nil && !st.taken {
		st.taken = true
		r.mu.Unlock()
		return st, nil
	}
	waiting := make(chan *standing, 1)
	r.waiting = waiting
	r.mu.Unlock()
	st, err := r.awaitSaved(ctx, waiting)
	if st != nil {
		return st, nil
	}
	r.mu.Lock()
	r.waiting = nil
	r.mu.Unlock()
	select {
	case st = <-waiting: // just now
		if err == nil {
			return st, nil
		}
		st.goesOn <- true
		<-st.resumed
	default:
	}
	return nil, err
}

// awaitSaved asks and waits.
func (r *run) awaitSaved(ctx context.Context, waiting <-chan *standing) (*standing, error) {
	if r.signal == 0 {
		select {
		case st := <-waiting:
			return st, nil
		case <-r.done:
			return nil, errEnded
		case <-ctx.Done():
			return nil, fmt.Errorf("the program has not saved itself: %w", ctx.Err())
		}
	}
	w := newWatch(r.files, r.options.Clock)
	r.mu.Lock()
	r.asked = w
	r.mu.Unlock()
	st, sent, err := r.askBySignal(ctx, waiting, w)
	switch {
	case err != nil && sent && r.kind == bySignal && !r.ended():
		go r.outlast(w) // it may still answer
		return nil, err
	case err == nil && st == nil: // it was stopped; it may be about to end
	default:
		r.answered(w, r.known())
	}
	w.close()
	return st, err
}

// answered notes that what the program does from now on has nothing to do with
// the signal.
func (r *run) answered(w *watch, h habit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == w && !r.ended() {
		r.asked, r.habit = nil, h
	}
}

// onProbation waits to see whether a program that has written its files and
// was let go on does go on.
func (r *run) onProbation() {
	_, long := r.patience()
	r.mu.Lock()
	w := r.asked
	r.mu.Unlock()
	if w == nil {
		return
	}
	if long == 0 {
		r.answered(w, goesOn)
		return
	}
	go func() {
		timer := time.NewTimer(long)
		defer timer.Stop()
		select {
		case <-r.done:
		case <-timer.C:
			r.answered(w, goesOn)
		}
	}()
}

const (
	// settleFor is how long a program must have run before it is signalled:
	// some handle signals from their start but do not listen yet.
	settleFor = 300 * time.Millisecond
	// askAgain is after how long a program that has done nothing is signalled
	// again; after that it takes four times as long each time.
	askAgain = 10 * time.Second
)

// askBySignal sends the signal and waits for what follows.
func (r *run) askBySignal(ctx context.Context, waiting <-chan *standing, w *watch) (st *standing, sent bool, err error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	next, every := r.age(settleFor), askAgain
	for {
		select {
		case st := <-waiting:
			return st, sent, nil
		case <-r.done:
			return nil, sent, errEnded
		case <-ctx.Done():
			if !sent {
				return nil, false, fmt.Errorf("no process of the program handles the signal %s: %w", unix.SignalName(r.signal), ctx.Err())
			}
			return nil, true, fmt.Errorf("the program has got the signal %s but has not saved itself: %w", unix.SignalName(r.signal), ctx.Err())
		case events := <-w.events:
			w.note(events)
		case <-tick.C:
		}
		if now := r.options.Clock(); !now.Before(next) && (!sent || w.untouched()) {
			n, err := r.tree.SignalHandlers(r.signal)
			if err != nil {
				return nil, sent, fmt.Errorf("signalling the program: %w", err)
			}
			if n > 0 {
				sent, next, every = true, now.Add(every), 4*every
			}
		}
		patience, _ := r.patience()
		if !sent || r.kind != bySignal || !w.complete(r.tree.Pids(), patience) {
			continue
		}
		halted, err := r.halt(ctx, w)
		if err != nil || halted {
			return nil, sent, err
		}
	}
}

// age is when the present process has run for so long.
func (r *run) age(d time.Duration) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began.Add(d)
}

// halt stops a program that has written its files and runs on. It is not halted
// if it has ended meanwhile, or is writing again.
func (r *run) halt(ctx context.Context, w *watch) (bool, error) {
	if err := r.tree.Stop(ctx); err != nil {
		return false, err
	}
	if w.complete(r.tree.Pids(), 0) {
		return true, nil
	}
	r.tree.Continue()
	return false, nil
}

// outlast waits for the answer of a program after nobody waits for it any
// more: if it then ends it has saved itself, and is to go on; if it goes on
// already, its end will be another matter.
func (r *run) outlast(w *watch) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	defer w.close()
	for {
		select {
		case <-r.done:
			return
		case events := <-w.events:
			w.note(events)
		case <-tick.C:
		}
		r.mu.Lock()
		over := r.asked != w
		r.mu.Unlock()
		_, long := r.patience()
		if over {
			return
		}
		if w.complete(r.tree.Pids(), long) {
			r.answered(w, goesOn)
			return
		}
	}
}

// selfSaver is a run whose program saves itself when it likes.
type selfSaver struct{ *run }

var _ checkpoint.SelfSaver = selfSaver{}

// SelfSaved tells each time the program has saved itself and waits.
func (r selfSaver) SelfSaved() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.self == nil {
		r.self = make(chan struct{}, 1)
	}
	return r.self
}

// Skip lets it go on.
func (r selfSaver) Skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st := r.still; st != nil && !st.taken {
		st.taken = true
		st.goesOn <- true
	}
}
