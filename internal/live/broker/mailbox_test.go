package broker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/godwit-hpc/godwit/internal/live/broker"
)

// Agents and clients that wait for a broker come all at once, and before its loop has begun.
func TestABrokerStartsAlsoIfItsMailboxIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		b, err := broker.Open(t.Context(), g.options())
		if err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		for range 1000 {
			asking.Go(func() {
				if _, err := b.ListJobs(t.Context(), false); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all have asked, or wait for room to
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		asking.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
