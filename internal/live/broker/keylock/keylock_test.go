package keylock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestOneIsInForEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks
		leave, err := l.Enter(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.Enter(t.Context(), "y")
		if err != nil {
			t.Fatal(err)
		}
		other()
		in := make(chan struct{})
		go func() {
			again, err := l.Enter(t.Context(), "x")
			if err == nil {
				again()
			}
			close(in)
		}()
		synctest.Wait()
		select {
		case <-in:
			t.Error("two are in")
		default:
		}
		called, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Enter(called, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("who is called away is told %v", err)
		}
		leave()
		<-in
		if len(l.busy) != 0 {
			t.Errorf("%d keys are remembered that nobody holds", len(l.busy))
		}
	})
}
