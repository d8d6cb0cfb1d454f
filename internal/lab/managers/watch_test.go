package managers

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/lab"
)

// ListDown lists what should run for a cluster and does not: hosts, and daemons such
// as "slurmd on leeds1". Starting the cluster's manager again starts the daemons.
func ListDown(ctx context.Context, l *lab.Lab, c *lab.Cluster) ([]string, error) {
	var down []string
	for _, h := range c.AllHosts() {
		if !h.IsUp() {
			down = append(down, "host "+h.Name)
		}
	}
	if len(down) > 0 {
		return down, nil // its daemons cannot be asked for, and are down too
	}
	var looks []func(context.Context) ([]string, error)
	switch c.Manager {
	case slurmName:
		s, m, err := slurmOf(l, c)
		if err != nil {
			return nil, err
		}
		looks = append(looks, s.ListDown, m.ListDown)
	case gridEngineName:
		s, err := cellOf(l, c)
		if err != nil {
			return nil, err
		}
		looks = append(looks, s.ListDown)
	}
	s, err := sshServers(l)
	if err != nil {
		return nil, err
	}
	looks = append(looks, func(ctx context.Context) ([]string,
		error) {
		return s.ListDown(ctx, hostNames(c.AllHosts())...)
	})
	for _, look := range looks {
		more, err := look(ctx)
		if err != nil {
			return nil, fmt.Errorf("the cluster %s: %w", c.Name, err)
		}
		down = append(down, more...)
	}
	return down, nil
}
