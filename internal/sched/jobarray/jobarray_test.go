package jobarray

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAnArrayNeverHasMoreInTheQueueThanItMayAndUsesAllItMay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Load{Limit: rapid.IntRange(0, 2*QueueDepth).Draw(t, "limit")}
		left := rapid.IntRange(0, 4*QueueDepth).Draw(t, "elements")
		for left > 0 || l.Entered > 0 {
			n := l.Admit(left)
			if n < 0 || n > left {
				t.Fatalf("%d of %d come in", n, left)
			}
			left, l.Entered, l.Queued = left-n, l.Entered+n, l.Queued+n
			if l.Queued > QueueDepth || l.Limit > 0 && l.Entered > l.Limit {
				t.Fatalf("%d are in the queue, %d have not started, limit %d", l.Entered, l.Queued, l.Limit)
			}
			if full := l.Queued == QueueDepth || l.Limit > 0 && l.Entered == l.Limit; left > 0 && !full {
				t.Fatalf("%d are kept out though there is room: %+v", left, l)
			}
			started := rapid.IntRange(0, l.Queued).Draw(t, "start")
			l.Queued -= started
			ended := min(l.Entered-l.Queued, started+rapid.IntRange(1, QueueDepth).Draw(t, "end"))
			if l.Entered -= ended; ended == 0 { // those who wait are cancelled
				l.Entered, l.Queued = l.Entered-l.Queued, 0
			}
		}
	})
}
