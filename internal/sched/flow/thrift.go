package flow

// Thrift says how long it pays to look for a better plan than the first one: as long
// as plans get shorter by more than it takes to find them, and a little longer. It is
// told the time and looks at no clock; all is in seconds.
type Thrift struct {
	asked bool
	unit  float64 // what the first plan took
	since float64 // when it was there
	first float64 // its makespan
	best  float64 // the last one that paid for its time
	found float64 // when that was
}

// What a search may take without result.
const (
	vainOfPlan = 1.0 / 3000 // of the makespan, while nothing is gained
	vainOfGain = 1.0 / 8    // more, of what was gained and not spent
	vainMost   = 1.0 / 400  // of the makespan, in all
	vainOfGap  = 1.0 / 40   // of what could be gained
	vainTime   = 1.0        // seconds

	mostTime = 8.0 // seconds, after the first plan, with result or without
)

// PaysOff tells whether to go on, so many seconds after planning began, with the best
// makespan so far and the lower bound, if what comes next takes as long as so many
// first plans. It is to be asked first when the first plan is there.
func (t *Thrift) PaysOff(now, best, bound, next float64) bool {
	if !t.asked {
		t.asked, t.unit, t.since, t.first, t.best, t.found = true, now, now, best, best, now
	}
	if t.best-best > max(now-t.found, 1e-4*best) {
		t.best, t.found = best, now
	}
	net := max(0, t.first-t.best-(t.found-t.since))
	vain := min(vainTime, vainMost*best, vainOfPlan*best+vainOfGain*net, vainOfGap*(best-bound))
	return now-t.found+next*t.unit < vain && now-t.since < mostTime
}
