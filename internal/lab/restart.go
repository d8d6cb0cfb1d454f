package lab

import (
	"context"
	"fmt"
)

// restarter is a manager whose controller can be stopped and started again while
// jobs run.
type restarter interface {
	Restart(ctx context.Context, l *Lab, c *Cluster) error
}

// Restart stops the controller of a cluster's batch system and starts it again;
// jobs are not told.
func (l *Lab) Restart(ctx context.Context, name string) error {
	c, err := l.Cluster(name)
	if err != nil {
		return err
	}
	m, err := manager(c.Manager)
	if err != nil {
		return err
	}
	r, ok := m.(restarter)
	if !ok {
		return fmt.Errorf("the cluster %s has no batch system that could be started again", name)
	}
	return r.Restart(ctx, l, c)
}
