// Package clocktest is how tests wait for what happens in other processes, of which nobody
// tells them. Where somebody does, by a channel, tests wait for that instead.
package clocktest

import (
	"testing"
	"time"
)

// Only what hangs reaches the limit, however busy the machine is.
const (
	waitLimit = 3 * time.Minute
	waitPause = 5 * time.Millisecond
	lookPause = 200 * time.Millisecond // at most, after a look that took long
)

// PollLoop looks again and again until something holds. What is not set is as in WaitFor:
// three minutes, and a pause of five milliseconds.
type PollLoop struct {
	Limit time.Duration // after which something that does not hold never will
	Pause time.Duration // at least, between two looks; longer where a look itself takes longer
}

// Until says whether something holds before the limit: for those who are to go on if it does not.
func (l PollLoop) Until(holds func() bool) bool {
	if l.Pause == 0 {
		l.Pause = waitPause
	}
	for end := time.Now().Add(l.limit()); ; {
		begin := time.Now()
		if holds() {
			return true
		}
		now := time.Now()
		if now.After(end) {
			return false
		}
		// Whoever asks by starting programs leaves the processors to those who are waited for.
		time.Sleep(max(l.Pause, min(now.Sub(begin), lookPause)))
	}
}

// WaitFor ends the test if something does not hold before the limit, and tells what was seen instead.
func (l PollLoop) WaitFor(t testing.TB, what string, holds func() bool, seen ...func() string) {
	t.Helper()
	if l.Until(holds) {
		return
	}
	instead := ""
	for _, s := range seen {
		instead += ": " + s()
	}
	t.Fatalf("waited %v in vain for %s%s", l.limit(), what, instead)
}

func (l PollLoop) limit() time.Duration {
	if l.Limit == 0 {
		return waitLimit
	}
	return l.Limit
}

// WaitFor looks again and again until something holds. If it never does, it ends the test and
// tells what was seen instead.
func WaitFor(t testing.TB, what string, holds func() bool, seen ...func() string) {
	t.Helper()
	PollLoop{}.WaitFor(t, what, holds, seen...)
}
