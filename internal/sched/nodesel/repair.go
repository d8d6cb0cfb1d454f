package nodesel

import "github.com/godwit-hpc/godwit/internal/sched/nodesel/match"

// maxRepair is up to how many nodes times hosts repairing a choice is tried.
const maxRepair = 1 << 21

// searchAbove looks for a better choice, far above the best known first.
func (q *search) searchAbove() {
	steps := min(max(200_000/len(q.allowed), 200), 1000)
	if q.best == nil {
		q.repairTo(0, steps)
	}
	for part := 2; part <= 8 && q.isOpen(); {
		if q.repairTo(q.low+1+(q.high-q.low-1)/part, steps) == match.Unknown {
			part *= 2
		}
	}
}

// What is still done when time is up: some milliseconds.
const (
	lastRepairs = 8
	lastSteps   = 400
)

// repairOnce looks for a better choice near the best one though time is up: nobody is to find
// one there in a moment.
func (q *search) repairOnce() {
	if q.p.Nodes*len(q.allowed) > maxQuickClimb {
		return
	}
	over := q.mt
	q.mt = match.NewMeter(nil)
	for range lastRepairs {
		if q.high-q.low <= 1 || q.repairTo(q.low+1, lastSteps) != match.Yes {
			break
		}
	}
	q.mt = over
}

// repairTo tries to raise the best choice to values[i].
func (q *search) repairTo(i, steps int) match.Answer {
	if !q.s.IsGeneral() || q.p.Nodes*len(q.allowed) > maxRepair {
		return match.Unknown
	}
	a, hosts := match.RepairPlacement(q.s, q.targetAt(i), q.best, uint64(i), steps, q.mt)
	q.keepAnswer(i, a, hosts)
	return a
}
