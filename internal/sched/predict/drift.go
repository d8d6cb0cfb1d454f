package predict

import "math"

// drift is how well a quantity that is estimated again and again held so far:
// each time the run has become a quarter longer, how far the estimate made
// then is from what came since. It is a variance of the logarithm for each
// e-fold of the run; older ones count less.
type drift struct {
	at       float64 // length of the run at the last mark; 0: none yet
	amount   float64 // done until then
	estimate float64 // rate expected then
	squares  float64
	folds    float64
}

const (
	driftEvery = 1.25
	driftKeep  = 0.8
	// driftPrior e-folds count for a drift of driftSigma.
	driftPrior = 0.5
	driftSigma = 0.05
)

// markProgress is told the length of the run, the amount done until now and the rate
// (amount for length) expected from now on.
func (d *drift) markProgress(at, amount, estimate float64) {
	if !(at > 0) || !(estimate > 0) {
		return
	}
	if d.at > 0 {
		if at < d.at*driftEvery {
			return
		}
		if came := (amount - d.amount) / (at - d.at); came > 0 {
			// The rate so far and the one that came make the rate of the whole;
			// its error is what counts for the end.
			e := math.Log(came/d.estimate) * (at - d.at) / at
			d.squares = d.squares*driftKeep + e*e
			d.folds = d.folds*driftKeep + math.Log(at/d.at)
		}
	}
	d.at, d.amount, d.estimate = at, amount, estimate
}

// perFold is the variance for one e-fold.
func (d *drift) perFold() float64 {
	return (d.squares + driftPrior*driftSigma*driftSigma) / (d.folds + driftPrior)
}
