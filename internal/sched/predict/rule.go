package predict

// Rule is how the share that is to be expected from now on is taken from the
// samples so far: ChangePoint, FixedN or MeanOnly.
type Rule interface {
	// prepareSeries sets up a series that has seen nothing.
	prepareSeries(s *series)
}

// ChangePoint takes the mean since the last change that a test found, and
// expects further changes as often as there were some.
type ChangePoint struct {
	// FalseAlarm is the rate of false alarms: how many changes a sample are
	// found at most in a series that does not change, whatever its noise, if
	// the samples do not depend on each other. If they do, that has to be
	// learned first, at the cost of several times as many. 0: DefaultFalseAlarm.
	FalseAlarm float64
}

// DefaultFalseAlarm is one false alarm in 1,000 samples: at the usual 2 s one
// in half an hour.
const DefaultFalseAlarm = 1e-3

// FixedN is the rule of papers/004 section 4.8.3: the mean of all samples,
// unless the last N or more lie on one side of it: then the mean of those. The
// paper's N is 10.
type FixedN struct{ N int }

// MeanOnly takes the mean of all samples.
type MeanOnly struct{}

// testsPerSample is how many independent tests all the boundaries tried with
// one sample are worth: on independent samples this many keep the stated rate.
const testsPerSample = 2

// prepareSeries sets the score at which a test that is repeated with every sample
// raises false alarms at the stated rate.
func (r ChangePoint) prepareSeries(s *series) {
	rate := r.FalseAlarm
	if !(rate > 0) {
		rate = DefaultFalseAlarm
	}
	z := normalScore(1 - min(rate, 0.5)/(2*testsPerSample))
	s.barrier = z * z
}

func (r FixedN) prepareSeries(s *series) { s.oneSide = max(r.N, 1) }

func (MeanOnly) prepareSeries(*series) {}
