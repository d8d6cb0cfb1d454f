package pool

import (
	"context"
	"errors"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// plainHost notes which processors it was asked to give.
type plainHost struct {
	driver.Driver
	held core.ProcSet
}

func (h *plainHost) CanAdjustProcs(core.ProcSet) bool { return true }
func (h *plainHost) AdjustProcs(_ context.Context, _ driver.ID, held core.ProcSet) ([]int, error) {
	h.held = held
	return []int{7}, nil
}

func TestTheHostOfAnAttemptGivesItOtherProcessors(t *testing.T) {
	hosts := []*plainHost{{}, {}}
	d, err := New("c", []Member{{Name: "a", Procs: 2, Driver: hosts[0]}, {Name: "b", Procs: 4, Driver: hosts[1]}})
	if err != nil {
		t.Fatal(err)
	}
	on := core.ProcSet{{Lo: 3, Hi: 5}}
	cpus, err := d.AdjustProcs(t.Context(), driver.ID{Job: 1, Epoch: 1}, on)
	if err != nil || len(cpus) != 1 || hosts[1].held.String() != "1-2" || hosts[0].held != nil || !d.CanAdjustProcs(on) {
		t.Errorf("%v, %v: %v and %v", cpus, err, hosts[0].held, hosts[1].held)
	}
	spread := core.ProcSet{{Lo: 1, Hi: 3}}
	if _, err := d.AdjustProcs(t.Context(), driver.ID{Job: 1, Epoch: 1}, spread); d.CanAdjustProcs(spread) ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an attempt on two hosts is adjusted: %v", err)
	}
}
