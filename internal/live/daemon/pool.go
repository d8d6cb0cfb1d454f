package daemon

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/pool"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

// openPool makes the driver of machines without a manager that are one cluster.
func (g *grid) openPool(c *config.Cluster) (driver.Driver, error) {
	var members []pool.Member
	for i, ssh := range c.SSHHosts {
		d, err := g.openSSHHost(c, ssh, memberWord(i), nil)
		if err != nil {
			return nil, err
		}
		members = append(members, pool.Member{Name: config.HostFromSSH(ssh), Procs: c.Slots, Driver: d})
	}
	return pool.New(c.Name, members)
}

func memberWord(i int) string { return fmt.Sprintf("-%d", i+1) }
