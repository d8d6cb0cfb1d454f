package broker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// lost: the attempt ended through no fault of the program. It gets another one if
// its user wants that after such a loss and it was not tried too often.
func (t *turn) lost(j *job, m *wire.Message) {
	damaged := m.Cause == wire.WorkDamaged
	final := damaged || !j.spec.RetriedAfter(m.Cause)
	why := m.Why
	if m.Cause != "" && !damaged {
		why += " (" + m.Cause + ")"
	}
	losses := t.losses(j)
	switch {
	case t.isCancelled(j):
	case damaged:
		why += "; it is not started again: every further attempt would end the same way"
	case final:
		why += fmt.Sprintf("; it is not started again: retry.on is %s", strings.Join(j.spec.RetryOn, ", "))
	case losses >= j.spec.Retries:
		why += "; " + usedUp(losses)
	default:
		why += "; " + t.which(j, losses)
	}
	t.explain(j, "lost", "attempt lost", why, map[string]any{"cause": m.Cause})
	t.tidy(j, j.rec.Epoch)
	t.step(&core.Input{Kind: core.Crashed, Job: j.rec.ID, Epoch: j.rec.Epoch, Mandatory: final})
	switch {
	case !j.rec.State.Terminal():
	case damaged && j.rec.State == core.Failed:
		j.rec.Reason = m.Why
	default:
		j.rec.Reason += "; the last time: " + m.Why
	}
}

// again starts a program that failed again, from its last checkpoint if it has
// one. It reports false if its user does not want that, or not as often.
func (t *turn) again(j *job, m *wire.Message) bool {
	if m.Code == 0 || !slices.Contains(j.spec.RetryOn, jobfile.RetryFailed) || t.isCancelled(j) {
		return false
	}
	losses := t.losses(j)
	if losses >= j.spec.Retries {
		t.explain(j, "end", "not requeued", m.Why+"; "+usedUp(losses), nil)
		return false
	}
	t.explain(j, "lost", "requeued", m.Why+"; "+t.which(j, losses), map[string]any{"cause": jobfile.RetryFailed})
	t.tidy(j, j.rec.Epoch)
	t.step(&core.Input{Kind: core.Crashed, Job: j.rec.ID, Epoch: j.rec.Epoch})
	return true
}

// isCancelled says whether the user of a job has cancelled it.
func (t *turn) isCancelled(j *job) bool {
	w := t.b.eng.World().Job(j.rec.ID)
	return w != nil && w.IsCancelled()
}

// losses is how many attempts were lost before.
func (t *turn) losses(j *job) int {
	if w := t.b.eng.World().Job(j.rec.ID); w != nil {
		return w.Losses()
	}
	return 0
}

// which says which of the attempts that its user allows the next one is, and from
// where it goes on.
func (t *turn) which(j *job, losses int) string {
	from := "the beginning"
	if len(j.saved) > 0 {
		from = fmt.Sprintf("checkpoint %d", j.saved[0].N)
	}
	return fmt.Sprintf("retry %d of %d, from %s", losses+1, j.spec.Retries, from)
}

func usedUp(losses int) string {
	if losses == 0 {
		return "it is not started again: retry.max is 0"
	}
	return fmt.Sprintf("it is not started again: it was %d times, as often as retry.max allows", losses)
}

// takenAway says whether an attempt that left was lost all the same: whoever ended
// it was not us, and either it could not save what it had done, or its user does
// not want it to go on after that.
func (t *turn) takenAway(j *job, m *wire.Message) bool {
	w := t.b.eng.World().Job(j.rec.ID)
	if w == nil || w.State() == core.Stopping || m.Cause == "" {
		return false
	}
	return m.Saved == nil || !j.spec.RetriedAfter(m.Cause)
}
