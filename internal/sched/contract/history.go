package contract

import "math"

// Point is a ratio as it can be drawn: of one phase, or of several that follow each other.
type Point struct {
	Done  float64 `json:"done"`  // part of the program that was finished at its end
	Ratio float64 `json:"ratio"` // actual time / promised time
}

const (
	maxPoints = 256 // kept to be drawn; beyond, neighbours become one
	maxRecent = 64  // ratios that rules look at
)

// History is the ratios of one contract so far.
type History struct {
	points  []Point
	stride  int     // phases of a point
	partial []Point // phases of the last point that is not full yet
	recent  []float64
	count   int
	sum     float64
}

// addRatio takes in the ratio of another phase.
func (h *History) addRatio(p Point) {
	h.count++
	h.sum += p.Ratio
	if len(h.recent) == maxRecent {
		h.recent = h.recent[:copy(h.recent, h.recent[1:])]
	}
	h.recent = append(h.recent, p.Ratio)
	h.stride = max(h.stride, 1)
	if h.partial = append(h.partial, p); len(h.partial) < h.stride {
		return
	}
	h.points = append(h.points, mergePoints(h.partial))
	h.partial = h.partial[:0]
	if len(h.points) < maxPoints {
		return
	}
	for i := range maxPoints / 2 {
		h.points[i] = mergePoints(h.points[2*i : 2*i+2])
	}
	h.points, h.stride = h.points[:maxPoints/2], 2*h.stride
}

// mergePoints is the mean of points that follow each other.
func mergePoints(list []Point) Point {
	p := Point{Done: list[len(list)-1].Done}
	for _, q := range list {
		p.Ratio += q.Ratio / float64(len(list))
	}
	return p
}

// Points is the ratios so far, at most maxPoints of them, the last phases among them.
func (h *History) Points() []Point {
	all := append([]Point(nil), h.points...)
	if len(h.partial) > 0 {
		all = append(all, mergePoints(h.partial))
	}
	return all
}

// Last is the ratio of the last phase.
func (h *History) Last() float64 { return h.recent[len(h.recent)-1] }

// Average is that of all phases.
func (h *History) Average() float64 { return h.sum / float64(h.count) }

// countTrailing counts the last ratios, up to n, for which is holds.
func (h *History) countTrailing(n int, is func(float64) bool) int {
	k := 0
	for k < n && k < len(h.recent) && is(h.recent[len(h.recent)-1-k]) {
		k++
	}
	return k
}

// sameLevel is by which factor ratios of one level differ at most.
const sameLevel = 1.25

// Level is the ratio at which the program runs now: the mean of the last phases that are alike, and how many these
// are. An average over all would say that a program on hosts that became slow just now is nearly as fast as promised.
func (h *History) Level() (ratio float64, phases int) {
	last := h.Last()
	n := h.countTrailing(len(h.recent), func(x float64) bool { return x < last*sameLevel && x > last/sameLevel })
	for _, x := range h.recent[len(h.recent)-n:] {
		ratio += x / float64(n)
	}
	return ratio, n
}

// Before is how the predictions held before the present level: the mean ratio, the root mean square of its logarithm
// about that mean, and of how many phases. Nothing before: ratio 1 of 0 phases.
func (h *History) Before() (ratio, spread float64, phases int) {
	_, n := h.Level()
	before := h.recent[:len(h.recent)-n]
	if len(before) > 0 { // the phase in which the level changed belongs to neither
		before = before[:len(before)-1]
	}
	if len(before) == 0 {
		return 1, 0, 0
	}
	mean, variance := logMoments(before)
	return math.Exp(mean), math.Sqrt(variance), len(before)
}
