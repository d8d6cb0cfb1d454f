package nodesel

import (
	"math"
	"slices"
)

// Bandwidths that measuring cannot tell apart are made equal by rounding them down
// to steps, each larger than the one before by a given part: all within a step are
// equal then. A choice is made by the rounded numbers; what is said of it is worked
// out again from the true ones.

// RoundedDown is the table with bandwidths rounded down to steps.
func (b *Bandwidths) RoundedDown(step float64) *Bandwidths {
	r := &Bandwidths{n: b.n, mbps: slices.Clone(b.mbps), most: slices.Clone(b.most)}
	for i, x := range b.mbps {
		r.mbps[i] = roundDown(x, step)
	}
	return r
}

// roundedBy is the table rounded, or itself if there is nothing to round by.
func roundedBy(step float64, b *Bandwidths) *Bandwidths {
	if step > 0 {
		return b.RoundedDown(step)
	}
	return b
}

func roundDown(x, step float64) float64 {
	each := math.Log1p(step)
	if steps := math.Log(x) / each; math.Abs(steps) < 1<<53 { // else it is 0, or steps are finer than numbers
		return math.Exp(math.Floor(steps) * each)
	}
	return x
}

// chooseAlike has hosts chosen on rounded bandwidths and says what the groups are
// worth without rounding. The bound is a value that occurs: optimal says that nothing
// is better without rounding either.
func chooseAlike(b *Bandwidths, p *Pattern, o Options,
	choose func(*Bandwidths, Options) (*Selection, error)) (*Selection, error) {
	step := o.Alike
	o.Alike = 0
	sel, err := choose(b.RoundedDown(step), o)
	if err != nil {
		return nil, err
	}
	values := possibleValues(b, p)
	reach := func(most float64) float64 {
		i, there := slices.BinarySearch(values, most)
		if !there {
			i--
		}
		return values[max(0, i)]
	}
	sel.undoRounding(step, func(hosts []int) float64 { return choiceValue(b, p, hosts) }, reach)
	return sel, nil
}

// undoRounding says of the groups what they are worth without rounding. A rounded value
// is less than a step below the true one, so that no choice reaches more than the
// rounded bound and a step; reach is the largest true value up to that.
func (sel *Selection) undoRounding(step float64, worth func(hosts []int) float64, reach func(most float64) float64) {
	const slack = 1 + 1e-9 // for what powers and logarithms lose
	most := func(rounded float64) float64 { return reach(rounded * (1 + step) * slack) }
	for i := range sel.Groups {
		g := &sel.Groups[i]
		bound := most(g.Mbps)
		g.Mbps = worth(g.Hosts)
		g.Optimal = g.Optimal && g.Mbps >= bound
	}
	sel.Group = sel.Groups[0]
	sel.Bound = math.Max(most(sel.Bound), sel.Mbps)
	sel.Optimal = sel.Mbps == sel.Bound
}
