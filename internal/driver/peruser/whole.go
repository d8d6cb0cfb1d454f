package peruser

import (
	"context"
	"errors"

	"github.com/godwit-hpc/godwit/internal/driver"
)

// Load says how busy the cluster is.
func (d *Driver) Load(ctx context.Context) (driver.Load, error) { return d.opt.Own.Load(ctx) }

// Survey says what there is.
func (d *Driver) Survey(ctx context.Context) (*driver.Survey, error) {
	if s, ok := d.opt.Own.(driver.Surveyor); ok {
		return s.Survey(ctx)
	}
	return nil, errors.ErrUnsupported
}

// Wait says how long a newcomer would wait.
func (d *Driver) Wait(ctx context.Context, n driver.Need) (driver.Wait, error) {
	if e, ok := d.opt.Own.(driver.Estimator); ok {
		return e.Wait(ctx, n)
	}
	return driver.Wait{}, errors.ErrUnsupported
}

// Sense measures the machines of the cluster.
func (d *Driver) Sense(ctx context.Context, q driver.Sensing) (driver.Sensed, error) {
	if s, ok := d.opt.Own.(driver.Sensor); ok {
		return s.Sense(ctx, q)
	}
	return driver.Sensed{}, errors.ErrUnsupported
}

// Why says why an attempt waits, as its owner is told.
func (d *Driver) Why(ctx context.Context, id driver.ID) (string, error) {
	user, err := d.owner(ctx, id)
	if err != nil || !d.open(user) {
		return "", err
	}
	m, err := d.of(user)
	if err != nil {
		return "", err
	}
	if e, ok := m.(driver.Explainer); ok {
		return e.Why(ctx, id)
	}
	return "", nil
}

// FilesOf moves the files that a user sees there; nil if nothing can.
func (d *Driver) FilesOf(user uint32) driver.Stager {
	m, err := d.of(user)
	if err != nil {
		d.opt.Log.Warn("no files", "cluster", d.opt.Cluster, "user", user, "error", err)
		return nil
	}
	s, _ := m.(driver.Stager)
	return s
}
