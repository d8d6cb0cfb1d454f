package agent

import (
	"context"
	"errors"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// suspension is that the user of a job has its program stopped. It keeps its processors and its memory; its wall time
// and its deadline alarm do not run on meanwhile.
type suspension struct {
	wanted bool
	still  bool          // the program is stopped
	since  time.Duration // on life's clock
	past   time.Duration // all that are over
	limit  time.Duration // what is left of the job's wall time limit
	told   string        // why it could not go on yet
}

// suspendTimeout is how long it may take until all processes of a program stand still.
const suspendTimeout = 10 * time.Second

// activeTime is the time since this agent began without that in which the program was stopped.
func (l *life) activeTime() time.Duration {
	now := l.sinceBirth()
	if l.suspension.still {
		now = l.suspension.since
	}
	return now - l.suspension.past
}

// onSuspend stops the program, or lets it go on.
func (l *life) onSuspend(wanted bool) {
	if l.suspension.wanted = wanted; wanted && l.suspension.still {
		l.outbox.QueueMessage(wire.Message{Kind: wire.Suspended}) // it was told before, to another broker
	}
	l.applySuspension()
}

// applySuspension does what was last wanted, as soon as it can be done: not while the program is prepared or saved.
func (l *life) applySuspension() {
	s := &l.suspension
	switch {
	case !s.wanted:
		l.continueProgram()
	case s.still || l.phase != running || l.program == nil || l.save != nil || l.stopping != nil || l.verdict != nil:
	default:
		l.suspendProgram()
	}
}

func (l *life) suspendProgram() {
	s := &l.suspension
	run, ok := l.program.run.(checkpoint.Suspender)
	err := errors.New("its checkpoint method cannot do that")
	if len(l.attempt.Hosts) > 1 {
		ok, err = false, errors.New("it runs on several hosts")
	}
	if ok {
		ctx, cancel := context.WithTimeout(l.work, suspendTimeout)
		err = run.SuspendProgram(ctx)
		cancel()
	}
	if err != nil {
		s.wanted = false
		l.outbox.QueueMessage(wire.Message{Kind: wire.Suspended, Why: err.Error()})
		return
	}
	l.takeSample()
	s.since = l.sinceBirth()
	s.still = true
	stopTicker(&l.sampler)
	stopTimer(&l.dueSave)
	if s.limit = 0; l.limit != nil {
		s.limit = max(l.attempt.Spec.Time-l.attempt.Elapsed-l.timeRun(), time.Nanosecond)
		stopTimer(&l.limit)
	}
	l.outbox.QueueMessage(wire.Message{Kind: wire.Suspended})
}

// continueProgram lets a program go on that is stopped: its user wants that, or it is to be saved or ended.
func (l *life) continueProgram() {
	s := &l.suspension
	if !s.still {
		return
	}
	if l.program == nil {
		s.past += l.sinceBirth() - s.since
		s.still = false
		return
	}
	if run, ok := l.program.run.(checkpoint.Suspender); ok {
		if err := run.ContinueProgram(); err != nil {
			l.continueLater(err)
			return
		}
	}
	s.past += l.sinceBirth() - s.since
	s.still, s.told = false, ""
	l.startSampling()
	if s.limit > 0 {
		l.limit = time.NewTimer(s.limit)
	}
	l.planSave()
}

// continueInterval is how often a program is tried to be continued that cannot go on yet.
const continueInterval = 5 * time.Second

// continueLater tries again to let the program go on: what it needs, such as its GPU, is still somebody else's.
func (l *life) continueLater(why error) {
	select {
	case <-l.program.run.Done():
		return
	default:
	}
	if s := &l.suspension; s.told != why.Error() {
		s.told = why.Error()
		l.sendNote("suspended", "the program cannot go on yet", s.told, nil)
	}
	time.AfterFunc(continueInterval, func() { l.callOwner(l.work, l.applySuspension) })
}

// onInform takes another deadline.
func (l *life) onInform(o *wire.Order) {
	if l.attempt.Deadline == o.By {
		return
	}
	if l.attempt.Deadline = o.By; l.watch == nil || l.phase != running {
		return
	}
	l.watch.ResetDeadline()
	l.watch.JudgeChance(l.timeLeft())
	l.askIfInDanger()
}
