package history

import (
	"cmp"
	"math"
	"slices"
)

const (
	// wantedMiss is the part of the ends that is to be outside a 90 % band on each side.
	wantedMiss = 0.05
	// ownStep and otherStep are by how much the logarithm of the stretch follows a run
	// whose predictions all missed on one side: one of the same program, and of another.
	ownStep, otherStep = 0.8, 0.4
	// firstSteps: steps are larger while few runs have been seen, (1 + firstSteps /
	// (n + firstSteps/4)) times as large with the n-th.
	firstSteps = 10
	// maxWidening is by how much a side becomes wider at most after one run.
	maxWidening = 2
	// maxStretch is how many times wider or narrower a side becomes at most.
	maxStretch = 8
)

// BandStretch is how much the low and the high side of the bands that are predicted for a
// program have to be stretched so that 90 % of them hold, by how the predictions of
// earlier runs held: own are runs of the program, all the newest of any. It follows the
// quantile run by run (online conformal prediction): after each, a side becomes wider if
// more than 5 % of the ends were beyond it and narrower if fewer were. So about 90 %
// hold in the long run however wrong the predicted distributions are, also where the
// machines change.
func BandStretch(own, all []Run, program string) (low, high float64) {
	judged := make([]*Run, 0, len(own)+len(all))
	for i := range own {
		if own[i].Program == program && len(own[i].Deviations) > 0 {
			judged = append(judged, &own[i])
		}
	}
	for i := range all {
		if all[i].Program != program && len(all[i].Deviations) > 0 {
			judged = append(judged, &all[i])
		}
	}
	slices.SortStableFunc(judged, func(a, b *Run) int { return cmp.Compare(a.Ended, b.Ended) })
	logLow, logHigh := 0.0, 0.0
	for n, r := range judged {
		step := otherStep
		if r.Program == program {
			step = ownStep
		}
		step *= 1 + firstSteps/(float64(n+1)+firstSteps/4)
		before, after := r.missedParts(math.Exp(logLow), math.Exp(logHigh))
		logLow = followMisses(logLow, step, before)
		logHigh = followMisses(logHigh, step, after)
	}
	return math.Exp(logLow), math.Exp(logHigh)
}

// missedParts is the part of the predictions of a run whose end was before and after the
// band, had it been stretched so.
func (r *Run) missedParts(low, high float64) (before, after float64) {
	part := 1 / float64(len(r.Deviations))
	for _, d := range r.Deviations {
		switch {
		case d < -low:
			before += part
		case d > high:
			after += part
		}
	}
	return before, after
}

// followMisses is the logarithm of the stretch of a side after a run in which a part of
// the ends was beyond it.
func followMisses(log, step, missed float64) float64 {
	limit := math.Log(maxStretch)
	return min(max(log+min(step*(missed-wantedMiss), math.Log(maxWidening)), -limit), limit)
}
