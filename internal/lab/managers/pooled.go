package managers

import "github.com/godwit-hpc/godwit/internal/lab"

// pooled are machines without a batch system that a broker uses as one cluster.
type pooled struct{ plain }

// BrokerSettings has one cluster of all machines but the head, from where people log in
// to them.
func (pooled) BrokerSettings(l *lab.Lab, c *lab.Cluster, user string) []lab.Settings {
	set := commonSettings(l, c.Name, user, c.Hosts[0])
	set.Driver, set.Slots = "local", c.Cores
	for _, h := range c.Hosts {
		set.SSHHosts = append(set.SSHHosts, accountAt(user, h))
	}
	if len(c.Hosts) == 1 {
		set.SSHHosts = nil
	}
	return []lab.Settings{set}
}
