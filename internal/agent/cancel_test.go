package agent

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// slowStart is a method that says that the program runs when the test lets it.
type slowStart struct {
	plainMethod
	began func(dir string) // what the test does when the program runs
}

func (m slowStart) StartProgram(ctx context.Context, p *checkpoint.Program, image string) (checkpoint.Run, error) {
	run, err := m.plainMethod.StartProgram(ctx, p, image)
	if err == nil {
		m.began(p.Dir)
	}
	if err == nil && ctx.Err() != nil { // as the sandbox does
		run.KillProgram()
		return nil, ctx.Err()
	}
	return run, err
}

// The order to cancel comes when the program runs and its agent does not know yet.
func TestWhatAProgramWroteComesHomeThoughItIsCancelledAtItsStart(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c",
		`trap "echo late >late; exit 3" TERM; echo made >made; while :; do sleep 0.01; done`)
	h.around.methods = func(string) (checkpoint.Method, error) {
		return slowStart{began: func(dir string) {
			clocktest.WaitFor(t, "file", func() bool { return sizeOf(filepath.Join(dir, "made")) > 0 })
			h.order(wire.Order{Kind: wire.Cancel, Within: patience})
			h.order(wire.Order{Kind: wire.Save}) // refused, which tells that the one before was heard
			h.await(wire.NotSaved)
		}}, nil
	}
	h.start()
	h.begin()
	h.wait()
	m := h.ended()
	if m.Kind != wire.Ended || m.Result == "" {
		t.Fatalf("told %+v", m)
	}
	for _, name := range []string{"made", "late"} {
		if !strings.Contains(h.treeNames(m.Result), name) {
			t.Errorf("%s is not among what came home: %s", name, h.treeNames(m.Result))
		}
	}
}

func TestTheTimeLimitThatComesAtItsStartLosesNothing(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo made >made; sleep 1000")
	h.attempt.Spec.Time = 100 * time.Millisecond
	var ran atomic.Bool // else the limit came before the start
	h.around.methods = func(string) (checkpoint.Method, error) {
		return slowStart{began: func(dir string) {
			ran.Store(true)
			clocktest.WaitFor(t, "file", func() bool { return sizeOf(filepath.Join(dir, "made")) > 0 })
			time.Sleep(h.attempt.Spec.Time) // the limit is one of real time, and began before
		}}, nil
	}
	h.start()
	h.begin()
	h.wait()
	if m := h.ended(); m.Code != 124 || ran.Load() && (m.Result == "" || h.treeNames(m.Result) != "made") {
		t.Errorf("told %+v", m)
	}
}

// treeNames are the names in a tree that was brought to the depot.
func (h *harness) treeNames(id string) string {
	h.t.Helper()
	tree, err := depot.LoadTree(h.t.Context(), h.store, depot.ID(id))
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for i := range tree.Entries {
		names = append(names, tree.Entries[i].Path)
	}
	return strings.Join(names, " ")
}
