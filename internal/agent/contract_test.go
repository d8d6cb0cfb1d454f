package agent

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAProgramThatIsSlowerThanPromisedIsToldOnceAndTheLimitsAreRaised(t *testing.T) {
	h, share := newPromised(t, 20)
	h.begin()
	h.await(wire.Running)
	h.awaitSamples(20)
	if n := len(h.all(wire.Violated)); n > 0 {
		t.Error("told without need")
	}
	share.Store(10)
	m := h.await(wire.Violated)
	c := m.Contract
	if c == nil || c.Promise != 20 || c.Ratio <= 2 || c.Limit != 2 || c.Left <= 20*(1-c.Done) || len(c.Ratios) == 0 ||
		m.State == nil {
		t.Fatalf("told %+v of %+v", c, m.State)
	}
	h.order(wire.Order{Kind: wire.Limits})
	h.awaitSamples(2) // it has been heard
	n := len(h.all(wire.Violated))
	h.awaitSamples(30)
	if again := len(h.all(wire.Violated)) - n; again > 1 { // one may have been on its way
		t.Errorf("told %d times again after the limits were raised", again)
	}
	h.end()
}

func TestAProgramOfWhichNothingIsPromisedIsNotWatched(t *testing.T) {
	h, share := newPromised(t, 0)
	h.begin()
	h.await(wire.Running)
	share.Store(5)
	h.awaitSamples(30)
	if n := len(h.all(wire.Violated)); n > 0 {
		t.Errorf("told %d times", n)
	}
	h.end()
}

// ruleOfTwo wants two ratios in a row, so that a short history of good ones does not matter.
var ruleOfTwo = core.Contract{Rule: "consecutive", Consecutive: 2}
