package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/hosthelper"
	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/agent/save"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// periodicSaveTimeout is how long a save that nobody waits for may take.
const periodicSaveTimeout = 10 * time.Minute

// saveOrder is a save that is going on.
type saveOrder struct {
	stop   bool // and leave
	asked  bool // somebody ordered it
	self   bool // the program has saved itself, and nobody asked it to
	cancel context.CancelCauseFunc
}

// errStopFirst ends a save because the program is to be stopped, which saves it.
var errStopFirst = errors.New("the program is being stopped")

// saveOnOrder saves because the broker says so.
func (l *life) saveOnOrder() {
	switch {
	case l.phase == preparing:
		l.notSaved(errors.New("the program does not run yet"))
	case l.suspension.still:
		l.notSaved(errors.New("the program is suspended"))
	case l.phase != running || l.stopping != nil: // its end, or its leaving, is the answer
	case l.save != nil:
		l.wanted = true
	default:
		l.beginSave(saveOrder{asked: true}, periodicSaveTimeout)
	}
}

// onSaveDue saves because it is time.
func (l *life) onSaveDue() {
	stopTimer(&l.dueSave)
	switch {
	case l.phase != running || l.save != nil || l.stopping != nil:
	case l.session == nil || !l.saving.IsWorthIt(l.watch.TimeLeft()):
		// Without the broker there is nowhere to bring it, and a program that
		// is about to end need not be saved. Later it may be otherwise.
		l.dueSave = time.NewTimer(checkpointing.MinSaveInterval / 4)
	default:
		l.beginSave(saveOrder{}, periodicSaveTimeout)
	}
}

// onSelfSaved takes what the program has saved by itself.
func (l *life) onSelfSaved() {
	self, ok := l.program.run.(checkpoint.SelfSaver)
	if !ok {
		return
	}
	if l.save != nil || l.session == nil || l.stopping != nil || l.tooSoon() {
		self.SkipSave()
		return
	}
	l.beginSave(saveOrder{self: true}, periodicSaveTimeout)
}

// tooSoon says whether the last save was made so recently that a program which
// saves itself very often would be slowed down by taking all of them.
func (l *life) tooSoon() bool {
	wait, ok := l.saving.NextSave()
	return !ok || l.saver.Last > 0 && l.sinceBirth()-l.saver.Last < min(wait, checkpointing.MinSaveInterval)
}

// planSave sets the timer for the next save.
func (l *life) planSave() {
	stopTimer(&l.dueSave)
	if l.self != nil && l.attempt.Spec.Checkpoint.Signal == "" || l.program.choice.Method == checkpointing.MethodRestart {
		return // it saves itself when it likes, or cannot be saved
	}
	if wait, ok := l.saving.NextSave(); ok {
		l.dueSave = time.NewTimer(wait)
	}
}

// saveAndStop saves the program and stops it, as l.stopping says.
func (l *life) saveAndStop() {
	if l.save != nil {
		l.save.cancel(errStopFirst) // what it has brought to the depot already stays there
		return
	}
	l.beginSave(saveOrder{stop: true}, l.stopping.within)
}

