package pool

import (
	"context"
	"errors"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

var _ driver.Adjuster = (*Driver)(nil)

// adjusterOn is the driver of the only host that processors lie on, and these as that one numbers them; nil: they lie
// on several, and a program that is spread over hosts is told nothing of others.
func (d *Driver) adjusterOn(held core.ProcSet) (driver.Adjuster, core.ProcSet) {
	for i := range d.members {
		on := d.procsOnHost(held, i)
		if len(on) == 0 {
			continue
		}
		if a, ok := d.members[i].Driver.(driver.Adjuster); ok && on.CountProcs() == held.CountProcs() {
			return a, on
		}
		return nil, nil
	}
	return nil, nil
}

// CanAdjustProcs says whether an attempt runs on one host that is a plain machine.
func (d *Driver) CanAdjustProcs(held core.ProcSet) bool {
	a, on := d.adjusterOn(held)
	return a != nil && a.CanAdjustProcs(on)
}

// AdjustProcs gives the attempt other processors of its host.
func (d *Driver) AdjustProcs(ctx context.Context, id driver.ID, held core.ProcSet) ([]int, error) {
	a, on := d.adjusterOn(held)
	if a == nil {
		return nil, errors.ErrUnsupported
	}
	return a.AdjustProcs(ctx, id, on)
}
