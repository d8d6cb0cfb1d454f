package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

func (d *document) whole(n *yaml.Node, path string, from, to int) int {
	want := fmt.Sprintf("a whole number from %d to %d", from, to)
	s := d.scalar(n, path, want)
	v, err := strconv.Atoi(s)
	if err != nil || v < from || v > to {
		d.fail(n.Line, path, s, want)
		return 0
	}
	return v
}

func (d *document) number(n *yaml.Node, path string, from, to float64) float64 {
	want := fmt.Sprintf("a number from %g to %g", from, to)
	s := d.scalar(n, path, want)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= from && v <= to) {
		d.fail(n.Line, path, s, want)
		return 0
	}
	return v
}

func (d *document) choice(n *yaml.Node, path string, from ...string) string {
	want := "one of " + strings.Join(from, ", ")
	s := d.scalar(n, path, want)
	if !slices.Contains(from, s) {
		d.fail(n.Line, path, s, want)
		return ""
	}
	return s
}

func (d *document) boolean(n *yaml.Node, path string) bool {
	return d.choice(n, path, "true", "false") == "true"
}

const wantDuration = "a time such as 30s, 10m, 1h30m, 2d or a number of seconds"

func (d *document) duration(n *yaml.Node, path string) time.Duration {
	s := d.scalar(n, path, wantDuration)
	v, ok := parseDuration(s)
	if !ok {
		d.fail(n.Line, path, s, wantDuration)
	}
	return v
}

// above is a duration that is not 0.
func (d *document) above(n *yaml.Node, path string) time.Duration {
	v := d.duration(n, path)
	if v == 0 {
		d.fail(n.Line, path, show(d.open(n)), "a time above 0, such as 30s")
	}
	return v
}

// pair hands one or two values to read: x is short for [x, x].
func (d *document) pair(n *yaml.Node, path, of string, read func(i int, n *yaml.Node, path string)) {
	n = d.open(n)
	switch {
	case n.Kind != yaml.SequenceNode:
		read(0, n, path)
		read(1, n, path)
	case len(n.Content) != 2:
		d.fail(n.Line, path, show(n), of+", or two of them: [LOW, HIGH]")
	default:
		read(0, n.Content[0], path+"[0]")
		read(1, n.Content[1], path+"[1]")
	}
}

// factors is a number or a range of numbers to draw from.
func (d *document) factors(n *yaml.Node, path string, from, to float64) workload.Range {
	var r [2]float64
	d.pair(n, path, "a number", func(i int, n *yaml.Node, path string) { r[i] = d.number(n, path, from, to) })
	if r[1] < r[0] {
		d.fail(n.Line, path, fmt.Sprintf("[%g, %g]", r[0], r[1]), "the smaller number first")
	}
	return workload.Range{Lo: r[0], Hi: r[1]}
}

func (d *document) sizes(n *yaml.Node, path string, most int) (r [2]int) {
	d.pair(n, path, "a number of processors", func(i int, n *yaml.Node, path string) { r[i] = d.whole(n, path, 1, most) })
	if r[1] < r[0] {
		d.fail(n.Line, path, fmt.Sprintf("[%d, %d]", r[0], r[1]), "the smaller number first")
	}
	return r
}

func (d *document) durations(n *yaml.Node, path string) (r [2]time.Duration) {
	d.pair(n, path, wantDuration, func(i int, n *yaml.Node, path string) { r[i] = d.above(n, path) })
	if r[1] < r[0] {
		d.fail(n.Line, path, fmt.Sprintf("[%v, %v]", r[0], r[1]), "the shorter time first")
	}
	return r
}

var durationUnits = []struct {
	name  string
	scale time.Duration
}{
	{"ms", time.Millisecond}, // before m and s, which it begins with and ends in
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
	{"w", 7 * 24 * time.Hour},
}

// maxDuration is a century, so that sums of a few fit.
const maxDuration = 36525 * 24 * time.Hour

// parseDuration reads 90, 1.5h, 1h30m, 2d, 250ms; a number alone is seconds.
func parseDuration(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	if !strings.ContainsAny(s[len(s)-1:], "smhdw") {
		s += "s"
	}
	sum := 0.0
	for s != "" {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789."))
		v, err := strconv.ParseFloat(s[:digits], 64)
		if err != nil {
			return 0, false
		}
		s = s[digits:]
		i := 0
		for i < len(durationUnits) && !strings.HasPrefix(s, durationUnits[i].name) {
			i++
		}
		if i == len(durationUnits) {
			return 0, false
		}
		sum += v * float64(durationUnits[i].scale)
		s = s[len(durationUnits[i].name):]
	}
	if sum > float64(maxDuration) {
		return 0, false
	}
	return time.Duration(math.Round(sum)), true
}
