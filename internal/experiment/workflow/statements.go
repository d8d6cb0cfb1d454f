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

// of are the runs of a case that were placed in one way, by seed.
func (r *Results) of(c *Case, way string) []Run {
	var list []Run
	for _, x := range r.Runs[c.Name] {
		if x.Way == way {
			list = append(list, x)
		}
	}
	return list
}

// mean of something over runs.
func mean(runs []Run, of func(*Run) float64) float64 {
	sum := 0.0
	for i := range runs {
		sum += of(&runs[i])
	}
	return sum / float64(len(runs))
}

func sweepOf(r *Run) float64 { return r.Sweep }

// gain is how much shorter ours is than another way: on average, and at the least.
func (r *Results) gain(c *Case, way string) (average, worst float64) {
	ours, other := r.of(c, Ours), r.of(c, way)
	worst = math.Inf(1)
	for i := range ours {
		g := 1 - ours[i].Sweep/other[i].Sweep
		average += g / float64(len(ours))
		worst = min(worst, g)
	}
	return average, worst
}

// above is how far ours is above the bound: on average, and at most.
func (r *Results) above(c *Case) (average, most float64) {
	runs := r.of(c, Ours)
	for i := range runs {
		a := runs[i].Sweep/runs[i].Bound - 1
		average += a / float64(len(runs))
		most = max(most, a)
	}
	return average, most
}

// Check goes through what is asked of each case.
func (r *Results) Check() []Verdict {
	var list []Verdict
	for i := range r.Cases {
		c := &r.Cases[i]
		average, worst := r.gain(c, Random)
		list = append(list,
			Verdict{c.Name + ": at least as good as random placement in every seed", fmt.Sprintf("%s shorter at the least", part(worst)), true, worst >= 0},
			Verdict{c.Name + ": 20 % or more better than random placement on average", fmt.Sprintf("%s shorter on average", part(average)), true, average >= 0.20})
		even, evenWorst := r.gain(c, Dealt)
		list = append(list, Verdict{c.Name + ": better in every seed than random placement with equal numbers", fmt.Sprintf("%s shorter on average, %s at the least", part(even), part(evenWorst)), false, evenWorst > 0})
		static, staticWorst := r.gain(c, Static)
		list = append(list, Verdict{c.Name + ": better on average than the static plan", fmt.Sprintf("%s shorter on average, %s at the least", part(static), part(staticWorst)), false, static > 0})
		if c.Loaded == 0 {
			above, most := r.above(c)
			list = append(list, Verdict{c.Name + ": within 3 % of the lower bound of the sweep in every seed", fmt.Sprintf("%s above on average, %s at most", part(above), part(most)), !c.Wrong, most <= 0.03})
		}
	}
	return list
}

func part(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// Count is how many of the statements that are asked for hold.
func Count(list []Verdict) (holds, all int) {
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

// span is a time as the paper writes it.
func span(seconds float64) string {
	s := int(math.Round(seconds))
	if s >= 2*3600 {
		m := int(math.Round(seconds / 60))
		return fmt.Sprintf("%d h %02d min", m/60, m%60)
	}
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}

// median of something over runs.
func median(runs []Run, of func(*Run) float64) float64 {
	var list []float64
	for i := range runs {
		list = append(list, of(&runs[i]))
	}
	slices.Sort(list)
	return list[len(list)/2]
}
