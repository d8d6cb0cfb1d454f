package app

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point is one measured run: so long with so many processors.
type Point struct {
	Size    int
	Seconds float64
}

// Table scales as measured, like a figure of run time over size in a paper.
// Between two points the logarithm of the run time is interpolated over the
// logarithm of the size, which is a straight line in the usual plot. With
// fewer processors than the first point scaling is taken to be perfect, since
// nothing was measured that would say otherwise; with more than the last the
// run time stays what it was there.
type Table struct {
	points []Point   // ascending sizes
	speeds []float64 // speed-up at each point
	slopes []float64 // d log(speed-up) / d log(size) from each point to the next
}

// Bounds on what a table may say, wide enough for everything that can be
// measured and narrow enough that nothing overflows.
const (
	maxSize    = 1 << 30
	minSeconds = 1e-9
	maxSeconds = 1e12
)

// NewTable makes a table of the points, in any order.
func NewTable(points []Point) (*Table, error) {
	t := &Table{points: slices.Clone(points)}
	slices.SortFunc(t.points, func(a, b Point) int { return a.Size - b.Size })
	if err := t.checkPoints(); err != nil {
		return nil, err
	}
	t.computeSpeeds()
	return t, nil
}

func (t *Table) checkPoints() error {
	if len(t.points) == 0 {
		return fmt.Errorf("at least one size=seconds")
	}
	for i, p := range t.points {
		switch {
		case p.Size < 1 || p.Size > maxSize:
			return fmt.Errorf("size %d is not between 1 and %d", p.Size, maxSize)
		case !(p.Seconds >= minSeconds && p.Seconds <= maxSeconds):
			return fmt.Errorf("run time %g of size %d is not between %g and %g seconds", p.Seconds, p.Size, minSeconds,
				maxSeconds)
		case i > 0 && t.points[i-1].Size == p.Size:
			return fmt.Errorf("size %d is given twice", p.Size)
		}
	}
	return nil
}

func (t *Table) computeSpeeds() {
	work := t.SequentialTime()
	for _, p := range t.points {
		t.speeds = append(t.speeds, work/p.Seconds)
	}
	for i := 1; i < len(t.points); i++ {
		rise := math.Log(t.speeds[i] / t.speeds[i-1])
		run := math.Log(float64(t.points[i].Size) / float64(t.points[i-1].Size))
		t.slopes = append(t.slopes, rise/run)
	}
}

// SequentialTime is the run time with one processor, in seconds.
func (t *Table) SequentialTime() float64 { return t.points[0].Seconds * float64(t.points[0].Size) }

func (t *Table) SpeedupAt(n int) float64 {
	first, last := t.points[0].Size, len(t.points)-1
	switch {
	case n < 1:
		return 0
	case n <= first:
		return float64(n)
	case n >= t.points[last].Size:
		return t.speeds[last]
	}
	i, exact := slices.BinarySearchFunc(t.points, n, func(p Point, n int) int { return p.Size - n })
	if exact {
		return t.speeds[i]
	}
	i--
	return t.speeds[i] * math.Pow(float64(n)/float64(t.points[i].Size), t.slopes[i])
}

func (t *Table) String() string {
	var b strings.Builder
	sep := "table:"
	for _, p := range t.points {
		fmt.Fprintf(&b, "%s%d=%g", sep, p.Size, p.Seconds)
		sep = ","
	}
	return b.String()
}
