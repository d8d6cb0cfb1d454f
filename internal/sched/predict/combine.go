package predict

import (
	"cmp"
	"slices"
)

// cells divide a distribution for combining it with another one: narrow at the
// ends, where the quantiles that matter most are.
var cells = [...]float64{
	0, 0.005, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
	0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.995, 1,
}

const nCells = len(cells) - 1

// weighted is a value that stands for a part of a distribution.
type weighted struct{ x, w float64 }

// Sum is the distribution of a + b where they do not depend on each other.
func Sum(a, b Dist) Dist {
	switch {
	case !a.known || !b.known:
		return Dist{}
	case b.isCertain():
		return a.mapQuantiles(func(x float64) float64 { return x + b.q[0] })
	}
	var xs, ys [nCells]float64
	for i := range nCells {
		p := (cells[i] + cells[i+1]) / 2
		xs[i], ys[i] = a.Quantile(p), b.Quantile(p)
	}
	var all [nCells * nCells]weighted
	for i, x := range xs {
		for j, y := range ys {
			all[i*nCells+j] = weighted{clampPositive(x + y), (cells[i+1] - cells[i]) * (cells[j+1] - cells[j])}
		}
	}
	return ofWeighted(all[:])
}

func (d Dist) isCertain() bool { return d.known && d.q[0] == d.q[NLevels-1] }

// ofWeighted is the distribution of a weighted sample, whose order it changes;
// the weights add up to one.
func ofWeighted(all []weighted) Dist {
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.x, b.x) })
	d := Dist{known: true}
	at, before := 0, 0.0 // before: weight of what lies below all[at]
	for l, p := range levels {
		for at < len(all)-1 && before+all[at].w < p {
			before += all[at].w
			at++
		}
		// A value stands in the middle of its weight.
		x, mid := all[at].x, before+all[at].w/2
		switch {
		case p < mid && at > 0:
			x = interpolateBetween(all[at-1].x, x, (p-mid)/((all[at-1].w+all[at].w)/2)+1)
		case p > mid && at < len(all)-1:
			x = interpolateBetween(x, all[at+1].x, (p-mid)/((all[at].w+all[at+1].w)/2))
		}
		d.q[l] = clampPositive(x)
	}
	return d.repairOrder()
}

func interpolateBetween(a, b, f float64) float64 {
	if a == b {
		return a
	}
	return a + (b-a)*min(max(f, 0), 1)
}
