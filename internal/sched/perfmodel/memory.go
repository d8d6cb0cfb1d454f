package perfmodel

import (
	"fmt"
	"math"
	"slices"
)

// Line is the length of the cache lines in which memory is counted, in bytes.
// Wide is a line of eight of them: an access beside an earlier one finds it there,
// a random one does not, and so the two are told apart.
const (
	Line = 64
	Wide = 512
)

// Misses is what was counted at one size with a cache of one capacity that
// forgets what was used least recently: how often a line was not there.
type Misses struct {
	Size     float64 `json:"size"`
	Capacity float64 `json:"capacity"` // bytes
	Line     int     `json:"line"`     // Line or Wide
	// Written: of these only those for which a line had to make room that was written
	// to, and so has to go back first.
	Written bool    `json:"written,omitempty"`
	Count   float64 `json:"count"`
}

// Bin is a bin of the histogram of reuse distances, as a function of the size n:
// Count·Grows(n) accesses, between each of which and the one before to the same
// line Far·n^Power bytes are touched. Power < 0: there was none before.
type Bin struct {
	Grows Term    `json:"grows"`
	Count float64 `json:"count"`
	Far   float64 `json:"far"`
	Power float64 `json:"power"`
}

// Memory is how a program uses memory, for any size.
type Memory struct {
	// accesses after one to the line beside, so that the hardware fetches ahead
	InOrder []Bin   `json:"in_order"`
	Random  []Bin   `json:"random"`              // all others
	Goes    []Bin   `json:"goes_back,omitempty"` // lines that go back; none where they were not counted
	Error   float64 `json:"error"`               // of the counts it was fitted to: share of the accesses
	// Foretold is how far off the bins are that were fitted to all sizes but the
	// largest, at the largest: relative, over all capacities together.
	Foretold float64 `json:"foretold"`
}

const never = -1 // the Power of accesses to what was not used before

// FitMemory finds bins that explain the counts. A bin may grow as one of the
// given terms does: they are those by which the program's operations grow, since
// who accesses memory executes an instruction. All bins that could be are
// columns of one non-negative least-squares problem; few of them become positive.
// Accesses in order and others are told apart in the same problem, by what lines of
// both lengths miss: a difference of two fits would be full of random accesses that
// are nothing but the error of either.
func FitMemory(counts []Misses, grows []Term) (*Memory, error) {
	var all, written []Misses
	lines := map[int]bool{}
	for _, c := range counts {
		if c.Written {
			written = append(written, c)
		} else {
			all = append(all, c)
			lines[c.Line] = true
		}
	}
	for _, line := range []int{Line, Wide} {
		if !lines[line] {
			return nil, fmt.Errorf("no misses were counted with lines of %d bytes", line)
		}
	}
	far := reachPower(counts)
	m := new(Memory)
	var bins [][]Bin
	bins, m.Error = fitBins(all, grows, far, float64(Line)/Wide, 1)
	m.InOrder, m.Random = bins[0], bins[1]
	if len(written) > 0 {
		bins, _ = fitBins(written, grows, far, 1)
		m.Goes = bins[0]
	}
	return m, nil
}

// crossValidate judges the memory by a size that is left out. Misses are added up over
// capacities an octave apart: where each octave of distance costs as much as the
// one before, that sum is the time that is waited.
func (m *Memory) crossValidate(counts []Misses, grows []Term) {
	largest := 0.0
	sizes := map[float64]bool{}
	for _, c := range counts {
		largest = math.Max(largest, c.Size)
		sizes[c.Size] = true
	}
	m.Foretold = 1
	if len(sizes) < MinSizes {
		return
	}
	var seen []Misses
	for _, c := range counts {
		if c.Size < largest {
			seen = append(seen, c)
		}
	}
	small, err := FitMemory(seen, grows)
	if err != nil {
		return
	}
	said, was := 0.0, 0.0
	for _, c := range counts {
		if c.Size == largest && c.Line == Line && !c.Written {
			said += small.MissesAt(c.Size, c.Capacity).All
			was += c.Count
		}
	}
	m.Foretold = math.Min(1, math.Abs(said/math.Max(was, 1)-1))
}

