package managers

import (
	"context"
	"errors"

	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/munge"
	"github.com/godwit-hpc/godwit/internal/lab/slurm"
)

// slurmManager is Slurm: slurmctld and munged on the head, a slurmd on each of
// the other hosts.
type slurmManager struct{}

// slurmEtc is where Slurm's commands look.
const slurmEtc = "/etc/slurm"

// slurmOf is the Slurm of a cluster, with the munged that it relies on.
func slurmOf(l *lab.Lab, c *lab.Cluster) (*slurm.Cluster, *munge.Munge, error) {
	if c.Head == nil {
		return nil, nil, errors.New("there is no host for slurmctld")
	}
	dir, err := l.MakeFolder("slurm-" + c.Name)
	if err != nil {
		return nil, nil, err
	}
	keys, err := l.MakeFolder("munge-" + c.Name)
	if err != nil {
		return nil, nil, err
	}
	m := munge.New(keys, at{c.Head})
	config := slurm.Config{Name: c.Name, Dir: dir, Head: at{c.Head}, Munge: m.SocketPath()}
	for _, h := range c.Hosts {
		config.Nodes = append(config.Nodes, slurm.Node{Place: at{h}, CPUs: max(c.Cores, 1), Memory: hostMemory(h)})
	}
	return slurm.New(config), m, nil
}

func (slurmManager) StartManager(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	s, m, err := slurmOf(l, c)
	if err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	if err := showFolder(ctx, s.EtcFolder(), slurmEtc, c.AllHosts()...); err != nil {
		return err
	}
	return startLogins(ctx, l, c.AllHosts()...)
}

func (slurmManager) BootHost(ctx context.Context, l *lab.Lab, c *lab.Cluster, h *lab.Host) error {
	s, m, err := slurmOf(l, c)
	if err != nil {
		return err
	}
	if h.Name == c.Head.Name {
		err = errors.Join(m.Start(ctx), s.StartController(ctx))
	} else {
		err = s.StartNodeDaemon(ctx, h.Name)
	}
	return errors.Join(err, showFolder(ctx, s.EtcFolder(), slurmEtc, h), startLogins(ctx, l, h))
}

func (slurmManager) StopManager(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	s, m, err := slurmOf(l, c)
	if err != nil {
		return err
	}
	return errors.Join(stopLogins(ctx, l, c), s.Stop(ctx), m.Stop(ctx))
}

// RestartController ends slurmctld in order and starts it again.
func (slurmManager) RestartController(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	s, _, err := slurmOf(l, c)
	if err != nil {
		return err
	}
	return s.RestartController(ctx)
}

func (slurmManager) BrokerSettings(l *lab.Lab, c *lab.Cluster, user string) []lab.Settings {
	set := commonSettings(l, c.Name, user, c.Head)
	set.Driver, set.Partition, set.Poll = slurmName, slurm.Partition, "1s"
	if s, _, err := slurmOf(l, c); err == nil {
		set.Env = s.UserEnv()
	}
	return []lab.Settings{set}
}
