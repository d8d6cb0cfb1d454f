package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// bothParts is what the agents of a job of two parts are told when all are ready.
func bothParts() wire.Order {
	return wire.Order{Kind: wire.Begin, Contacts: []wire.Contact{
		{Part: 0, Cluster: "here", Hosts: []string{"h1", "h2"}, Ranks: 3},
		{Part: 1, Cluster: "there", Hosts: []string{"t1"}, Ranks: 2, First: 3}}}
}

// newPart is the second of two parts, with a line that is run before the program.
func newPart(t *testing.T) (h *harness, before string) {
	h = newHarness(t, "/bin/sh", "-c", `echo $GODWIT_PART/$GODWIT_PARTS $GODWIT_FIRST_RANK/$GODWIT_RANKS `+
		`$GODWIT_PART_0_HOSTS $GODWIT_PART_0_CLUSTER $GODWIT_PART_1_RANKS`)
	before = filepath.Join(t.TempDir(), "before")
	h.attempt.Part, h.attempt.Parts, h.attempt.Spec.Setup = 1, 2, "echo x >> "+before
	return h, before
}

func TestAPartRunsNothingBeforeAllAreReady(t *testing.T) {
	h, before := newPart(t)
	h.start()
	h.begin()
	if m := h.await(wire.Ready); len(m.Hosts) != 1 {
		t.Errorf("it is ready on %v", m.Hosts)
	}
	time.Sleep(200 * time.Millisecond)
	if _, err := os.Stat(before); err == nil || len(h.all(wire.Running)) > 0 {
		t.Fatal("something runs before all parts are ready")
	}
	h.order(bothParts())
	h.order(bothParts()) // it may come again
	h.wait()
	if m := h.ended(); m.Kind != wire.Ended || m.Code != 0 {
		t.Errorf("told %+v", m)
	}
	if got, want := h.output(1), "1/2 3/5 h1 h2 here 2\n"; got != want {
		t.Errorf("it wrote %q, want %q", got, want)
	}
	if text, err := os.ReadFile(before); err != nil || string(text) != "x\n" {
		t.Errorf("before it ran %q, %v", text, err)
	}
}

func TestAPartThatIsEndedWhileItWaitsRunsNothing(t *testing.T) {
	for _, order := range []wire.Order{{Kind: wire.Cancel}, {Kind: wire.Stop}, {Kind: wire.Kill}} {
		h, before := newPart(t)
		h.start()
		h.begin()
		h.await(wire.Ready)
		h.order(order)
		h.wait()
		if _, err := os.Stat(before); err == nil || len(h.all(wire.Running)) > 0 {
			t.Errorf("%s: something has run", order.Kind)
		}
	}
}

// An agent that dies while it waits is replaced by one that tells the loss.
func TestAPartWhoseAgentDiesWhileItWaitsIsLost(t *testing.T) {
	h, before := newPart(t)
	h.start()
	h.write()
	first := h.spawn()
	h.await(wire.Ready)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	h.begin()
	h.wait()
	if m := h.ended(); m.Kind != wire.Lost {
		t.Errorf("told %+v", m)
	}
	if _, err := os.Stat(before); err == nil {
		t.Error("something has run")
	}
}

// Of one MPI program a part that does not reach another says so, and runs nothing.
func TestAPartThatDoesNotReachAnotherRunsNothing(t *testing.T) {
	h, before := newPart(t)
	h.attempt.Spec.MPI = true
	h.start()
	h.begin()
	m := h.await(wire.Ready)
	if m.Meet == nil || len(m.Slots) != 1 {
		t.Fatalf("the others are told %+v", m)
	}
	order := bothParts()
	closed := *m.Meet
	closed.Addresses = []string{"127.0.0.1:1"} // where nobody listens
	order.Contacts[0].Meet, order.Contacts[1].Meet = &closed, m.Meet
	h.order(order)
	h.wait()
	if m := h.ended(); m.Kind != wire.Lost || m.Cause != wire.Unreachable || m.Peer != 0 ||
		!strings.Contains(m.Why, "part 0 in here (h1 h2) cannot be reached from ") {
		t.Errorf("told %+v", m)
	}
	if _, err := os.Stat(before); err == nil || len(h.all(wire.Running)) > 0 {
		t.Error("something has run")
	}
	if c, err := m.Meet.DialOwner(t.Context()); err == nil {
		_ = c.Close()
		t.Error("it listens though the attempt is over")
	}
}
