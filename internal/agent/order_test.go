package agent

import (
	"log/slog"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestOrdersOfAnotherAttemptOrOvertakenOnesHaveNoEffect(t *testing.T) {
	l := &life{attempt: &wire.Attempt{Job: 7, Epoch: 2}, around: &hostServices{log: slog.New(slog.DiscardHandler)}}
	for i, o := range []struct {
		wire.Order
		obeyed bool
	}{
		{wire.Order{Kind: wire.Stop, Epoch: 1, Serial: 1}, false},
		{wire.Order{Kind: wire.Kill, Epoch: 3}, false},
		{wire.Order{Kind: wire.Kill, Epoch: 2}, true},
		{wire.Order{Kind: wire.Save}, true}, // of a broker that numbers none
		{wire.Order{Kind: wire.Save}, true},
		{wire.Order{Kind: wire.Save, Epoch: 2, Serial: 4}, true},
		{wire.Order{Kind: wire.Save, Epoch: 2, Serial: 4}, false}, // again
		{wire.Order{Kind: wire.Save, Epoch: 2, Serial: 3}, false},
		{wire.Order{Kind: wire.Stop, Epoch: 2, Serial: 3}, true}, // not given before another stop
		{wire.Order{Kind: wire.Cancel, Epoch: 2, Serial: 5}, true},
		{wire.Order{Kind: wire.Stop, Epoch: 2, Serial: 3}, false}, // overtaken by the order to end
		{wire.Order{Kind: wire.Cancel, Epoch: 2, Serial: 5}, true},
		{wire.Order{Kind: wire.Save, Epoch: 2, Serial: 6}, true},
		{wire.Order{Kind: wire.Watch, Every: time.Second}, true},
	} {
		if got := l.isForUs(&o.Order); got != o.obeyed {
			t.Errorf("order %d, %+v: %v", i, o.Order, got)
		}
	}
}

func TestAnOrderThatIsGivenAgainIsObeyedOnce(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.around.release = "v1.2"
	h.start()
	h.begin()
	h.until("output", func() bool { return len(h.out[1]) > 0 })
	h.mu.Lock()
	m := h.hello
	h.mu.Unlock()
	if m.Version != wire.Version || m.Release != "v1.2" {
		t.Errorf("it says hello by %+v", m)
	}
	epoch := h.attempt.Epoch
	h.order(wire.Order{Kind: wire.Save, Epoch: epoch, Serial: 5})
	h.await(wire.NotSaved) // a program that cannot be
	h.order(wire.Order{Kind: wire.Save, Epoch: epoch, Serial: 5})
	h.order(wire.Order{Kind: wire.Stop, Epoch: epoch + 1, Serial: 6})
	h.order(wire.Order{Kind: wire.Save, Epoch: epoch, Serial: 7})
	h.until("the second answer", func() bool { return count(h.messages, wire.NotSaved) >= 2 })
	h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600), Epoch: epoch, Serial: 8})
	h.wait()
	if n := count(h.messages, wire.NotSaved); n != 2 || h.ended().Kind != wire.Left {
		t.Errorf("%d answers, and at the end %+v", n, h.ended())
	}
}
