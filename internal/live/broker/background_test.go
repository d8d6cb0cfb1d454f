package broker

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Whoever begins something while the broker ends is waited for, or does not begin it.
func TestWhatBeginsWhileTheBrokerEndsIsWaitedForOrLeft(t *testing.T) {
	for range 200 {
		var g background
		var running atomic.Int64
		var starting sync.WaitGroup
		for range 4 {
			starting.Go(func() {
				for range 50 {
					g.startTask(func() { running.Add(1); defer running.Add(-1) })
				}
			})
		}
		g.waitForAll()
		if n := running.Load(); n != 0 {
			t.Fatalf("%d run though everything is over", n)
		}
		starting.Wait()
		g.startTask(func() { t.Error("it is begun though everything is over") })
	}
}

func TestTheEndWaitsForWhatRunsAndWhatThatBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g background
		goOn, over := make(chan struct{}), make(chan struct{})
		second := false
		g.startTask(func() {
			<-goOn
			g.startTask(func() { second = true })
		})
		go func() { g.waitForAll(); close(over) }()
		synctest.Wait()
		select {
		case <-over:
			t.Fatal("it does not wait")
		default:
		}
		close(goOn)
		<-over
		if !second {
			t.Error("what the last one began was not waited for")
		}
	})
}
