package checkpointing

import (
	"math"
	"time"
)

// When a program is saved without being told to.
const (
	firstSave       = 30 * time.Second // from the start of an attempt, to know what saving costs
	MinSaveInterval = 20 * time.Second // between two saves
	maxSaveInterval = time.Hour
	defaultMTBF     = 24 * time.Hour
	pushShare       = 10 // the time to bring an image away is at most one part in so many
)

// SaveSchedule decides when the next save is due.
type SaveSchedule struct {
	Every  time.Duration // what the user wants: 0 leaves it to us, negative is never
	MTBF   time.Duration // mean time between failures of this cluster
	Frozen time.Duration // what the last save cost the program; 0: none was made
	Took   time.Duration // until the last save was safe
	Failed int           // saves that failed since the last that did not
}

// NextSave is how long after the last save, or after the start of the attempt, the
// next one is due; false if never.
func (s *SaveSchedule) NextSave() (time.Duration, bool) {
	if s.Every < 0 {
		return 0, false
	}
	wait := s.Every
	if wait == 0 {
		wait = s.dalyInterval()
	}
	for range min(s.Failed, 6) {
		wait *= 2 // a disk that is full does not empty at once
	}
	return wait, true
}

// dalyInterval is the one of Daly (2006), which loses the least time to saving and
// to work done again after a failure; for small costs it is Young's √(2·C·M).
func (s *SaveSchedule) dalyInterval() time.Duration {
	if s.Frozen == 0 {
		return firstSave
	}
	mtbf := s.MTBF
	if mtbf <= 0 {
		mtbf = defaultMTBF
	}
	wait := optimalInterval(s.Frozen.Seconds(), mtbf.Seconds())
	d := time.Duration(wait * float64(time.Second))
	return min(max(d, MinSaveInterval, pushShare*s.Took), maxSaveInterval)
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

// IsWorthIt says whether a save that is due should be made although the program
// may end soon: left is what it probably still takes, negative if that is not known.
func (s *SaveSchedule) IsWorthIt(left time.Duration) bool {
	return left < 0 || s.Every > 0 || left > 2*max(s.Took, s.Frozen, time.Second)
}
