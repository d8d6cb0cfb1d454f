package managers

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/lab"
)

// plain are machines without a batch system: one can log in, no more.
type plain struct{}

func (plain) StartManager(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	return startLogins(ctx, l, c.AllHosts()...)
}

func (plain) BootHost(ctx context.Context, l *lab.Lab, _ *lab.Cluster, h *lab.Host) error {
	return startLogins(ctx, l, h)
}

func (plain) StopManager(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	return stopLogins(ctx, l, c)
}

// BrokerSettings has a cluster for each machine.
func (plain) BrokerSettings(l *lab.Lab, c *lab.Cluster, user string) []lab.Settings {
	var list []lab.Settings
	for _, h := range c.Hosts {
		set := commonSettings(l, h.Name, user, h)
		set.Driver, set.Slots = "local", c.Cores
		set.KeepFree, set.GrowFree = c.Share.KeepFree, c.Share.GrowFree
		list = append(list, set)
	}
	return list
}
