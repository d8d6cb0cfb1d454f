package jobarray

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAnArrayNeverHasMoreInTheQueueThanItMayAndUsesAllItMay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left, queued := rapid.IntRange(0, 4*QueueDepth).Draw(t, "elements"), 0
		for left > 0 {
			n := Admit(left, queued)
			if n < 0 || n > left {
				t.Fatalf("%d of %d come in", n, left)
			}
			left, queued = left-n, queued+n
			if queued > QueueDepth || left > 0 && queued < QueueDepth {
				t.Fatalf("%d are in the queue, %d are kept out", queued, left)
			}
			queued -= rapid.IntRange(1, max(1, queued)).Draw(t, "start")
		}
	})
}
