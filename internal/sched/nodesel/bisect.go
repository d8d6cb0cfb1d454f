package nodesel

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
)

// search narrows down the best value: values[low] can be had, by best, and
// values[high] cannot.
type search struct {
	b       *Bandwidths
	p       *Pattern
	s       *match.Shape
	allowed []int // hosts
	values  []float64
	low     int // -1: nothing found yet
	high    int // len(values): nothing ruled out yet
	best    []int
	mt      *match.Meter
	matches int
	known   *match.RefutedPairs // nil: nothing is kept
}

func newSearch(b *Bandwidths, p *Pattern, o Options) *search {
	q := &search{b: b, p: p, s: match.NewShape(p), allowed: b.allHosts(), values: possibleValues(b, p),
		mt: match.NewMeter(o.Stop)}
	q.low, q.high = -1, len(q.values)
	q.known = match.NewRefutedPairs(q.s, b.n)
	return q
}

// Effort on one threshold graph, in steps; it doubles from round to round.
const (
	firstEffort = 1 << 9
	maxEffort   = 1 << 40
	fewValues   = 128 // up to so many values apart, bisecting is tried in later rounds too
	climbing    = 16  // times more for the value next to the best known
	narrowGap   = 16  // up to so many values apart, only climbing and bounds are tried in later rounds
	maxClimb    = 8   // choices found one after the other before bisecting again
)

// closeGap closes the gap between low and high, or stops when time is up.
func (q *search) closeGap() {
	q.chooseGreedily()
	q.boundByStructure()
	q.searchAbove()
	for effort := firstEffort; q.isOpen() && effort < maxEffort; effort *= 4 {
		q.runRound(effort)
	}
	if q.best != nil && q.high-q.low > 1 && q.p.Nodes*len(q.allowed) <= maxRepair {
		q.improveBest()
		q.repairOnce()
	}
}

func (q *search) isOpen() bool { return q.high-q.low > 1 && !q.mt.IsOver() }

// boundByStructure lowers high to where the structure of the threshold graph alone
// rules the pattern out.
func (q *search) boundByStructure() {
	for low := q.low; q.high-low > 1 && !q.mt.IsOver(); {
		mid := (low + q.high) / 2
		if q.targetAt(mid).IsRuledOut(q.s) {
			q.high = mid
		} else {
			low = mid
		}
	}
}

// runRound bisects with a given effort while that suffices, then looks for better
// choices not far from the best one and for a better bound, and climbs at the
// end: close to the optimum every refutation is a full proof, of which
// bisecting needs many and climbing one.
func (q *search) runRound(effort int) {
	wide := effort == firstEffort || q.high-q.low > narrowGap
	if wide {
		q.searchBetween(effort)
		q.lowerBound(effort)
	}
	for range maxClimb {
		if !q.isOpen() || q.decideValue(q.low+1, match.Either, climbing*effort) != match.Yes {
			break
		}
	}
	if !wide {
		q.lowerBound(effort)
	}
}

// searchBetween looks for better choices between the best one and the bound.
func (q *search) searchBetween(effort int) {
	few := effort == firstEffort || q.high-q.low < fewValues
	for few && q.isOpen() && q.decideValue((q.low+q.high)/2, match.Either, effort) != match.Unknown {
		continue
	}
	for q.isOpen() && q.decideValue(q.low+1+(q.high-q.low)/8, match.Either, effort) == match.Yes {
		continue
	}
	for q.isOpen() && q.repairTo(q.low+1+(q.high-q.low)/16, effort) == match.Yes {
		continue
	}
}

// lowerBound looks for a better bound: with some patience in the first round, so
// that an early answer has a good one, and later only where it is cheap.
func (q *search) lowerBound(effort int) {
	tries, times := 1, 1
	if effort == firstEffort {
		tries, times = 8, 4
	}
	for range tries {
		if !q.isOpen() || q.decideValue(q.high-1-(q.high-q.low)/4, match.Refute, times*effort) == match.Unknown {
			return
		}
	}
}

// decideValue asks the matchers whether values[i] can be had, and keeps what
// follows from the answer.
func (q *search) decideValue(i int, w match.SearchGoal, effort int) match.Answer {
	q.matches++
	q.known.AskFor(i)
	a, hosts := match.FindPlacement(q.s, q.targetAt(i), w, effort, q.mt, q.known)
	q.keepAnswer(i, a, hosts)
	return a
}

// keepAnswer keeps what follows from an answer about values[i].
func (q *search) keepAnswer(i int, a match.Answer, hosts []int) {
	switch a {
	case match.Yes:
		q.keepBest(hosts)
	case match.No:
		q.high = min(q.high, i)
	}
}

func (q *search) targetAt(i int) *match.Target {
	return q.b.thresholdTarget(q.s, q.allowed, q.values[i])
}

// keepBest takes a choice as the best if it is.
func (q *search) keepBest(hosts []int) {
	i, ok := slices.BinarySearch(q.values, choiceValue(q.b, q.p, hosts))
	if !ok || i <= q.low {
		return
	}
	q.low, q.best = i, slices.Clone(hosts)
	if q.s.IsGeneral() && q.p.Nodes*len(q.allowed) <= maxQuickClimb {
		q.improveBest()
	}
}

// improveBest leaves no better choice that is one move away from the best one.
func (q *search) improveBest() {
	q.climbFrom(q.best)
	if i, ok := slices.BinarySearch(q.values, choiceValue(q.b, q.p, q.best)); ok {
		q.low = i
	}
}

func (q *search) bestGroup() Group {
	return Group{Hosts: q.best, Mbps: q.values[q.low], Optimal: q.high-q.low == 1}
}

// bestSelection is the best so far, alone.
func (q *search) bestSelection() *Selection {
	g := q.bestGroup()
	return &Selection{Group: g, Bound: q.upperBound(), Groups: []Group{g}, Matches: q.matches}
}

// upperBound is the largest value that is not ruled out.
func (q *search) upperBound() float64 { return q.values[q.high-1] }
