package native

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"golang.org/x/sys/unix"
)

// errEnded is what SaveImage says of a program that has ended.
var errEnded = errors.New("the program has ended")

// SaveImage has the program save itself and takes what it wrote.
func (r *run) SaveImage(ctx context.Context, dir string, stop bool, frozen func() error) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if r.hasEnded() {
		return errEnded
	}
	if r.kind == byRestart {
		return checkpoint.ErrNothingToSave
	}
	if err := errors.Join(ctx.Err(), mustBeEmpty(dir)); err != nil {
		return err
	}
	st, err := r.requestSave(ctx)
	if err != nil {
		return err
	}
	err = frozen()
	switch {
	case err != nil:
	case r.kind == bySRS:
		err = r.takeParts(dir)
	default:
		err = r.files.copyImage(dir, string(r.kind), r.knownHabit())
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
		r.endProcesses(-1)
	default:
		if r.kind == bySRS {
			r.letGoOn()
		}
		r.tree.ContinueAll()
		r.onProbation()
	}
	if stop {
		<-r.done
	}
	return err
}

// knownHabit is the habit of the program as far as it is known.
func (r *run) knownHabit() habit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.habit
}

func (r *run) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// requestSave has the program save itself and returns when it stands still: it has
// ended (then there is a standing), or it runs on and was stopped (then there
// is none).
func (r *run) requestSave(ctx context.Context) (*standing, error) {
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
	if r.kind == bySRS {
		return r.awaitParts(ctx, waiting)
	}
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
	case err != nil && sent && r.kind == bySignal && !r.hasEnded():
		go r.awaitLateAnswer(w) // it may still answer
		return nil, err
	case err == nil && st == nil: // it was stopped; it may be about to end
	default:
		r.recordHabit(w, r.knownHabit())
	}
	w.closeWatch()
	return st, err
}

// recordHabit notes that what the program does from now on has nothing to do with
// the signal.
func (r *run) recordHabit(w *watch, h habit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == w && !r.hasEnded() {
		r.asked, r.habit = nil, h
	}
}

// onProbation waits to see whether a program that has written its files and
// was let go on does go on.
func (r *run) onProbation() {
	_, long := r.patienceFor()
	r.mu.Lock()
	w := r.asked
	r.mu.Unlock()
	if w == nil {
		return
	}
	if long == 0 {
		r.recordHabit(w, goesOn)
		return
	}
	go func() {
		timer := time.NewTimer(long)
		defer timer.Stop()
		select {
		case <-r.done:
		case <-timer.C:
			r.recordHabit(w, goesOn)
		}
	}()
}

const (
	// settleTime is how long a program must have run before it is signalled:
	// some handle signals from their start but do not listen yet.
	settleTime = 300 * time.Millisecond
	// askInterval is after how long a program that has done nothing is signalled
	// again; after that it takes four times as long each time.
	askInterval = 10 * time.Second
)

// askBySignal sends the signal and waits for what follows.
func (r *run) askBySignal(ctx context.Context, waiting <-chan *standing,
	w *watch) (st *standing, sent bool, err error) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	next, every := r.reachesAge(settleTime), askInterval
	for {
		select {
		case st := <-waiting:
			return st, sent, nil
		case <-r.done:
			return nil, sent, errEnded
		case <-ctx.Done():
			if !sent {
				return nil, false, fmt.Errorf("no process of the program handles the signal %s: %w", unix.SignalName(r.signal),
					ctx.Err())
			}
			return nil, true, fmt.Errorf("the program has got the signal %s but has not saved itself: %w",
				unix.SignalName(r.signal), ctx.Err())
		case events := <-w.events:
			w.noteEvents(events)
		case <-tick.C:
		}
		if now := r.options.Clock(); !now.Before(next) && (!sent || w.isUntouched()) {
			n, err := r.tree.SignalHandlers(r.signal)
			if err != nil {
				return nil, sent, fmt.Errorf("signalling the program: %w", err)
			}
			if n > 0 {
				sent, next, every = true, now.Add(every), 4*every
			}
		}
		patience, _ := r.patienceFor()
		if !sent || r.kind != bySignal || !w.isComplete(r.tree.LivePids(), patience) {
			continue
		}
		halted, err := r.haltProgram(ctx, w)
		if err != nil || halted {
			return nil, sent, err
		}
	}
}

// reachesAge is when the present process has run for so long.
func (r *run) reachesAge(d time.Duration) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began.Add(d)
}

// haltProgram stops a program that has written its files and runs on. It is not halted
// if it has ended meanwhile, or is writing again.
func (r *run) haltProgram(ctx context.Context, w *watch) (bool, error) {
	if err := r.tree.StopAll(ctx); err != nil {
		return false, err
	}
	if w.isComplete(r.tree.LivePids(), 0) {
		return true, nil
	}
	r.tree.ContinueAll()
	return false, nil
}

// awaitLateAnswer waits for the answer of a program after nobody waits for it any
// more: if it then ends it has saved itself, and is to go on; if it goes on
// already, its end will be another matter.
func (r *run) awaitLateAnswer(w *watch) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	defer w.closeWatch()
	for {
		select {
		case <-r.done:
			return
		case events := <-w.events:
			w.noteEvents(events)
		case <-tick.C:
		}
		r.mu.Lock()
		over := r.asked != w
		r.mu.Unlock()
		_, long := r.patienceFor()
		if over {
			return
		}
		if w.isComplete(r.tree.LivePids(), long) {
			r.recordHabit(w, goesOn)
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

// SkipSave lets it go on.
func (r selfSaver) SkipSave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st := r.still; st != nil && !st.taken {
		st.taken = true
		st.goesOn <- true
	}
}
