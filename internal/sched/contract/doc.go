// Package contract holds a running program to the speed that was promised when its hosts were chosen (spec 30,
// papers/000): the ratio of actual to predicted time of each phase, the limits within which the contract is kept, and
// how the limits follow the program when nobody does anything about a violation. It must not know how times are
// measured or predicted, or what becomes of a violation.
package contract

import (
	"fmt"
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The limits of the paper: a phase may take 0.7 to 2 times as long as was promised.
const (
	DefaultLower       = 0.7
	DefaultUpper       = 2.0
	DefaultConsecutive = 3
)

// The rules by which ratios are judged.
const (
	RuleAverage     = "average"      // the ratio and the average of all exceed the limit (GrADS)
	RuleConsecutive = "consecutive"  // so many ratios in a row exceed it (Cactus)
	RuleChangePoint = "change-point" // the level has changed beyond chance, and the new level exceeds it
)

// RuleNames lists the rules, the default first.
func RuleNames() []string { return []string{RuleAverage, RuleConsecutive, RuleChangePoint} }

// Finding is what a phase says of the contract.
type Finding uint8

const (
	Kept     Finding = iota
	Violated         // ask the rescheduler
	Lowered          // faster than promised: the limits follow
)

// Rule says when ratios violate the upper limit, or stay below the lower one.
type Rule interface {
	// IsAbove reports whether the ratios, of which the last was just added, are above the limit.
	IsAbove(h *History, limit float64) bool
	// IsBelow is the same for the lower limit.
	IsBelow(h *History, limit float64) bool
}

// NewRule is the rule of a contract.
func NewRule(c *core.Contract) (Rule, error) {
	switch c.Rule {
	case "", RuleAverage:
		return averageRule{}, nil
	case RuleConsecutive:
		n := c.Consecutive
		if n == 0 {
			n = DefaultConsecutive
		}
		return consecutiveRule{n}, nil
	case RuleChangePoint:
		return changePointRule{}, nil
	}
	return nil, fmt.Errorf("no rule is called %q", c.Rule)
}

// averageRule is the paper's: a single ratio may be a short disturbance, so that the average has to agree.
type averageRule struct{}

func (averageRule) IsAbove(h *History, limit float64) bool { return min(h.Last(), h.Average()) > limit }
func (averageRule) IsBelow(h *History, limit float64) bool { return max(h.Last(), h.Average()) < limit }

// consecutiveRule wants several ratios in a row beyond the limit.
type consecutiveRule struct{ n int }

func (r consecutiveRule) IsAbove(h *History, limit float64) bool {
	return h.countTrailing(r.n, func(x float64) bool { return x > limit }) >= r.n
}

func (r consecutiveRule) IsBelow(h *History, limit float64) bool {
	return h.countTrailing(r.n, func(x float64) bool { return x < limit }) >= r.n
}

// changePointRule compares the ratios since the likeliest moment of a change with those before it. Without a change
// all of them are one level.
type changePointRule struct{}

func (changePointRule) IsAbove(h *History, limit float64) bool {
	level, known := h.presentLevel()
	return known && level > limit
}

func (changePointRule) IsBelow(h *History, limit float64) bool {
	level, known := h.presentLevel()
	return known && level < limit
}

const (
	minSegment = 3    // ratios on each side of a change
	leastNoise = 0.02 // standard deviation of the logarithm of a ratio, whatever so few of them say
	// changeBarrier is the score of a split beyond which it is no chance: with up to 64 places looked at, one false
	// alarm in some thousand phases.
	changeBarrier = 4.5
)

// presentLevel is the mean ratio since the last change; unknown while there are too few.
func (h *History) presentLevel() (float64, bool) {
	x := h.recent
	if len(x) < minSegment {
		return 0, false
	}
	best, from := 0.0, 0
	for at := minSegment; at <= len(x)-minSegment; at++ {
		if score := splitScore(x[:at], x[at:]); score > best {
			best, from = score, at
		}
	}
	if best < changeBarrier {
		from = 0
	}
	mean, _ := logMoments(x[from:])
	return math.Exp(mean), true
}

// splitScore is how many standard errors two pieces differ by.
func splitScore(a, b []float64) float64 {
	ma, va := logMoments(a)
	mb, vb := logMoments(b)
	v := max((va*float64(len(a))+vb*float64(len(b)))/float64(len(a)+len(b)-2), leastNoise*leastNoise)
	return math.Abs(ma-mb) / math.Sqrt(v*(1/float64(len(a))+1/float64(len(b))))
}

// logMoments are mean and variance of the logarithms.
func logMoments(x []float64) (mean, variance float64) {
	for _, r := range x {
		mean += math.Log(r)
	}
	mean /= float64(len(x))
	for _, r := range x {
		d := math.Log(r) - mean
		variance += d * d
	}
	return mean, variance / float64(len(x))
}
