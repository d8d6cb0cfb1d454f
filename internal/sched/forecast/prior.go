package forecast

import "slices"

const (
	// experience is how many values what is known of other series of a kind
	// counts as.
	experience = 80
	// fading is after how many values of the series itself it counts half.
	fading = 100
)

// Prior is what is known about a series before its first value: by how much
// each member of the family errs more than the best one, as a part of the
// error of the best, in series of the same kind. The zero Prior knows nothing.
// It does not change and may be copied.
type Prior struct {
	excess [nMembers]float64
	known  bool
}

// worst bounds what one series says about a member that does not suit it.
const worst = 1

// PoolPriors is what the errors of several series of one kind (see
// Forecaster.MemberErrors) say about the next such series. Series without an error
// say nothing.
func PoolPriors(series ...[]Track) Prior {
	var p Prior
	n := 0.0
	for _, tracks := range series {
		if len(tracks) != nMembers {
			continue
		}
		best := slices.MinFunc(tracks, func(a, b Track) int { return compareFloats(a.MAE, b.MAE) }).MAE
		if !(best > 0) {
			continue
		}
		for i, t := range tracks {
			p.excess[i] += min(t.MAE/best-1, worst)
		}
		n++
	}
	if n == 0 {
		return Prior{}
	}
	for i := range p.excess {
		p.excess[i] /= n
	}
	p.known = true
	return p
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
