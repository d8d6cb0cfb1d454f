package scenario

import (
	"cmp"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// readFactors is a number or a range of numbers to draw from.
func (r *reader) readFactors(v yamlfile.Value, from, to float64) workload.Range {
	p := readPair(v, "a number", "the smaller number first", func(v yamlfile.Value) float64 { return v.Number(from, to) })
	return workload.Range{Lo: p[0], Hi: p[1]}
}

func (r *reader) readSizes(v yamlfile.Value, most int) [2]int {
	return readPair(v, "a number of cores", "the smaller number first",
		func(v yamlfile.Value) int { return v.WholeNumber(1, most) })
}

func (r *reader) readDurations(v yamlfile.Value) [2]time.Duration {
	return readPair(v, yamlfile.WantDuration, "the shorter time first", yamlfile.Value.PositiveDuration)
}

// readPair is a range of values: x is short for [x, x].
func readPair[T cmp.Ordered](v yamlfile.Value, of, order string, read func(yamlfile.Value) T) (p [2]T) {
	switch {
	case v.Kind() != yamlfile.List:
		x := read(v)
		return [2]T{x, x}
	case v.Len() != 2:
		v.ReportWrong(of + ", or two of them: [LOW, HIGH]")
		return p
	}
	i := 0
	for item := range v.EachItem(of) {
		p[i] = read(item)
		i++
	}
	if p[1] < p[0] {
		v.ReportError(fmt.Sprintf("[%v, %v]", p[0], p[1]), order)
	}
	return p
}
