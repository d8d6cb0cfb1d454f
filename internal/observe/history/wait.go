package history

import (
	"math"
	"slices"
)

// Waits is what is known of the queue waits of jobs of one kind, in the order in
// which they became known. Besides mean and deviation it gives bounds that
// assume no distribution: of n waits the k-th smallest is at least the wanted
// quantile unless k or more of them lie below it, which the binomial
// distribution tells the chance of (Brevik, Nurmi and Wolski, "Predicting bounds
// on queuing delay for batch-scheduled parallel machines").
//
// Queues change: what was a bound last week is none today. They cut the past off
// when several waits in a row exceed the bound. We take the largest of the
// bounds over the last 60, 120, 240 … waits instead: the short pasts follow a
// queue that grows, the long ones remember that it has been so before. On real
// traces that held more often with bounds as tight.
type Waits struct {
	recent  []float64 // oldest first, at most mostWaits
	windows []window  // shortest first
	n       int
	sum     float64
	held    record
	ranks   map[question]int // of bounds that were asked for before
}

// record is how the bound on the 0.9 quantile fared with the last waits: each is
// compared with what had been said before it was known.
type record struct {
	within [100]bool
	n      int // judged in all
	good   int // of those in within
}

func (r *record) judgeWait(within bool) {
	i := r.n % len(r.within)
	if r.n >= len(r.within) && r.within[i] {
		r.good--
	}
	r.within[i] = within
	r.n++
	if within {
		r.good++
	}
}

// shareWithin is the part of the last waits that were within the bound.
func (r *record) shareWithin() float64 {
	if r.n == 0 {
		return 0
	}
	return float64(r.good) / float64(min(r.n, len(r.within)))
}

// isBelieved says whether there are enough waits and the last of them were as was to
// be expected.
func (w *Waits) isBelieved() bool { return w.n >= enoughInClass && w.held.shareWithin() >= heldInClass }

// question is what the rank of a bound depends on.
type question struct {
	n                    int
	quantile, confidence float64
}

// window is the last waits, as many as its size, sorted.
type window struct {
	size   int
	sorted []float64
}

const (
	leastWindow = 60
	mostWaits   = leastWindow << 7
)

// AddWait takes the next wait, in seconds.
func (w *Waits) AddWait(wait float64) {
	if math.IsNaN(wait) || wait < 0 {
		return
	}
	if w.windows == nil {
		for size := leastWindow; size <= mostWaits; size *= 2 {
			w.windows = append(w.windows, window{size: size})
		}
	}
	if bound, known := w.UpperBound(0.9, 0.95); known {
		w.held.judgeWait(wait <= bound)
	}
	w.n++
	w.sum += wait
	for i := range w.windows {
		v := &w.windows[i]
		if len(v.sorted) == v.size {
			k, _ := slices.BinarySearch(v.sorted, w.recent[len(w.recent)-v.size])
			v.sorted = slices.Delete(v.sorted, k, k+1)
		}
		k, _ := slices.BinarySearch(v.sorted, wait)
		v.sorted = slices.Insert(v.sorted, k, wait)
	}
	if len(w.recent) == 2*mostWaits { // moved rarely
		w.recent = slices.Clone(w.recent[mostWaits:])
	}
	w.recent = append(w.recent, wait)
}

// Count is how many waits there were.
func (w *Waits) Count() int { return w.n }

// Mean is over all of them, as in papers/004.
func (w *Waits) Mean() float64 {
	if w.n == 0 {
		return 0
	}
	return w.sum / float64(w.n)
}

// UpperBound is a wait that is at least the given quantile with the given
// confidence; false while there are too few to say so.
func (w *Waits) UpperBound(quantile, confidence float64) (bound float64, known bool) {
	least := leastSample(quantile, confidence)
	for i := range w.windows {
		v := &w.windows[i]
		n := len(v.sorted)
		if n >= least {
			bound, known = max(bound, v.sorted[w.boundRank(question{n, quantile, confidence})-1]), true
		}
		if n < v.size {
			break // the longer ones hold the same
		}
	}
	return bound, known
}

func (w *Waits) boundRank(q question) int {
	k, known := w.ranks[q]
	if !known {
		if w.ranks == nil || len(w.ranks) > mostWaits {
			w.ranks = map[question]int{}
		}
		k = boundRank(q.n, q.quantile, q.confidence)
		w.ranks[q] = k
	}
	return k
}

// leastSample is how many observations there must be before the largest of
// them bounds a quantile with the given confidence: 1 − qⁿ ≥ C.
func leastSample(quantile, confidence float64) int {
	return max(1, int(math.Ceil(math.Log(1-confidence)/math.Log(quantile)-1e-9)))
}

// boundRank is the least k such that the k-th smallest of n observations is at
// least the quantile with the given confidence.
func boundRank(n int, quantile, confidence float64) int {
	lo, hi := 1, n
	for lo < hi {
		mid := (lo + hi) / 2
		if binomialCDF(mid-1, n, quantile) >= confidence {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// Quantiles is the waits to expect at Levels, from the last ones; nil if there
// are none. With few it is stretched upwards: the longest wait is yet to be
// seen.
func (w *Waits) Quantiles() []float64 {
	if w.n == 0 {
		return nil
	}
	last := w.windows[min(2, len(w.windows)-1)].sorted
	n := float64(len(last))
	levels := QuantileLevels()
	q := make([]float64, NLevels)
	for i, p := range levels {
		stretched := p + (1-p)*p/math.Sqrt(n) // towards the longer ones, less the more there are
		q[i] = interpolateBetween(last, stretched*(n-1))
	}
	return q
}

// interpolateBetween is the value at a position between two.
func interpolateBetween(sorted []float64, position float64) float64 {
	i := int(position)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (position-float64(i))*(sorted[i+1]-sorted[i])
}
