package agent

import (
	"math"
	"time"
)

// When a program is saved without being told to.
const (
	firstSave       = 30 * time.Second // from the start of an attempt, to know what saving costs
	minSaveInterval = 20 * time.Second // between two saves
	maxSaveInterval = time.Hour
	defaultMTBF     = 24 * time.Hour
	pushShare       = 10 // the time to bring an image away is at most one part in so many
)

// saving decides when the next save is due.
type saving struct {
	every  time.Duration // what the user wants: 0 leaves it to us, negative is never
	mtbf   time.Duration // mean time between failures of this cluster
	frozen time.Duration // what the last save cost the program; 0: none was made
	took   time.Duration // until the last save was safe
	failed int           // saves that failed since the last that did not
}

// nextSave is how long after the last save, or after the start of the attempt, the
// next one is due; false if never.
func (s *saving) nextSave() (time.Duration, bool) {
	if s.every < 0 {
		return 0, false
	}
	wait := s.every
	if wait == 0 {
		wait = s.dalyInterval()
	}
	for range min(s.failed, 6) {
		wait *= 2 // a disk that is full does not empty at once
	}
	return wait, true
}

// dalyInterval is the one of Daly (2006), which loses the least time to saving and
// to work done again after a failure; for small costs it is Young's √(2·C·M).
func (s *saving) dalyInterval() time.Duration {
	if s.frozen == 0 {
		return firstSave
	}
	mtbf := s.mtbf
	if mtbf <= 0 {
		mtbf = defaultMTBF
	}
	wait := optimalInterval(s.frozen.Seconds(), mtbf.Seconds())
	d := time.Duration(wait * float64(time.Second))
	return min(max(d, minSaveInterval, pushShare*s.took), maxSaveInterval)
}

// optimalInterval is the time between saves that cost c seconds each, where failures are m
// seconds apart.
func optimalInterval(c, m float64) float64 {
	if c >= 2*m {
		return m
	}
	r := c / (2 * m)
	return math.Sqrt(2*c*m)*(1+math.Sqrt(r)/3+r/9) - c
}

// worthIt says whether a save that is due should be made although the program
// may end soon: left is what it probably still takes, negative if that is not known.
func (s *saving) worthIt(left time.Duration) bool {
	return left < 0 || s.every > 0 || left > 2*max(s.took, s.frozen, time.Second)
}
