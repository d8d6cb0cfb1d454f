package clock

import (
	"testing"
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
