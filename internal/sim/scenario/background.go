package scenario

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// BackgroundJob is a job that a cluster's own user starts without the broker.
type BackgroundJob struct {
	At      core.Time
	Cluster core.ClusterID
	Procs   int
	Run     time.Duration
}

// BackgroundJobs hands out background jobs in the order of time.
type BackgroundJobs struct {
	streams []Background
	horizon core.Time
	seed    uint64
	next    schedule
}

// BackgroundJobs is the stream of all background jobs that start before the
// horizon (core.Never: without end). Each kind draws from its own random
// numbers, so adding one leaves the others as they were.
func (s *Scenario) BackgroundJobs(seed uint64, horizon core.Time) *BackgroundJobs {
	b := &BackgroundJobs{streams: s.Background, horizon: horizon, seed: seed}
	for i := range b.streams {
		b.scheduleArrival(due{at: b.streams[i].From, index: int32(i)})
	}
	return b
}

// NextJob is the next job; false after the last.
func (b *BackgroundJobs) NextJob() (BackgroundJob, bool) {
	if len(b.next) == 0 {
		return BackgroundJob{}, false
	}
	d := b.next.popDue()
	s := &b.streams[d.index]
	procs := s.Procs[0] + int(b.drawNumber(d, drawProcs)*float64(s.Procs[1]-s.Procs[0]+1))
	run := s.Run[0] + time.Duration(b.drawNumber(d, drawRun)*float64(s.Run[1]-s.Run[0]))
	d.count++
	b.scheduleArrival(d)
	return BackgroundJob{d.at, s.Cluster, procs, run}, true
}

// scheduleArrival puts the next arrival after d.at on the schedule. With a fixed
// period the first job comes at the start of the stream.
func (b *BackgroundJobs) scheduleArrival(d due) {
	s := &b.streams[d.index]
	switch {
	case s.Arrivals.Poisson > 0:
		d.at = d.at.Add(exponentialTime(b.drawNumber(d, drawGap), s.Arrivals.Poisson))
	case d.count > 0:
		d.at = d.at.Add(s.Arrivals.Every)
	}
	if d.at < min(b.horizon, s.Until) {
		b.next.pushDue(d)
	}
}

func (b *BackgroundJobs) drawNumber(d due, which uint64) float64 {
	return hashFraction(b.seed, backgroundDraws, uint64(d.index), uint64(d.count), which)
}

// exponentialTime is a time drawn with the mean given, from a number in [0, 1).
func exponentialTime(u float64, mean time.Duration) time.Duration {
	return time.Duration(min(-math.Log1p(-u)*float64(mean), math.MaxInt64/2))
}
