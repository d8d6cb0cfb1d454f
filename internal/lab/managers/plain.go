package managers

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/lab"
)

// plain are machines without a batch system: one can log in, no more.
type plain struct{}

func (plain) Start(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	return logins(ctx, l, c.All()...)
}

func (plain) Boot(ctx context.Context, l *lab.Lab, _ *lab.Cluster, h *lab.Host) error {
	return logins(ctx, l, h)
}

func (plain) Stop(ctx context.Context, l *lab.Lab, c *lab.Cluster) error { return noLogins(ctx, l, c) }

// Settings has a cluster for each machine.
func (plain) Settings(l *lab.Lab, c *lab.Cluster, user string) []lab.Settings {
	var list []lab.Settings
	for _, h := range c.Hosts {
		set := reached(l, h.Name, user, h)
		set.Driver, set.Slots = "local", c.Cores
		list = append(list, set)
	}
	return list
}
