package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Manager puts something onto the hosts of a cluster: a batch system, or no
// more than a way to log in. Its daemons run on the cluster's hosts, started
// with Host.Command or Host.StartDaemon, and keep their files below Lab.MakeFolder. What
// it starts needs no care at the end: Down ends all that runs on the hosts.
type Manager interface {
	// StartManager brings the whole cluster up and returns when jobs can be submitted.
	StartManager(ctx context.Context, l *Lab, c *Cluster) error
	// BootHost starts the daemons of one host of the cluster that was booted again
	// after a crash.
	BootHost(ctx context.Context, l *Lab, c *Cluster, h *Host) error
	// StopManager ends it in good order.
	StopManager(ctx context.Context, l *Lab, c *Cluster) error
	// BrokerSettings tell a broker on the lab's head how to reach the cluster as a
	// user of the lab. Plain machines are several clusters to a broker.
	BrokerSettings(l *Lab, c *Cluster, user string) []Settings
}

// Settings are those of one cluster in a broker's settings file; the fields are
// its keys.
type Settings struct {
	Name       string            `yaml:"name"`
	Driver     string            `yaml:"driver"` // local, slurm, gridengine
	SSH        string            `yaml:"ssh,omitempty"`
	SSHOptions []string          `yaml:"ssh_options,omitempty,flow"`
	Dir        string            `yaml:"dir,omitempty"`
	Partition  string            `yaml:"partition,omitempty"`
	PE         string            `yaml:"pe,omitempty"`
	Options    []string          `yaml:"options,omitempty,flow"`
	Slots      int               `yaml:"slots,omitempty"`
	KeepFree   int               `yaml:"keep_free,omitempty"`
	GrowFree   int               `yaml:"grow_free,omitempty"`
	Time       string            `yaml:"time,omitempty"`
	Poll       string            `yaml:"poll,omitempty"`
	Env        map[string]string `yaml:"env,omitempty"`
	Commands   string            `yaml:"commands,omitempty"`
	MPI        MPI               `yaml:"mpi,omitempty,flow"`

	// SSHHosts are the hosts of a cluster of several, instead of SSH.
	SSHHosts []string `yaml:"-"`
}

// MPI is how parallel programs run on a cluster: hosts with a part of a processor
// have none to spare for ranks that wait.
type MPI struct {
	Yield bool `yaml:"yield"`
}

// MarshalYAML writes a list of hosts under the name of one.
func (s Settings) MarshalYAML() (any, error) {
	type plain Settings
	if len(s.SSHHosts) == 0 {
		return plain(s), nil
	}
	s.SSH = ""
	var all, hosts yaml.Node
	if err := errors.Join(all.Encode(plain(s)), hosts.Encode(s.SSHHosts)); err != nil {
		return nil, err
	}
	hosts.Style = yaml.FlowStyle
	all.Content = append(all.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "ssh"}, &hosts)
	return &all, nil
}

var registry = struct {
	sync.Mutex
	managers map[string]Manager
}{managers: map[string]Manager{}}

// RegisterManager makes a manager known under the name that plans use; the command
// line registers those there are. Under None it is what plain machines get.
func RegisterManager(name string, m Manager) {
	registry.Lock()
	defer registry.Unlock()
	registry.managers[name] = m
}

// findManager finds the one of a cluster; nil for plain machines as long as nobody
// registered anything for them.
func findManager(name string) (Manager, error) {
	registry.Lock()
	defer registry.Unlock()
	m, ok := registry.managers[name]
	if !ok && name != None {
		known := append(slices.Sorted(maps.Keys(registry.managers)), None)
		return nil, fmt.Errorf("there is no manager %q; there are %s", name, strings.Join(slices.Compact(known), ", "))
	}
	return m, nil
}

// BrokerSettings are those of a cluster in a broker's settings file, for a broker that
// uses it as a user of the lab, or, if none is named, as whoever asks. None for plain machines that
// nobody can log in to.
func (l *Lab) BrokerSettings(c *Cluster, user string) []Settings {
	m, err := findManager(c.Manager)
	if err != nil || m == nil {
		return nil
	}
	return m.BrokerSettings(l, c, user)
}
