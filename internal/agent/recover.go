package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/report"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// leftoversTimeout is how long it may take until what an earlier agent left is
// gone. Processes that survive SIGKILL for longer wait for a disk.
const leftoversTimeout = time.Minute

// takeOverFrom goes on where an earlier agent died: whatever it had started is
// ended; then what it was about to say is said, or that the attempt is lost.
func (l *life) takeOverFrom(earlier int) error {
	if err := l.folder.markStarted(earlier + 1); err != nil {
		return err
	}
	if err := l.endLeftovers(); err != nil {
		return fmt.Errorf("ending what an earlier agent left: %w", err)
	}
	if err := l.spool.RecoverFiles(); err != nil {
		l.around.log.Error("output of an earlier agent is not found", "error", err)
	}
	l.report = report.OpenFolder(l.around.memory, l.folder.dir, l.attempt.Mark)
	out, _ := l.spool.KeptSpan(1)
	stderr, _ := l.spool.KeptSpan(2)
	l.outbox.BeginStreams(out, stderr, false)
	return l.tellForEarlier()
}

// endLeftovers ends what an earlier agent had started. One look that finds
// nothing is not enough: a process that just executes another program shows no
// environment, and one that was forked during the look may not be in the list.
func (l *life) endLeftovers() error {
	ctx, cancel := context.WithTimeout(l.work, leftoversTimeout)
	defer cancel()
	const looks, pause = 4, 5 * time.Millisecond
	for nothing := 0; nothing < looks; nothing++ {
		if nothing > 0 {
			time.Sleep(pause)
		}
		n, err := l.around.kill(ctx, l.attempt.Mark)
		if err != nil {
			return err
		}
		if n > 0 {
			l.around.log.Info("an earlier agent left processes; they are gone", "processes", n)
			nothing = 0
		}
	}
	return nil
}

// tellForEarlier says what the earlier agent did not come to say.
func (l *life) tellForEarlier() error {
	var said wire.Message
	var was ended
	if err := l.folder.readJSON(exitFile, &said); err == nil {
		said.Carried = wire.Carried{} // it may be long ago
		l.concludeAttempt(said)
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		l.around.log.Error("the end of the program is not known", "error", err)
	}
	switch err := l.folder.readJSON(endedFile, &was); {
	case err == nil:
		l.phase = finishing
		l.bringResult(was.Message)
	case errors.Is(err, fs.ErrNotExist):
		m := wire.Message{Kind: wire.Lost, Why: l.folder.lostReason(), State: lostVitals()}
		if done, of := l.report.ReadSteps(); of > 0 {
			m.State.Done = done / of
		}
		if m.Why == "" {
			m.Why, m.Cause = "the agent beside the program died, and the program with it", jobfile.NodeFail
		}
		l.concludeAttempt(m)
	default:
		return err
	}
	return nil
}

func lostVitals() *wire.Vitals { return &wire.Vitals{Done: -1, Chance: -1} }
