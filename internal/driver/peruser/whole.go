package peruser

import (
	"context"
	"errors"
	"maps"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// MeasureLoad says how busy the cluster is.
func (d *Driver) MeasureLoad(ctx context.Context) (driver.Load, error) {
	load, err := d.opt.Own.MeasureLoad(ctx)
	if err == nil && load.Usage != nil {
		load.Usage = d.withoutMembers(*load.Usage)
	}
	return load, err
}

// withoutMembers is who holds the processors of the cluster, as all users of the broker together see it: the broker's
// own user takes the jobs of the others for those of strangers.
func (d *Driver) withoutMembers(u driver.Usage) *driver.Usage {
	u.Brokers = maps.Clone(u.Brokers)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.members { // order-free: each is taken away once
		if n, ok := m.Member.(driver.JobNamer); ok {
			prefix := n.JobPrefix()
			u.Others -= u.Brokers[prefix]
			delete(u.Brokers, prefix)
		}
	}
	return &u
}

// SurveyHosts says what there is.
func (d *Driver) SurveyHosts(ctx context.Context) (*driver.Survey, error) {
	if s, ok := d.opt.Own.(driver.Surveyor); ok {
		return s.SurveyHosts(ctx)
	}
	return nil, errors.ErrUnsupported
}

// EstimateWait says how long a newcomer would wait.
func (d *Driver) EstimateWait(ctx context.Context, n driver.Need) (driver.Wait, error) {
	if e, ok := d.opt.Own.(driver.Estimator); ok {
		return e.EstimateWait(ctx, n)
	}
	return driver.Wait{}, errors.ErrUnsupported
}

// MeasureHosts measures the machines of the cluster.
func (d *Driver) MeasureHosts(ctx context.Context, q driver.Sensing) (driver.Sensed, error) {
	if s, ok := d.opt.Own.(driver.Sensor); ok {
		return s.MeasureHosts(ctx, q)
	}
	return driver.Sensed{}, errors.ErrUnsupported
}

// ExplainWait says why an attempt waits, as its owner is told.
func (d *Driver) ExplainWait(ctx context.Context, id driver.ID) (string, error) {
	user, err := d.ownerOf(ctx, id)
	if err != nil || !d.isOpen(user) {
		return "", err
	}
	m, err := d.memberOf(user)
	if err != nil {
		return "", err
	}
	if e, ok := m.(driver.Explainer); ok {
		return e.ExplainWait(ctx, id)
	}
	return "", nil
}

// CanAdjustProcs says whether attempts of the broker's own user could be given other processors: those of others run on
// the same machine.
func (d *Driver) CanAdjustProcs(held core.ProcSet) bool {
	a, ok := d.opt.Own.(driver.Adjuster)
	return ok && a.CanAdjustProcs(held)
}

// AdjustProcs gives the attempt other processors, as its owner.
func (d *Driver) AdjustProcs(ctx context.Context, id driver.ID, held core.ProcSet) ([]int, error) {
	user, err := d.ownerOf(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := d.memberOf(user)
	if err != nil {
		return nil, err
	}
	a, ok := m.(driver.Adjuster)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return a.AdjustProcs(ctx, id, held)
}

// CanExtend says whether the manager can be asked for more processors for attempts of the broker's own user: it is the
// same for others.
func (d *Driver) CanExtend() bool {
	x, ok := d.opt.Own.(driver.Extender)
	return ok && x.CanExtend()
}

// ExtendAttempt has the manager give the attempt more processors, as its owner.
func (d *Driver) ExtendAttempt(ctx context.Context, id driver.ID, procs int) (int, error) {
	user, err := d.ownerOf(ctx, id)
	if err != nil {
		return 0, err
	}
	m, err := d.memberOf(user)
	if err != nil {
		return 0, err
	}
	x, ok := m.(driver.Extender)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return x.ExtendAttempt(ctx, id, procs)
}

// FilesOf moves the files that a user sees there; nil if nothing can.
func (d *Driver) FilesOf(user uint32) driver.Stager {
	m, err := d.memberOf(user)
	if err != nil {
		d.opt.Log.Warn("no files", "cluster", d.opt.Cluster, "user", user, "error", err)
		return nil
	}
	s, _ := m.(driver.Stager)
	return s
}