func (l *life) beginSave(o saveOrder, within time.Duration) {
	stopTimer(&l.dueSave)
	l.saves++
	n, s, at, slow := l.saves, l.saver, l.brokerTime(), l.watch.MeanPulse()
	if !o.self && !l.isSandboxed() {
		l.report.SetCheckpoint(n)
	}
	s.Size = l.imageSize()
	l.save = &o
	timed, release := context.WithTimeout(l.work, within)
	ctx, cancel := context.WithCancelCause(timed)
	o.cancel = cancel
	l.runInBackground(func(context.Context) (func(), func()) {
		defer release()
		saved, err := s.SaveCheckpoint(ctx, n, o.stop)
		if err != nil && ctx.Err() != nil && !errors.Is(err, checkpoint.ErrNothingToSave) {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		if saved != nil {
			saved.At, saved.Slow = at, slow
		}
		return func() {
			l.save = nil
			if l.saver == s { // else it was another program's
				l.onSaved(o, saved, err)
			}
			l.applySuspension()
		}, nil
	})
}

// onSaved is told when a save is over.
func (l *life) onSaved(o saveOrder, saved *wire.Saved, err error) {
	if l.phase != running {
		return // it ended by itself meanwhile
	}
	switch {
	case o.stop:
		l.onLeft(saved, err)
		return
	case err == nil:
		l.saving.Frozen, l.saving.Took, l.saving.Failed = max(saved.Frozen, time.Millisecond), saved.Took, 0
		l.outbox.SayBehind(wire.Message{Kind: wire.Checkpoint, Saved: saved}, saved.Out, saved.Err)
	case errors.Is(err, errStopFirst):
	default:
		l.saving.Failed++
		l.notSaved(err)
	}
	l.saver.Last = l.sinceBirth()
	switch {
	case l.stopping != nil:
		l.saveAndStop()
	case l.wanted:
		l.wanted = false
		l.beginSave(saveOrder{asked: true}, periodicSaveTimeout)
	default:
		l.planSave()
	}
}

func (l *life) notSaved(err error) {
	l.outbox.QueueMessage(wire.Message{Kind: wire.NotSaved, Why: err.Error()})
}

// onLeft is told when the program was to be saved and stopped.
func (l *life) onLeft(saved *wire.Saved, err error) {
	stop := *l.stopping
	switch {
	case err == nil:
		l.program.pipes.ClosePipes() // all that counts was read when it was frozen
		l.forgetProgram()
		l.finishAttempt(wire.Message{Kind: wire.Left, Why: stop.why, Saved: saved})
	case errors.Is(err, checkpoint.ErrNothingToSave):
		l.verdict = &wire.Message{Kind: wire.Left, Why: stop.why}
		l.killProgram()
	case l.saver.WasSaved():
		l.continueFromImage(err)
	case l.saver.HasEnded(): // by itself; that is the answer
	default:
		l.staysOn(err)
	}
}

// staysOn says that the program runs on although it was to leave.
func (l *life) staysOn(err error) {
	l.stopping = nil
	l.report.SetStop(l.verdict != nil)
	l.outbox.QueueMessage(wire.Message{Kind: wire.StaysOn, Why: err.Error()})
	l.planSave()
}

// continueFromImage starts a program that was saved and stopped again from its image, here,
// because the image could not be brought away.
func (l *life) continueFromImage(why error) {
	old, image := l.program, l.saver.Image
	old.pipes.ClosePipes()
	l.forgetProgram()
	l.phase = preparing
	ctx, cancel := context.WithCancelCause(l.work)
	l.prepare = cancel
	p := &preparation{attempt: l.attempt, folder: l.folder, around: l.around, report: l.report,
		life: l.work}
	l.runInBackground(func(context.Context) (func(), func()) {
		s := *old
		pipes, err := output.OpenPipes(l.spool)
		if err == nil {
			s.pipes, s.program = pipes, p.buildProgram(pipes, s.choice.Method)
			err = p.launchProgram(ctx, &s, image)
		}
		return func() { l.continuedFromImage(&s, why, err) }, func() {
			if err == nil {
				s.killProgram()
			}
		}
	})
}

func (l *life) continuedFromImage(s *started, why, err error) {
	l.prepare(nil)
	switch {
	case err != nil:
		l.neverRan(fmt.Errorf("it was saved, but the image could not be brought away (%w) nor continued here: %w", why, err))
		return
	case l.verdict != nil && l.verdict.Kind == wire.Left:
		s.killProgram()
		l.finishAttempt(*l.verdict)
		return
	}
	l.phase = running
	l.takeOver(s)
	l.endOrdered()
	l.staysOn(fmt.Errorf("it was saved, but the image could not be brought away: %w", why))
}

func (l *life) newSaver(s *started) *save.Saver {
	v := &save.Saver{Run: s.run, Pipes: s.pipes, Spool: l.spool, Scratch: l.folder.scratchDir(),
		Work: l.folder.workDir(), Depot: l.around.depot(l.attempt.Broker), Method: s.choice.Method, Epoch: l.attempt.Epoch,
		Clock: l.around.clock, FreeSpace: l.around.free, RetryAway: l.around.retryAway}
	if s.choice.Method == checkpointing.MethodSandbox {
		v.Reported = l.report.ReadReport
	} else {
		v.Exported = s.exported
	}
	w, mark, helpers := l.watch, l.attempt.Mark, l.helpers
	v.Used = func() (float64, int64) { return w.UsedWith(hosthelper.SumOf(l.around.usage(mark), helpers.Usage())) }
	v.Spent = w.WallTimes
	return v
}

// isSandboxed says whether the program is in a sandbox. It need not do anything to be saved, and is not told: what it
// would do about it would be lost or, if it ended, taken for its end.
func (l *life) isSandboxed() bool {
	return l.program != nil && l.program.choice.Method == checkpointing.MethodSandbox
}

// imageSize is about how large an image of the program is; 0 if it is hardly
// anything.
func (l *life) imageSize() int64 {
	if !l.isSandboxed() {
		return 0
	}
	return l.watch.LastUsage().Memory
}
