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
)

// WaitFor looks again and again until something holds, and ends the test if it never does.
func WaitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLimit); !holds(); time.Sleep(waitPause) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain for %s", waitLimit, what)
		}
	}
}
