package forecast

import (
	"slices"
	"sort"
)

// recent are the last values: as many as there is room for.
type recent struct {
	values []float64
	count  int // of all values so far
}

func newRecent(room int) recent { return recent{values: make([]float64, room)} }

// valueBack is the value n before the next, 1 being the last one.
func (r *recent) valueBack(n int) float64 { return r.values[(r.count-n)%len(r.values)] }

func (r *recent) addValue(x float64) {
	r.values[r.count%len(r.values)] = x
	r.count++
}

// listValues is all that is there, oldest first.
func (r *recent) listValues() []float64 {
	list := make([]float64, r.countUpTo(len(r.values)))
	for i := range list {
		list[i] = r.valueBack(len(list) - i)
	}
	return list
}

// countUpTo is how many values are there, of n at most.
func (r *recent) countUpTo(n int) int { return min(r.count, n) }

// sliding is the sum of the last values.
type sliding struct {
	length int
	sum    float64
	rough  bool // what left was so large that the rest is lost in its rounding
}

// addValue is told of a value before r is.
func (s *sliding) addValue(r *recent, x float64) {
	s.sum += x
	if r.count >= s.length {
		oldest := r.valueBack(s.length)
		s.sum -= oldest
		s.rough = oldest > 1e6*s.sum
	}
}

// renewSum sums up anew, so that rounding does not pile up.
func (s *sliding) renewSum(r *recent) {
	s.sum, s.rough = 0, false
	for i := range r.countUpTo(s.length) {
		s.sum += r.valueBack(i + 1)
	}
}

func (s *sliding) windowMean(r *recent) float64 { return s.sum / float64(r.countUpTo(s.length)) }

// sorted are the last values by size. As few as they are, moving some in place
// is quicker than any tree.
type sorted struct {
	length int
	values []float64
}

func newSorted(length int) sorted { return sorted{length, make([]float64, 0, length)} }

// addValue puts x in, and the oldest out once there are length values. It is told
// of a value before r is.
func (s *sorted) addValue(r *recent, x float64) {
	v := s.values
	to := sort.SearchFloat64s(v, x)
	if len(v) < s.length {
		s.values = slices.Insert(v, to, x)
		return
	}
	from := sort.SearchFloat64s(v, r.valueBack(s.length))
	if from < to { // those between move one down
		to--
		copy(v[from:to], v[from+1:to+1])
	} else {
		copy(v[to+1:from+1], v[to:from])
	}
	v[to] = x
}

// sortAnew sorts anew.
func (s *sorted) sortAnew(r *recent) {
	s.values = s.values[:0]
	for i := range r.countUpTo(s.length) {
		s.values = append(s.values, r.valueBack(i+1))
	}
	slices.Sort(s.values)
}

func (s *sorted) middleValue() float64 {
	n := len(s.values)
	if n%2 == 1 {
		return s.values[n/2]
	}
	return (s.values[n/2-1] + s.values[n/2]) / 2
}

// trimmedMean is the mean without the lowest and the highest three tenths.
func (s *sorted) trimmedMean() float64 {
	n := len(s.values)
	cut := n * 3 / 10
	sum := 0.0
	for _, x := range s.values[cut : n-cut] {
		sum += x
	}
	return sum / float64(n-2*cut)
}
