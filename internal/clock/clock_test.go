package clock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheRealClockNeverRunsBackwards(t *testing.T) {
	c := RealClock()
	start := c()
	if d := c.Since(start); d < 0 {
		t.Errorf("%v passed between two readings, want no less than 0", d)
	}
}

func TestAClockOfATestStandsStillUntilMoved(t *testing.T) {
	now := time.Unix(1000, 0)
	c := Clock(func() time.Time { return now })
	start := c()
	if d := c.Since(start); d != 0 {
		t.Errorf("%v passed on a clock nobody moved", d)
	}
	now = now.Add(time.Minute)
	if d := c.Since(start); d != time.Minute {
		t.Errorf("%v passed, want a minute", d)
	}
}

func TestASleepLastsItsTimeOrUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		if !SleepContext(ctx, 3*time.Second) || time.Since(start) != 3*time.Second {
			t.Errorf("a sleep of 3 s lasted %v", time.Since(start))
		}
		if SleepContext(ctx, time.Hour) || time.Since(start) != 5*time.Second {
			t.Errorf("the context ended after 5 s, the sleep in it after %v", time.Since(start))
		}
	})
}
