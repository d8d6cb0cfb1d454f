package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Cost estimates how long it takes to move, save or restore so many bytes:
// quantiles of the seconds at Levels, from transfers of the same kind. Seconds
// are taken to be a fixed part plus so much for each byte that has to be sent.
// Nil if there has been none.
func Cost(rows []Transfer, like Transfer, bytes int64) (quantiles []float64, why string, n int) {
	for _, match := range costBackOff {
		var x, y []float64
		for i := range rows {
			if r := &rows[i]; r.What == like.What && r.Seconds > 0 && match.shares(r, &like) {
				x, y = append(x, float64(max(0, r.Sent))), append(y, r.Seconds)
			}
		}
		if len(x) > 0 {
			fixed, each, s := fixedAndEach(x, y)
			mean := math.Log(fixed + each*float64(max(0, bytes)))
			widen := 1 + 1/float64(len(x)) + farOutside(column(x), []float64{math.Log1p(float64(max(0, bytes)))})/4
			return logNormal(mean, s, widen), fmt.Sprintf("%s with %s", times(len(x)), match.name), len(x)
		}
	}
	return nil, "this has not been done before", 0
}

// costBackOff is what transfers must have in common with the one asked about,
// the closest first.
var costBackOff = [...]struct {
	name   string
	shares func(a, b *Transfer) bool
}{
	{"the same program, method and clusters", func(a, b *Transfer) bool {
		return a.Program == b.Program && a.Method == b.Method && a.From == b.From && a.To == b.To
	}},
	{"the same method and clusters", func(a, b *Transfer) bool { return a.Method == b.Method && a.From == b.From && a.To == b.To }},
	{"the same method", func(a, b *Transfer) bool { return a.Method == b.Method }},
	{"other methods", func(a, b *Transfer) bool { return true }},
}

func column(x []float64) [][]float64 {
	rows := make([][]float64, len(x))
	for i := range x {
		rows[i] = []float64{math.Log1p(x[i])}
	}
	return rows
}

// costSpread is what is believed of how much such times vary before they have
// been seen.
var costSpread = spread{df: 3, sd: 0.4}

// slowest is the seconds a byte is taken to need when nothing has told: 10 MB/s.
const slowest = 1e-7

// fixedAndEach fits y = fixed + each · x with neither negative, by least squares
// of relative errors: a transfer of a second matters as much as one of an hour.
func fixedAndEach(x, y []float64) (fixed, each float64, s spread) {
	var w, wx, wxx, wy, wxy float64
	for i := range x {
		v := 1 / (y[i] * y[i])
		w, wx, wxx, wy, wxy = w+v, wx+v*x[i], wxx+v*x[i]*x[i], wy+v*y[i], wxy+v*x[i]*y[i]
	}
	det := w*wxx - wx*wx
	spreadOut := det > 1e-9*w*wxx // else all had about the same size
	switch {
	case spreadOut:
		fixed, each = (wy*wxx-wx*wxy)/det, (w*wxy-wx*wy)/det
		if fixed < 0 {
			fixed, each = 0, wxy/wxx
		} else if each < 0 {
			fixed, each = wy/w, 0
		}
	case wx > 0: // one size: all of it is taken to depend on it
		each = wxy / wxx
	default:
		fixed, each = wy/w, slowest
	}
	fixed = max(fixed, 1e-6)
	squares := 0.0
	for i := range x {
		e := math.Log(y[i] / (fixed + each*x[i]))
		squares += e * e
	}
	return fixed, each, costSpread.with(squares, float64(max(0, len(x)-2)))
}

// Rate is the median of the bytes a second that were really sent from one
// cluster to another, and how many transfers that rests on.
func Rate(rows []Transfer, from, to string) (bytesPerSecond float64, n int) {
	var rates []float64
	for i := range rows {
		if r := &rows[i]; r.From == from && r.To == to && r.Sent > 0 && r.Seconds > 0 {
			rates = append(rates, float64(r.Sent)/r.Seconds)
		}
	}
	if len(rates) == 0 {
		return 0, 0
	}
	return median(rates), len(rates)
}

const sandbox = "sandbox"

// SandboxRatio is how many times longer a program takes in the sandbox.
type SandboxRatio struct {
	Ratio float64 // median
	Upper float64 // not more than this with 90 %
	Pairs int     // sets of arguments that were run both ways
}

// SandboxCost compares runs of a program with the same arguments in the sandbox
// and outside; false if there are none.
func SandboxCost(rows []Run, program string) (SandboxRatio, bool) {
	type pair struct{ in, out []float64 }
	byArgs := map[string]*pair{}
	for i := range rows {
		r := &rows[i]
		if r.Program != program || r.Outcome != Finished || r.Need <= 0 {
			continue
		}
		key := strings.Join(r.Args, "\x00")
		p := byArgs[key]
		if p == nil {
			p = &pair{}
			byArgs[key] = p
		}
		if r.Method == sandbox {
			p.in = append(p.in, math.Log(r.Need))
		} else {
			p.out = append(p.out, math.Log(r.Need))
		}
	}
	keys := make([]string, 0, len(byArgs))
	for key := range byArgs { // order-free: sorted below
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var ratios []float64
	for _, key := range keys {
		if p := byArgs[key]; len(p.in) > 0 && len(p.out) > 0 {
			in, _ := meanSd(p.in)
			out, _ := meanSd(p.out)
			ratios = append(ratios, in-out)
		}
	}
	if len(ratios) == 0 {
		return SandboxRatio{}, false
	}
	mean, squares := center(ratios)
	n := float64(len(ratios))
	s := sameArgs.with(squares, n-1)
	return SandboxRatio{Ratio: math.Exp(mean), Upper: math.Exp(mean + s.sd/math.Sqrt(n)*studentQuantile(s.df, 0.9)), Pairs: len(ratios)}, true
}
