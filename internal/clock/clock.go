// Package clock is the only owner of time.Now. Whoever needs the wall clock
// is handed a Clock, so that tests decide what time it is and nothing that
// decides can ask behind our backs. It must not know what the time is for.
package clock

import (
	"context"
	"time"
)

// Clock tells the time. A test writes its own: func() time.Time { return now }.
type Clock func() time.Time

// RealClock is the machine's clock.
func RealClock() Clock { return time.Now }

// Since is the time that has passed from t until now.
func (c Clock) Since(t time.Time) time.Duration { return c().Sub(t) }

// SleepContext waits for so long; false if ctx ended before.
func SleepContext(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
