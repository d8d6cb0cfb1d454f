package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/agent/watch"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// startPreparing begins to prepare the program.
func (l *life) startPreparing(plain bool) {
	ctx, cancel := context.WithCancelCause(l.work)
	l.phase, l.prepare = preparing, cancel
	p := &preparation{attempt: l.attempt, folder: l.folder, around: l.around, spool: l.spool, report: l.report,
		depot: l.around.depot(l.attempt.Broker), plain: plain, life: l.work, begin: l.begin, contacts: l.contacts}
	p.tell = func(f func(*life)) {
		did := make(chan struct{})
		select {
		case l.calls <- func() { defer close(did); f(l) }:
			<-did
		case <-l.work.Done():
		}
	}
	l.runInBackground(func(context.Context) (func(), func()) {
		s, err := p.startProgram(ctx)
		if s != nil && p.around.clock.Since(p.came) < time.Minute { // a build may have come after it
			s.carried = p.carried
		}
		return func() { l.programBegan(s, err) }, func() { s.killProgram() }
	})
}

// killProgram ends a program that nobody wants any more. s may be nil.
func (s *started) killProgram() {
	if s == nil {
		return
	}
	s.run.KillProgram()
	<-s.run.Done()
	s.pipes.ClosePipes()
}

// outputBegins is told before the first output of the program, or of what comes before it, from
// these offsets on.
func (l *life) outputBegins(out, err int64, again bool) {
	l.spool.BeginStreams(out, err)
	l.outbox.WithdrawOutput()
	l.outbox.BeginStreams(out, err, again)
	// what the program writes is told after it is told to run
	l.outbox.Held = l.attempt.Spec.Setup+l.attempt.Spec.Build.Command == ""
	if t := l.attempt.Spec.Time; t > 0 && l.limit == nil {
		l.limit = time.NewTimer(max(t-l.attempt.Elapsed, 0))
	}
}

// programBegan is told when the program runs, or will not.
func (l *life) programBegan(s *started, err error) {
	l.prepare(nil)
	if err != nil {
		l.neverRan(err)
		return
	}
	if l.verdict != nil && l.verdict.Kind == wire.Left { // it was to leave just when it began
		s.killProgram()
		l.finishAttempt(*l.verdict)
		return
	}
	l.phase, l.ranOnce = running, true
	l.before = before{s.tree, l.attempt.Work}
	if s.saved != nil {
		l.before.id, l.restored = s.saved.Work, l.sinceBirth()
	}
	l.startHelpers()
	l.takeOver(s)
	v := wire.Vitals{Prepared: l.sinceBirth().Seconds(), Done: -1, Chance: -1, Method: s.choice.Method}
	l.outbox.Held = s.choice.Trial
	l.outbox.QueueMessage(wire.Message{Kind: wire.Running, Method: s.choice.Method, Hosts: parallel.HostsOf(l.attempt),
		Why: s.choice.Why, Saved: s.saved, Carried: s.carried, State: &v})
	if s.saved == nil {
		l.sendNote("method", s.choice.Method, s.choice.Why, nil)
	}
	if s.saved == nil && s.choice.Method == checkpointing.MethodSandbox {
		l.sendNote("sandbox", "runs in the sandbox", sandboxNotice, nil)
	}
	l.endOrdered()
	l.applySuspension()
}

// takeOver makes the program ours, also when it was started again from an image.
func (l *life) takeOver(s *started) {
	l.program, l.done, l.self, l.runFrom = s, s.run.Done(), nil, l.activeTime()
	if s.choice.Method == checkpointing.MethodSandbox {
		if err := l.around.adopt(l.attempt.Mark, s.run.RootPID()); err != nil {
			l.around.log.Warn("the sandbox is not measured", "error", err) // it may have ended already
		}
	}
	if l.watch == nil {
		l.watch, l.trial = l.newWatch(s), l.newTrial(s)
	}
	l.saver = l.newSaver(s)
	if ss, ok := s.run.(checkpoint.SelfSaver); ok {
		l.self = ss.SelfSaved()
	}
	l.startSampling()
	l.watchMemory()
	l.planSave()
}

func (l *life) startSampling() { l.sampler = time.NewTicker(watch.SampleInterval(l.attempt)) }

func (l *life) neverRan(err error) {
	o := new(outcome)
	switch {
	case l.verdict != nil:
		l.finishAttempt(*l.verdict)
	case errors.As(err, &o):
		l.finishAttempt(o.message)
	default:
		l.finishAttempt(wire.Message{Kind: wire.Lost, Why: err.Error()})
	}
}

// onDone is told when no process of the program is left.
func (l *life) onDone() {
	r := l.program.run.Result()
	l.done, l.self = nil, nil
	if r.Saved {
		return // who saves it tells when that is safe
	}
	l.program.pipes.FinishReading()
	failed, without := l.mayBlameSandbox(r), false
	if c, ok := l.confinedProgram(); ok && !l.retry {
		without = l.onDenied(c.DeniedCalls(), r.Code != 0)
	}
	l.forgetProgram()
	l.watch.AddEnd(r.CPU)
	if l.save != nil {
		l.save.cancel(errKilled)
	}
	switch {
	case l.retry && l.verdict == nil && l.stopping == nil:
		l.restartUnsandboxed()
	case l.retry && l.verdict == nil: // we ended it, and now it is to leave
		l.finishAttempt(wire.Message{Kind: wire.Left, Why: l.stopping.why})
	case without:
		l.restartUnsandboxed()
	case failed:
		l.boxFailed = true
		l.sendNote("method", checkpointing.MethodRestart, "it failed in the sandbox ("+endingText(r)+
			"), which may lack what it needs, as a network; it is started again without", nil)
		l.restartUnsandboxed()
	case l.verdict != nil:
		l.finishAttempt(*l.verdict)
	case l.killedForMemory(r):
		l.finishAttempt(l.outOfMemory(r))
	case r.Lost:
		l.finishAttempt(wire.Message{Kind: wire.Lost, Why: r.Why})
	case l.endedByShutdown(r):
		l.finishAttempt(wire.Message{Kind: wire.Left, Why: "whoever ends this agent has ended the program: " + endingText(r)})
	default:
		l.finishAttempt(l.programEnding(r))
	}
}

// forgetProgram forgets the program: it has ended, its pipes are closed.
func (l *life) forgetProgram() {
	l.takeSample() // what it used at last
	l.ranFor = l.timeRun()
	stopTicker(&l.sampler)
	stopTicker(&l.memory)
	stopTicker(&l.sizes.look)
	stopTimer(&l.dueSave)
	l.program, l.done, l.self = nil, nil, nil
	if l.suspension.still { // it was ended by somebody else
		l.continueProgram()
	}
}

// timeRun is how long programs of this attempt have run, without what came before and
// comes after them.
func (l *life) timeRun() time.Duration {
	if l.program == nil {
		return l.ranFor
	}
	return l.ranFor + l.activeTime() - l.runFrom
}

func stopTicker(t **time.Ticker) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}

func stopTimer(t **time.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}

// endingText says it in words; "" for a program that ended well.
func endingText(r checkpoint.Result) string {
	switch {
	case r.Why != "":
		return r.Why
	case r.Signal != 0:
		return fmt.Sprintf("ended by signal %d (%s)", r.Signal, unix.SignalName(unix.Signal(r.Signal)))
	case r.Code != 0:
		return fmt.Sprintf("ended with exit code %d", r.Code)
	}
	return ""
}
