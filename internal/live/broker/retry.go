package broker

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// attemptLost: the attempt ended through no fault of the program. Whether it gets another one
// the engine decides.
func (t *turn) attemptLost(j *job, part int, m *wire.Message) {
	damaged := m.Cause == wire.WorkDamaged
	why := m.Why
	switch {
	case damaged:
		why += "; every further attempt would end the same way"
	case m.Cause != "":
		why += " (" + m.Cause + ")"
	}
	t.explainJob(j, "lost", "attempt lost", why, map[string]any{"cause": m.Cause})
	t.releaseEnded(j, j.rec.Epoch, part)
	t.stepEngine(&core.Input{Kind: core.Crashed, Job: j.rec.ID, Epoch: j.rec.Epoch, Cause: m.Cause, Final: damaged})
	switch {
	case !j.rec.State.IsTerminal():
	case damaged && j.rec.State == core.Failed:
		j.rec.Reason = m.Why
	default:
		j.rec.Reason += "; the last time: " + m.Why
	}
}

// retryText says which of the attempts that its user allows the next one is, and from
// where it goes on.
func (j *job) retryText(losses int) string {
	from := "the beginning"
	if len(j.saved) > 0 {
		from = fmt.Sprintf("checkpoint %d", j.saved[0].N)
	}
	return fmt.Sprintf("retry %d of %d, from %s", losses, j.spec.Retries, from)
}

// wasPreempted says whether an attempt that left was lost all the same: whoever ended
// it was not us, and either it could not save what it had done, or its user does
// not want it to go on after that.
func (t *turn) wasPreempted(j *job, m *wire.Message) bool {
	w, live := t.b.eng.FindJob(j.rec.ID)
	if !live || w.State == core.Stopping || m.Cause == "" {
		return false
	}
	return m.Saved == nil || !w.Spec.RetriedAfter(m.Cause)
}
