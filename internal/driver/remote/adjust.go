package remote

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

var (
	_ driver.Adjuster = (*Driver)(nil)
	_ driver.Extender = (*Driver)(nil)
)

// CanAdjustProcs says whether it is a plain machine over there.
func (d *Driver) CanAdjustProcs(core.ProcSet) bool { return d.opt.Settings.Kind == "local" }

// maxCPU bounds what is believed of the machine over there.
const maxCPU = 1 << 16

// AdjustProcs gives the attempt other processors over there.
func (d *Driver) AdjustProcs(ctx context.Context, id driver.ID, held core.ProcSet) ([]int, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Adjust, ID: id, Held: held}, false, nil)
	if err != nil {
		return nil, err
	}
	for _, cpu := range a.CPUs {
		if cpu < 0 || cpu >= maxCPU {
			return nil, fmt.Errorf("cluster %s: the outpost names CPU %d", d.opt.Cluster, cpu)
		}
	}
	return a.CPUs, nil
}

// CanExtend says whether there is a manager over there.
func (d *Driver) CanExtend() bool { return d.opt.Settings.Kind != "local" }

// ExtendAttempt has the manager over there give the attempt processors.
func (d *Driver) ExtendAttempt(ctx context.Context, id driver.ID, procs int) (int, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Extend, ID: id, Procs: procs}, false, nil)
	if err != nil {
		return 0, err
	}
	return min(max(a.Procs, 0), procs), nil
}
