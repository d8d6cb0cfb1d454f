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
	Count    float64 `json:"count"`
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
	Lines []Bin   `json:"lines"`
	Wides []Bin   `json:"wides"`
	Error float64 `json:"error"` // of the counts it was fitted to: share of the accesses
	// Foretold is how far off the bins are that were fitted to all sizes but the
	// largest, at the largest: relative, over all capacities together.
	Foretold float64 `json:"foretold"`
}

const never = -1 // the Power of accesses to what was not used before

// FitMemory finds bins that explain the counts. A bin may grow as one of the
// given terms does: they are those by which the program's operations grow, since
// who accesses memory executes an instruction. All bins that could be are
// columns of one non-negative least-squares problem; few of them become positive.
func FitMemory(counts []Misses, grows []Term) (*Memory, error) {
	m := new(Memory)
	for _, line := range []int{Line, Wide} {
		var own []Misses
		for _, c := range counts {
			if c.Line == line {
				own = append(own, c)
			}
		}
		if len(own) == 0 {
			return nil, fmt.Errorf("no misses were counted with lines of %d bytes", line)
		}
		bins, off := fitBins(own, grows)
		m.Error = math.Max(m.Error, off)
		if line == Line {
			m.Lines = bins
		} else {
			m.Wides = bins
		}
	}
	return m, nil
}

// foretell judges the memory by a size that is left out. Misses are added up over
// capacities an octave apart: where each octave of distance costs as much as the
// one before, that sum is the time that is waited.
func (m *Memory) foretell(counts []Misses, grows []Term) {
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
		if c.Size == largest && c.Line == Line {
			said += missed(small.Lines, c.Size, c.Capacity)
			was += c.Count
		}
	}
	m.Foretold = math.Min(1, math.Abs(said/math.Max(was, 1)-1))
}

func fitBins(counts []Misses, grows []Term) ([]Bin, float64) {
	most, largest := map[float64]float64{}, 0.0 // most misses at a size: with the smallest cache
	low, high := math.Inf(1), 0.0
	for _, c := range counts {
		most[c.Size] = math.Max(most[c.Size], c.Count)
		largest = math.Max(largest, c.Size)
		low, high = math.Min(low, c.Capacity), math.Max(high, c.Capacity)
	}
	bins := candidates(largest, low, high, grows, reach(counts))
	a, b := make([][]float64, len(bins)), make([]float64, len(counts))
	for i, c := range counts {
		b[i] = c.Count / (c.Count + 0.002*most[c.Size] + 1)
	}
	for j, bin := range bins {
		a[j] = make([]float64, len(counts))
		for i, c := range counts {
			a[j][i] = bin.missed(c.Size, c.Capacity) / (c.Count + 0.002*most[c.Size] + 1)
		}
	}
	x := nonNegative(a, b)
	var used []Bin
	for j, v := range x {
		if v > 0 {
			bins[j].Count = v
			used = append(used, bins[j])
		}
	}
	off := 0.0
	for _, c := range counts {
		off = math.Max(off, math.Abs(missed(used, c.Size, c.Capacity)-c.Count)/math.Max(most[c.Size], 1))
	}
	return used, off
}

// reach is the power of the size with which what the program touches grows: no
// distance grows faster.
func reach(counts []Misses) float64 {
	least := map[float64]Misses{} // at each size, with the largest cache
	for _, c := range counts {
		if c.Capacity > least[c.Size].Capacity {
			least[c.Size] = c
		}
	}
	var points []Point
	for _, c := range least { // order-free: Fit sorts them
		points = append(points, Point{Size: c.Size, Value: c.Count})
	}
	if curve, err := Fit(points, 0); err == nil {
		if t := curve.Best().Terms; t[len(t)-1].Power > 0 {
			return t[len(t)-1].Power
		}
	}
	return 1
}

// candidates are all bins that could be: each growth, each power of distance
// (fixed, with the rows of what is touched, with all of it), and at the largest
// size a distance in the middle of each interval of capacities.
func candidates(largest, low, high float64, grows []Term, reach float64) []Bin {
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

// missed is how many accesses of the bin miss a cache of this capacity. The edge
// is an octave wide: real caches are not perfect, and one bin stands for
// distances around its own.
func (b Bin) missed(n, capacity float64) float64 {
	count := b.Count * b.Grows.At(n)
	if b.Power == never {
		return count
	}
	far := math.Log2(b.Far*math.Pow(n, b.Power)/capacity) + 0.5
	return count * math.Min(1, math.Max(0, far))
}

func missed(bins []Bin, n, capacity float64) float64 {
	sum := 0.0
	for _, b := range bins {
		sum += b.missed(n, capacity)
	}
	return sum
}

// Misses is how many accesses find their line gone from a cache of so many bytes,
// and how many of these come after one to the line beside it, so that the
// hardware fetches ahead.
func (m *Memory) Misses(n, capacity float64) (all, inOrder float64) {
	all = missed(m.Lines, n, capacity)
	wide := math.Min(missed(m.Wides, n, capacity), all)
	// Of r random misses and s in order there are r + s/8 with wide lines.
	const lines = float64(Wide) / Line
	return all, math.Max(0, math.Min(all, (all-wide)*lines/(lines-1)))
}

// touched is how many bytes the program uses at all.
func (m *Memory) touched(n float64) float64 {
	sum := 0.0
	for _, b := range m.Lines {
		if b.Power == never {
			sum += b.missed(n, 0)
		}
	}
	return sum * Line
}
