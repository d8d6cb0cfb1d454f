package local

import (
	"context"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

var _ driver.Adjuster = (*Driver)(nil)

// CanAdjustProcs: nobody else gives processors of this machine to jobs.
func (d *Driver) CanAdjustProcs(core.ProcSet) bool { return true }

// AdjustProcs gives the attempt other processors: its cgroup, if it has one, keeps to them at once. Its agent sees to
// the processes that run already.
func (d *Driver) AdjustProcs(_ context.Context, id driver.ID, held core.ProcSet) ([]int, error) {
	a := d.attemptRecord(id, false)
	if a == nil {
		return nil, fmt.Errorf("%w: attempt %s is not here", driver.ErrRefused, attemptdir.FolderName(id))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.released {
		return nil, ErrReleased
	}
	cpus, err := cpusFor(held, d.opt.Slots, d.opt.CPUs)
	if err != nil {
		return nil, err
	}
	if d.loose {
		cpus = slices.Clone(d.opt.CPUs)
	}
	w, err := attemptdir.ReadAttempt(a.dir)
	if err != nil {
		return nil, err
	}
	w.CPUs, w.Procs, w.Held = cpus, held.CountProcs(), held
	a.known.Lock()
	defer a.known.Unlock()
	if a.group != nil {
		if err := a.group.MakeGroup(d.owner.limitsOf(w)); err != nil {
			return nil, err
		}
	}
	a.cpus = cpus
	return cpus, nil
}
