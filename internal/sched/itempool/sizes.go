package itempool

import "math"

const (
	// batchSeconds is how much work a worker has in its hands: so rarely it asks for more, and so
	// much is done again when it is lost.
	batchSeconds = 0.5
	// maxBatch bounds how many items that is.
	maxBatch = 2000
	// startSeconds is about what it takes until one more worker runs.
	startSeconds = 1.0
	// MaxWorkerFailures is how many workers may end one after the other without an item counted
	// in between before the pool is given up.
	MaxWorkerFailures = 10
)

// Load is how a pool stands.
type Load struct {
	Min, Max int     // workers that its user wants
	Left     int     // items that are not counted
	Waiting  int     // of them those that no worker holds
	Workers  int     // that have not ended
	Queued   int     // of them those that do not run yet
	Idle     int     // processors that are free where a worker may run
	Seconds  float64 // that an item takes in the mean; 0: not known yet
}

// BatchSize is how many more items a worker gets that holds so many. Towards the end, when few
// wait, each gets less, so that all end at about the same time.
func (l *Load) BatchSize(holds int) int {
	if l.Waiting <= 0 {
		return 0
	}
	n := 1
	if l.Seconds > 0 {
		n = int(math.Min(maxBatch, math.Max(1, batchSeconds/l.Seconds)))
	}
	running := max(1, l.Workers-l.Queued)
	share := (l.Waiting + 2*running - 1) / (2 * running)
	return max(0, min(n, share)-holds)
}

// MissingWorkers is how many more workers to start: as many as the user wants at least, and more
// while items wait, processors are free and the rest is worth the start of another.
func (l *Load) MissingWorkers() int {
	floor, most := min(l.Min, l.Left), min(l.Max, l.Left)
	if l.Workers < floor {
		return floor - l.Workers
	}
	running := l.Workers - l.Queued
	if running > 0 && l.Seconds > 0 && float64(l.Waiting)*l.Seconds/float64(running) < startSeconds {
		return 0
	}
	return max(0, min(most-l.Workers, l.Idle-l.Queued, l.Waiting))
}

// MayLeave reports whether a worker that holds nothing may end: nothing waits, and enough others
// are there should items come back.
func (l *Load) MayLeave() bool {
	return l.Left == 0 || l.Waiting == 0 && l.Workers > max(1, min(l.Min, l.Left))
}
