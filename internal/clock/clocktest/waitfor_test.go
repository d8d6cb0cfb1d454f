package clocktest_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// failing notes what ends a test instead of ending it.
type failing struct {
	testing.TB
	told string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.told = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWaitingEndsWhenItHoldsAndTellsWhatWasSeenIfItNeverDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		clocktest.WaitFor(t, "a second", func() bool { return time.Since(begin) >= time.Second })
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("noticed after %v", took)
		}
		f := &failing{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			clocktest.PollLoop{Limit: time.Minute, Pause: time.Second}.WaitFor(f, "Godot", func() bool { return false },
				func() string { return "a tree" })
		}()
		<-ended
		if f.told != "waited 1m0s in vain for Godot: a tree" {
			t.Errorf("told %q", f.told)
		}
	})
}

func TestWhatTakesLongToLookAtIsLookedAtHalfTheTimeAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		if (clocktest.PollLoop{Limit: 10 * time.Second}).Until(func() bool {
			looks++
			time.Sleep(100 * time.Millisecond)
			return false
		}) {
			t.Error("it holds")
		}
		if looks > 51 {
			t.Errorf("looked %d times of a tenth of a second within ten", looks)
		}
	})
}
