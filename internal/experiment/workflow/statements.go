package workflow

import (
	"fmt"
	"math"
	"slices"
)

// A Verdict is a statement about the runs, and whether it holds.
type Verdict struct {
	Says   string
	Saw    string
	Wanted bool // it is asked for; others are told as they come out
	Holds  bool
}

// runsOf are the runs of a case that were placed in one way, by seed.
func (r *Results) runsOf(c *Case, way string) []Run {
	var list []Run
	for _, x := range r.Runs[c.Name] {
		if x.Way == way {
			list = append(list, x)
		}
	}
	return list
}

// meanOver of something over runs.
func meanOver(runs []Run, of func(*Run) float64) float64 {
	sum := 0.0
	for i := range runs {
		sum += of(&runs[i])
	}
	return sum / float64(len(runs))
}

func sweepOf(r *Run) float64 { return r.Sweep }

// gainOver is how much shorter ours is than another way: on average, and at the least.
func (r *Results) gainOver(c *Case, way string) (average, worst float64) {
	ours, other := r.runsOf(c, Ours), r.runsOf(c, way)
	worst = math.Inf(1)
	for i := range ours {
		g := 1 - ours[i].Sweep/other[i].Sweep
		average += g / float64(len(ours))
		worst = min(worst, g)
	}
	return average, worst
}

// aboveBound is how far ours is above the bound: on average, and at most.
func (r *Results) aboveBound(c *Case) (average, most float64) {
	runs := r.runsOf(c, Ours)
	for i := range runs {
		a := runs[i].Sweep/runs[i].Bound - 1
		average += a / float64(len(runs))
		most = max(most, a)
	}
	return average, most
}

// CheckCases goes through what is asked of each case.
func (r *Results) CheckCases() []Verdict {
	var list []Verdict
	for i := range r.Cases {
		c := &r.Cases[i]
		average, worst := r.gainOver(c, Random)
		list = append(list,
			Verdict{c.Name + ": at least as good as random placement in every seed",
				fmt.Sprintf("%s shorter at the least", formatPercent(worst)), true, worst >= 0},
			Verdict{c.Name + ": 20 % or more better than random placement on average",
				fmt.Sprintf("%s shorter on average", formatPercent(average)), true, average >= 0.20})
		even, evenWorst := r.gainOver(c, Dealt)
		list = append(list, Verdict{c.Name + ": better in every seed than random placement with equal numbers",
			fmt.Sprintf("%s shorter on average, %s at the least", formatPercent(even), formatPercent(evenWorst)), false,
			evenWorst > 0})
		static, staticWorst := r.gainOver(c, Static)
		list = append(list, Verdict{c.Name + ": better on average than the static plan",
			fmt.Sprintf("%s shorter on average, %s at the least", formatPercent(static), formatPercent(staticWorst)), false,
			static > 0})
		if c.Loaded == 0 {
			above, most := r.aboveBound(c)
			list = append(list, Verdict{c.Name + ": within 3 % of the lower bound of the sweep in every seed",
				fmt.Sprintf("%s above on average, %s at most", formatPercent(above), formatPercent(most)), !c.Wrong, most <= 0.03})
		}
	}
	return list
}

func formatPercent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// CountHolding is how many of the statements that are asked for hold.
func CountHolding(list []Verdict) (holds, all int) {
	for _, v := range list {
		if v.Wanted {
			all++
			if v.Holds {
				holds++
			}
		}
	}
	return holds, all
}

// formatSpan is a time as the paper writes it.
func formatSpan(seconds float64) string {
	s := int(math.Round(seconds))
	if s >= 2*3600 {
		m := int(math.Round(seconds / 60))
		return fmt.Sprintf("%d h %02d min", m/60, m%60)
	}
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}

// medianOver of something over runs.
func medianOver(runs []Run, of func(*Run) float64) float64 {
	var list []float64
	for i := range runs {
		list = append(list, of(&runs[i]))
	}
	slices.Sort(list)
	return list[len(list)/2]
}
