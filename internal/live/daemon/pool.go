package daemon

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/pool"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// several makes the driver of machines without a manager that are one cluster.
func (g *grid) several(c *config.Cluster) (driver.Driver, error) {
	var members []pool.Member
	for i, ssh := range c.SSHHosts {
		d, err := g.reach(c, ssh, memberWord(i), nil)
		if err != nil {
			return nil, err
		}
		members = append(members, pool.Member{Name: config.SSHHost(ssh), Procs: c.Slots, Driver: d})
	}
	return pool.New(c.Name, members)
}

func memberWord(i int) string { return fmt.Sprintf("-%d", i+1) }

// pooled is that cluster, host by host.
func pooled(c *config.Cluster, p *pool.Driver, survey *driver.Survey) (*broker.Cluster, error) {
	b := &broker.Cluster{Name: c.Name, Kind: "ssh", Driver: p, CPUFeatures: survey.CPUFeatures, MPI: wire.MPI(c.MPI),
		Methods: func(context.Context) []string { return survey.Methods }}
	var procs []int
	for i, ssh := range c.SSHHosts {
		h := driver.Host{Name: config.SSHHost(ssh)}
		if len(survey.Hosts) == len(c.SSHHosts) { // else it is that of earlier settings, or there is none
			h = survey.Hosts[i]
		}
		if c.Slots > 0 {
			h.Procs = c.Slots
		}
		if h.Procs == 0 {
			return nil, &badinput.Error{Field: "slots", Want: "how many processors each host offers; " + h.Name + " could not be asked"}
		}
		speed := speedOf(c, &driver.Survey{Hosts: []driver.Host{h}})
		b.Hosts = append(b.Hosts, world.HostSpec{Procs: h.Procs, Speed: speed, Memory: memoryOf(c, survey.Hosts)})
		b.HostNames = append(b.HostNames, h.Name)
		procs = append(procs, h.Procs)
	}
	p.Resize(procs)
	return b, nil
}
