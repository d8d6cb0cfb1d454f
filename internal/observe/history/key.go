package history

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// HourOf is the hour of the day in UTC.
func HourOf(t core.Time) int { return time.Unix(0, int64(t)).UTC().Hour() }

// LengthClass sorts jobs by how long they are expected to run: 1 up to a
// minute, 2 up to ten, 3 up to an hour, 4 up to eight, 5 more; 0 if unknown.
func LengthClass(seconds float64) int {
	switch {
	case seconds <= 0 || math.IsNaN(seconds):
		return 0
	case seconds <= 60:
		return 1
	case seconds <= 600:
		return 2
	case seconds <= 3600:
		return 3
	case seconds <= 8*3600:
		return 4
	}
	return 5
}
