package measure

import (
	"math"
	"slices"
)

// On a busy machine a run now and then takes several times the CPU time of the others:
// the hypervisor took the processor away and the kernel counts that as the program's, or
// others emptied the caches. A program that runs for seconds has its share of that, but
// among runs of milliseconds it is a matter of luck at which size it happens, and a formula
// through their means is then bent: at ten times the size that counts ten times. So such
// runs are left out of what is told of their size, and what they cost is spread evenly
// over all sizes.

// A run is such a burst if it lies above the middle half of the runs by so many times the
// width of that half, and by so much of the median.
const (
	burstWidths = 3.0
	burstShare  = 0.25
	fewestRuns  = 5 // with fewer nobody can tell
)

// withoutBursts is the runs without bursts.
func (t *timed) withoutBursts() *timed {
	if len(t.took) < fewestRuns {
		return t
	}
	steady := make([]float64, len(t.took))
	for i, v := range t.took {
		steady[i] = v / t.slow[i]
	}
	sorted := slices.Sorted(slices.Values(steady))
	lower, median, upper := sortedQuantile(sorted, 0.25), sortedQuantile(sorted, 0.5), sortedQuantile(sorted, 0.75)
	limit := max(upper+burstWidths*(upper-lower), median*(1+burstShare))
	u := &timed{size: t.size, faults: t.faults}
	for i, v := range steady {
		if v <= limit {
			u.took, u.slow, u.sum = append(u.took, t.took[i]), append(u.slow, t.slow[i]), u.sum+t.took[i]
		}
	}
	return u
}

// sortedQuantile is of a sorted list, between its values where need be.
func sortedQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// burstFactor is how many times longer programs take because of bursts: over the CPU time
// of all runs. A few bursts say little about how many there will be; as with the slowness
// of the host half of it is taken to last.
func burstFactor(all, usual []*timed) float64 {
	took, without := 0.0, 0.0
	for i, t := range all {
		u := usual[i]
		took += t.sum
		without += u.sum / float64(len(u.took)) * float64(len(t.took))
	}
	if without <= 0 {
		return 1
	}
	return math.Sqrt(max(1, took/without))
}
