package history

// Reliability is how far a cluster can be relied on: R = 1 − failed/requested
// (papers/004), as what is believed after these attempts. Before the first it
// is unknown, not perfect.
type Reliability struct {
	Requested int // attempts that say something about the cluster
	Failed    int // of these were lost, moved away to save the deadline, or ended after it
}

// ReliabilityOf counts the attempts. Those that say nothing of the cluster are
// left out: the program failed by itself, the user cancelled or stopped it.
func ReliabilityOf(rows []Run) Reliability {
	var r Reliability
	for i := range rows {
		switch row := &rows[i]; row.Outcome {
		case Lost, Moved:
			r.Requested++
			r.Failed++
		case Finished:
			r.Requested++
			if row.Deadline > 0 && row.Ended > row.Deadline {
				r.Failed++
			}
		}
	}
	return r
}

// SucceededAttempts is the attempts that the cluster brought to their end, in time.
func (r Reliability) SucceededAttempts() int { return r.Requested - r.Failed }

// IsKnown reports whether there is any experience at all.
func (r Reliability) IsKnown() bool { return r.Requested > 0 }

// Mean is the expected reliability: Beta posterior from Jeffreys' prior.
func (r Reliability) Mean() float64 {
	a, b := r.betaParameters()
	return a / (a + b)
}

// LowerBound is what the reliability exceeds with the given probability.
func (r Reliability) LowerBound(level float64) float64 {
	a, b := r.betaParameters()
	return betaQuantile(a, b, 1-level)
}

func (r Reliability) betaParameters() (a, b float64) {
	return float64(r.Requested-r.Failed) + 0.5, float64(r.Failed) + 0.5
}
