package workpool

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const (
	speedStep   = 250 * time.Millisecond // between two samples
	speedWindow = 40                     // samples that are kept: the last ten seconds
)

// speed is how many items were counted lately.
type speed struct{ samples []speedSample }

type speedSample struct {
	at      core.Time
	counted int
}

// addSample notes how many items are counted.
func (s *speed) addSample(now core.Time, counted int) {
	if n := len(s.samples); n > 1 && now.Sub(s.samples[n-2].at) < speedStep {
		s.samples[n-1] = speedSample{now, counted}
		return
	}
	s.samples = append(s.samples, speedSample{now, counted})
	if len(s.samples) > speedWindow {
		s.samples = append([]speedSample(nil), s.samples[1:]...)
	}
}

// itemsPerSecond is how fast items are counted; 0: not known yet.
func (s *speed) itemsPerSecond() float64 {
	if len(s.samples) < 2 {
		return 0
	}
	first, last := s.samples[0], s.samples[len(s.samples)-1]
	if took := last.at.Sub(first.at).Seconds(); took > 0 {
		return float64(last.counted-first.counted) / took
	}
	return 0
}
