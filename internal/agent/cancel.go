package agent

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// onCancel ends the program for its user: SIGTERM, and SIGKILL after a time of
// grace. What it wrote is brought home as after any other end. An order that comes
// again may shorten the time.
func (l *life) onCancel(grace time.Duration) {
	l.report.SetStop(true)
	m := &wire.Message{Kind: wire.Ended, Code: 128 + int(unix.SIGTERM), Why: "cancelled by the user"}
	switch l.phase {
	case preparing: // its program may be starting at this moment, see programBegan
		l.verdict, l.cancelled, l.cancelGrace = m, true, grace
		l.prepare(errKilled)
	case running:
		l.verdict, l.cancelled = m, true
		l.terminateProgram(grace)
	default: // it has ended; that is the answer
		if l.phase == finishing && !l.cancelled {
			l.cancelled = true
			l.outbox.QueueMessage(wire.Message{Kind: wire.Collecting})
		}
	}
}

// terminateProgram ends the program, with time to end by itself; done tells when it is gone.
func (l *life) terminateProgram(grace time.Duration) {
	l.continueProgram()
	run := l.program.run
	l.runInBackground(func(context.Context) (func(), func()) {
		run.TerminateProgram(grace)
		return nil, nil
	})
}

// endOrdered ends a program that was to end just when it began. It may have written
// something by now, which comes home as after any other end.
func (l *life) endOrdered() {
	switch {
	case l.verdict == nil:
	case l.cancelled:
		l.terminateProgram(l.cancelGrace)
	default:
		l.killProgram()
	}
}
