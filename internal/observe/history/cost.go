package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// TransferCost estimates how long it takes to move, save or restore so many bytes:
// quantiles of the seconds at Levels. Seconds are taken to be a fixed part plus so
// much for each byte that has to be sent. Both parts begin at what is usual for the
// kind of transfer and follow the transfers that were made by the same method, those
// of the same program and clusters most. A small transfer therefore tells of the fixed
// part and next to nothing of the rate. n is how many transfers it rests on.
func TransferCost(rows []Transfer, like Transfer, bytes int64) (quantiles []float64, why string, n int) {
	var seen []costSample
	closest := len(costClasses)
	for i := range rows {
		r := &rows[i]
		if r.What != like.What || r.Method != like.Method || !(r.Seconds > 0) || math.IsInf(r.Seconds, 0) {
			continue
		}
		class := slices.IndexFunc(costClasses[:], func(c costClass) bool { return c.shares(r, &like) })
		closest = min(closest, class)
		seen = append(seen, costSample{bytes: float64(max(0, r.Sent)), seconds: r.Seconds, weight: costClasses[class].weight})
	}
	fit := fitCost(usualCost(like.What), seen)
	mean, doubt := fit.logSecondsAt(float64(max(0, bytes)))
	widen := 1 + doubt/(fit.spread.sd*fit.spread.sd)
	if len(seen) == 0 {
		return logNormal(mean, fit.spread, widen), "not measured yet: as usual", 0
	}
	return logNormal(mean, fit.spread, widen), fmt.Sprintf("%s with %s", countRuns(len(seen)), costClasses[closest].name),
		len(seen)
}

// costClass is what transfers of the same kind and method have in common beside that,
// and how much such a transfer counts.
type costClass struct {
	name   string
	weight float64
	shares func(a, b *Transfer) bool
}

var costClasses = [...]costClass{
	{"the same program, method and clusters", 1, func(a, b *Transfer) bool {
		return a.Program == b.Program && a.Method == b.Method && a.From == b.From && a.To == b.To
	}},
	{"the same method and clusters", 0.3, func(a, b *Transfer) bool { return a.From == b.From && a.To == b.To }},
	{"the same method", 0.1, func(a, b *Transfer) bool { return true }},
}

// MinMeasuredBytes tell of more than delays, if they took long enough.
const MinMeasuredBytes = 1 << 20

// IsInformative says whether a transfer was large, or took long enough, to tell how
// fast the way is: a short one tells of nothing but delays, and to find each other
// takes two sites a second or two.
func IsInformative(bytes int64, took time.Duration) bool {
	const large, long = 16 << 20, 10 * time.Second
	return bytes >= large && took > 0 || bytes >= MinMeasuredBytes && took >= long
}

// TransferRate is the median of the bytes a second that were really sent from one
// cluster to another, and how many transfers that rests on.
func TransferRate(rows []Transfer, from, to string) (bytesPerSecond float64, n int) {
	var rates []float64
	for i := range rows {
		if r := &rows[i]; r.From == from && r.To == to && r.Sent > 0 && r.Seconds > 0 {
			rates = append(rates, float64(r.Sent)/r.Seconds)
		}
	}
	if len(rates) == 0 {
		return 0, 0
	}
	return medianOf(rates), len(rates)
}

const sandbox = "sandbox"

// NeverSandbox stands for what the sandbox costs a program that fails in it, or wants
// what is not there: a network, files outside its folder.
const NeverSandbox = checkpointing.NeverSandbox

// SandboxRatio is how many times longer a program takes in the sandbox.
type SandboxRatio struct {
	Ratio float64 // median
	Upper float64 // not more than this with 90 %
	Pairs int     // sets of arguments that were run both ways
}

// SandboxCost compares runs of a program with the same arguments in the sandbox
// and outside; false if there are none.
func SandboxCost(rows []Run, program string) (SandboxRatio, bool) {
	if !ranInSandbox(rows, program) {
		return SandboxRatio{}, false // as a rule, and every attempt that starts asks
	}
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
	mean, squares := meanAndSquares(ratios)
	n := float64(len(ratios))
	s := sameArgs.withObservations(squares, n-1)
	return SandboxRatio{Ratio: math.Exp(mean), Upper: math.Exp(mean + s.sd/math.Sqrt(n)*studentQuantile(s.df, 0.9)),
		Pairs: len(ratios)}, true
}

func ranInSandbox(rows []Run, program string) bool {
	for i := range rows {
		if r := &rows[i]; r.Method == sandbox && r.Program == program {
			return true
		}
	}
	return false
}
