package managers

import (
	"context"
	"errors"

	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/gridengine"
)

// gridEngineManager is Grid Engine: sge_qmaster on the head, an sge_execd on
// each of the other hosts.
type gridEngineManager struct{}

// gridEngineRoot is where Grid Engine's commands look.
const gridEngineRoot = "/var/lib/gridengine"

// cellOf is the cell of a cluster.
func cellOf(l *lab.Lab, c *lab.Cluster) (*gridengine.Cell, error) {
	if c.Head == nil {
		return nil, errors.New("there is no host for sge_qmaster")
	}
	dir, err := l.MakeFolder("gridengine-" + c.Name)
	if err != nil {
		return nil, err
	}
	config := gridengine.Config{Name: c.Name, Dir: dir, Head: at{c.Head}}
	for _, h := range c.Hosts {
		config.Nodes = append(config.Nodes, gridengine.Node{Place: at{h}, CPUs: max(c.Cores, 1)})
	}
	return gridengine.New(config), nil
}

func (gridEngineManager) StartManager(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	s, err := cellOf(l, c)
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	if err := showFolder(ctx, s.RootFolder(), gridEngineRoot, c.AllHosts()...); err != nil {
		return err
	}
	return startLogins(ctx, l, c.AllHosts()...)
}

func (gridEngineManager) BootHost(ctx context.Context, l *lab.Lab, c *lab.Cluster, h *lab.Host) error {
	s, err := cellOf(l, c)
	if err != nil {
		return err
	}
	if h.Name == c.Head.Name {
		err = s.StartMaster(ctx)
	} else {
		err = s.StartExecd(ctx, h.Name)
	}
	return errors.Join(err, showFolder(ctx, s.RootFolder(), gridEngineRoot, h), startLogins(ctx, l, h))
}

func (gridEngineManager) StopManager(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	s, err := cellOf(l, c)
	if err != nil {
		return err
	}
	return errors.Join(stopLogins(ctx, l, c), s.Stop(ctx))
}

// RestartController ends sge_qmaster in order and starts it again.
func (gridEngineManager) RestartController(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	s, err := cellOf(l, c)
	if err != nil {
		return err
	}
	return s.RestartMaster(ctx)
}

func (gridEngineManager) BrokerSettings(l *lab.Lab, c *lab.Cluster, user string) []lab.Settings {
	set := commonSettings(l, c.Name, user, c.Head)
	set.Driver, set.Partition, set.PE, set.Poll = gridEngineName, gridengine.Queue, gridengine.PE, "1s"
	set.Commands = gridengine.Commands
	if s, err := cellOf(l, c); err == nil {
		set.Env = s.UserEnv()
	}
	return []lab.Settings{set}
}
