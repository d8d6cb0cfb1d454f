package jobarray

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAQueueIsFilledManyAtATimeNeverTooFarAndNeverRunsDry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left, queued := rapid.IntRange(0, 4*QueueDepth).Draw(t, "elements"), 0
		for left > 0 {
			n := Refill(left, queued)
			if n < 0 || n > left || n != 0 && n < min(left, RefillSize) {
				t.Fatalf("%d of %d come in", n, left)
			}
			if left, queued = left-n, queued+n; queued > QueueDepth {
				t.Fatalf("%d are in the queue", queued)
			}
			if n > 0 {
				continue
			}
			if queued <= QueueDepth-RefillSize {
				t.Fatalf("only %d are in the queue, and %d are kept out", queued, left)
			}
			queued -= rapid.IntRange(1, queued).Draw(t, "start")
		}
	})
}
