package nodesel

import "slices"

// search narrows down the best value: values[low] can be had, by best, and
// values[high] cannot.
type search struct {
	b       *Bandwidths
	s       *shape
	allowed []int // hosts
	values  []float64
	low     int // -1: nothing found yet
	high    int // len(values): nothing ruled out yet
	best    []int
	mt      *meter
	matches int
	known   *refutedPairs // nil: nothing is kept
}

func newSearch(b *Bandwidths, s *shape, o Options) *search {
	q := &search{b: b, s: s, allowed: identityImage(b.n), values: possibleValues(b, s), mt: &meter{stop: o.Stop}}
	q.low, q.high = -1, len(q.values)
	if s.squares != nil {
		q.known = newRefutedPairs(s.m, b.n)
	}
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
	if q.best != nil && q.high-q.low > 1 && q.s.m*len(q.allowed) <= maxRepair {
		q.improveBest()
		q.repairOnce()
	}
}

func (q *search) isOpen() bool { return q.high-q.low > 1 && !q.mt.isOver() }

// boundByStructure lowers high to where the structure of the threshold graph alone
// rules the pattern out.
func (q *search) boundByStructure() {
	for low := q.low; q.high-low > 1 && !q.mt.isOver(); {
		mid := (low + q.high) / 2
		if len(q.targetAt(mid).candidateParts(q.s)) == 0 {
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
		if !q.isOpen() || q.decideValue(q.low+1, either, climbing*effort) != yes {
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
	for few && q.isOpen() && q.decideValue((q.low+q.high)/2, either, effort) != unknown {
		continue
	}
	for q.isOpen() && q.decideValue(q.low+1+(q.high-q.low)/8, either, effort) == yes {
		continue
	}
	for q.isOpen() && q.repairTo(q.low+1+(q.high-q.low)/16, effort) == yes {
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
		if !q.isOpen() || q.decideValue(q.high-1-(q.high-q.low)/4, refute, times*effort) == unknown {
			return
		}
	}
}

// decideValue asks the matchers whether values[i] can be had, and keeps what
// follows from the answer.
func (q *search) decideValue(i int, w searchGoal, effort int) answer {
	q.matches++
	if q.known != nil {
		q.known.at = i
	}
	a, hosts := matchPattern(q.s, q.targetAt(i), w, effort, q.mt, q.known)
	switch a {
	case yes:
		q.keepBest(hosts)
	case no:
		q.high = min(q.high, i)
	}
	return a
}

func (q *search) targetAt(i int) *target { return thresholdTarget(q.b, q.allowed, q.s, q.values[i]) }

// keepBest takes a choice as the best if it is.
func (q *search) keepBest(hosts []int) {
	i, ok := slices.BinarySearch(q.values, choiceValue(q.b, q.s, hosts))
	if !ok || i <= q.low {
		return
	}
	q.low, q.best = i, slices.Clone(hosts)
	if q.s.kind == general && q.s.m*len(q.allowed) <= maxQuickClimb {
		q.improveBest()
	}
}

// improveBest leaves no better choice that is one move away from the best one.
func (q *search) improveBest() {
	q.climbFrom(q.best)
	if i, ok := slices.BinarySearch(q.values, choiceValue(q.b, q.s, q.best)); ok {
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
