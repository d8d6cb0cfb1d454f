package lab

import (
	"context"
	"fmt"
)

// restarter is a manager whose controller can be stopped and started again while
// jobs run.
type restarter interface {
	RestartController(ctx context.Context, l *Lab, c *Cluster) error
}

// RestartController stops the controller of a cluster's batch system and starts it again;
// jobs are not told.
func (l *Lab) RestartController(ctx context.Context, name string) error {
	c, err := l.FindCluster(name)
	if err != nil {
		return err
	}
	m, err := findManager(c.Manager)
	if err != nil {
		return err
	}
	r, ok := m.(restarter)
	if !ok {
		return fmt.Errorf("the cluster %s has no batch system that could be started again", name)
	}
	return r.RestartController(ctx, l, c)
}