// fitBins finds the bins of several kinds that together explain the counts. Of each
// kind wide is the share of its misses that are misses of wide lines, too.
func fitBins(counts []Misses, grows []Term, reach float64, wide ...float64) ([][]Bin, float64) {
	type row struct {
		size float64
		line int
	}
	most, largest := map[row]float64{}, 0.0 // most misses at a size: with the smallest cache
	low, high := math.Inf(1), 0.0
	for _, c := range counts {
		most[row{c.Size, c.Line}] = math.Max(most[row{c.Size, c.Line}], c.Count)
		largest = math.Max(largest, c.Size)
		low, high = math.Min(low, c.Capacity), math.Max(high, c.Capacity)
	}
	unit := func(c Misses) float64 { return c.Count + 0.002*most[row{c.Size, c.Line}] + 1 }
	share := func(kind int, c Misses) float64 {
		if c.Line == Wide {
			return wide[kind]
		}
		return 1
	}
	bins := candidateBins(largest, low, high, grows, reach)
	a, b := make([][]float64, len(wide)*len(bins)), make([]float64, len(counts))
	for i, c := range counts {
		b[i] = c.Count / unit(c)
	}
	for j := range a {
		kind, bin := j/len(bins), bins[j%len(bins)]
		a[j] = make([]float64, len(counts))
		for i, c := range counts {
			a[j][i] = share(kind, c) * bin.missedAccesses(c.Size, c.Capacity) / unit(c)
		}
	}
	used := make([][]Bin, len(wide))
	for j, v := range nonNegative(a, b) {
		if v > 0 {
			bin := bins[j%len(bins)]
			bin.Count = v
			used[j/len(bins)] = append(used[j/len(bins)], bin)
		}
	}
	off := 0.0
	for _, c := range counts {
		said := 0.0
		for kind, own := range used {
			said += share(kind, c) * missedAccesses(own, c.Size, c.Capacity)
		}
		off = math.Max(off, math.Abs(said-c.Count)/math.Max(most[row{c.Size, c.Line}], 1))
	}
	return used, off
}

// reachPower is the power of the size with which what the program touches grows: no
// distance grows faster.
func reachPower(counts []Misses) float64 {
	least := map[float64]Misses{} // at each size, with the largest cache
	for _, c := range counts {
		if c.Line == Line && !c.Written && c.Capacity > least[c.Size].Capacity {
			least[c.Size] = c
		}
	}
	var points []Point
	for _, c := range least { // order-free: Fit sorts them
		points = append(points, Point{Size: c.Size, Value: c.Count})
	}
	if curve, err := FitCurve(points, 0); err == nil {
		if t := curve.BestFormula().Terms; t[len(t)-1].Power > 0 {
			return t[len(t)-1].Power
		}
	}
	return 1
}

// candidateBins are all bins that could be: each growth, each power of distance
// (fixed, with the rows of what is touched, with all of it), and at the largest
// size a distance in the middle of each interval of capacities.
func candidateBins(largest, low, high float64, grows []Term, reach float64) []Bin {
	var list []Bin
	for _, g := range grows {
		list = append(list, Bin{Grows: g, Count: 1, Power: never})
		for _, p := range []float64{0, reach / 2, reach} {
			for d := low / math.Sqrt2; d <= high*2; d *= math.Sqrt2 {
				list = append(list, Bin{Grows: g, Count: 1, Far: d / math.Pow(largest, p), Power: p})
			}
		}
	}
	return slices.Clip(list)
}

// missedAccesses is how many accesses of the bin miss a cache of this capacity. The edge
// is an octave wide: real caches are not perfect, and one bin stands for
// distances around its own.
func (b Bin) missedAccesses(n, capacity float64) float64 {
	count := b.Count * b.Grows.ValueAt(n)
	if b.Power == never {
		return count
	}
	far := math.Log2(b.Far*math.Pow(n, b.Power)/capacity) + 0.5
	return count * math.Min(1, math.Max(0, far))
}

func missedAccesses(bins []Bin, n, capacity float64) float64 {
	sum := 0.0
	for _, b := range bins {
		sum += b.missedAccesses(n, capacity)
	}
	return sum
}

// Traffic is how many lines are not in a cache.
type Traffic struct {
	All     float64
	InOrder float64 // come after the line beside them, so that the hardware fetches ahead
	Written float64 // make a line go back that was written to
}

// MissesAt is how many accesses find their line gone from a cache of so many bytes.
func (m *Memory) MissesAt(n, capacity float64) (t Traffic) {
	t.InOrder = missedAccesses(m.InOrder, n, capacity)
	t.All = t.InOrder + missedAccesses(m.Random, n, capacity)
	t.Written = math.Min(missedAccesses(m.Goes, n, capacity), t.All)
	return t
}

// subtractTraffic are those that are not in the other.
func (t Traffic) subtractTraffic(u Traffic) (rest Traffic) {
	rest.All = max(0, t.All-u.All)
	rest.InOrder = min(max(0, t.InOrder-u.InOrder), rest.All)
	rest.Written = min(max(0, t.Written-u.Written), rest.All)
	return rest
}

// touchedBytes is how many bytes the program uses at all.
func (m *Memory) touchedBytes(n float64) float64 {
	sum := 0.0
	for _, b := range slices.Concat(m.InOrder, m.Random) {
		if b.Power == never {
			sum += b.missedAccesses(n, 0)
		}
	}
	return sum * Line
}
