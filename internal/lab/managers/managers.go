// Package managers puts onto the hosts of a lab what clusters have in real life:
// a way to log in, and a batch system. It decides which daemon runs on which host
// and what a broker is told of a cluster; how each of them is configured is the
// business of the packages slurm, gridengine, munge and sshd.
package managers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/place"
	"github.com/godwit-hpc/godwit/internal/lab/sshd"
)

// all are the managers there are, by the names that plans use.
var all = map[string]lab.Manager{lab.None: plain{}, pooledName: pooled{}, slurmName: slurmManager{},
	gridEngineName: gridEngineManager{}}

// What plans call them, and brokers their drivers.
const (
	slurmName      = "slurm"
	gridEngineName = "gridengine"
	pooledName     = "ssh"
)

// RegisterAll makes all of them known to labs.
func RegisterAll() {
	for name, m := range all {
		lab.RegisterManager(name, m)
	}
}

// at is a host of a lab as a place where daemons run.
type at struct{ host *lab.Host }

var _ place.Place = at{}

func (p at) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return p.host.Command(ctx, argv...)
}
func (p at) Name() string { return p.host.Name }
func (p at) Addr() string { return p.host.Address.String() }

// sshServers are the SSH servers of the whole lab, so that there is one identity,
// and all hosts are known to all.
func sshServers(l *lab.Lab) (*sshd.Servers, error) {
	dir, err := l.MakeFolder("ssh")
	if err != nil {
		return nil, err
	}
	config := sshd.Config{Dir: dir, Owner: os.Getuid(), Group: os.Getgid()}
	for _, u := range l.Users {
		config.Users = append(config.Users, sshd.User{Name: u.Name, UID: u.ID, GID: u.ID, Home: u.Home})
	}
	for _, c := range l.Clusters {
		env, err := loginEnv(l, c)
		if err != nil {
			return nil, err
		}
		for _, h := range c.AllHosts() {
			config.Hosts = append(config.Hosts, sshd.Host{Place: at{h}, Env: env})
		}
	}
	return sshd.New(config), nil
}

// loginEnv is what users of a cluster find in their environment.
func loginEnv(l *lab.Lab, c *lab.Cluster) (map[string]string, error) {
	switch c.Manager {
	case slurmName:
		s, _, err := slurmOf(l, c)
		if err != nil {
			return nil, err
		}
		return s.UserEnv(), nil
	case gridEngineName:
		s, err := cellOf(l, c)
		if err != nil {
			return nil, err
		}
		return s.UserEnv(), nil
	}
	return nil, nil
}

// startLogins starts the SSH servers of some hosts.
func startLogins(ctx context.Context, l *lab.Lab, hosts ...*lab.Host) error {
	s, err := sshServers(l)
	if err != nil {
		return err
	}
	return s.Start(ctx, hostNames(hosts)...)
}

// stopLogins ends those of a cluster.
func stopLogins(ctx context.Context, l *lab.Lab, c *lab.Cluster) error {
	s, err := sshServers(l)
	if err != nil {
		return err
	}
	return s.Stop(ctx, hostNames(c.AllHosts())...)
}

// showFolder makes a folder of the cluster's seen on hosts where programs look for it
// by themselves, so that its commands work for everybody there. It lasts as long
// as the host is up.
func showFolder(ctx context.Context, dir, as string, hosts ...*lab.Host) error {
	const bind = `mkdir -p "$2" && { mountpoint -q "$2" || mount --bind "$1" "$2"; }`
	for _, h := range hosts {
		if _, err := place.CommandOutput(ctx, at{h}, "sh", "-c", bind, "sh", dir, as); err != nil {
			return err
		}
	}
	return nil
}

func hostNames(hosts []*lab.Host) []string {
	var list []string
	for _, h := range hosts {
		list = append(list, h.Name)
	}
	return list
}

// accountAt is how ssh reaches an account on a host; without a user, that of whoever
// goes there.
func accountAt(user string, h *lab.Host) string {
	if user == "" {
		return h.Name
	}
	return user + "@" + h.Name
}

// AllowRootLogins lets root on the hosts of a lab reach root on all others, as
// users reach themselves: for a broker that each of them uses as themselves.
func AllowRootLogins(l *lab.Lab) error {
	s, err := sshServers(l)
	if err != nil {
		return err
	}
	dir := filepath.Join(l.Dir, "etc", "ssh", "ssh_config.d")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "lab.conf"), []byte("Match localuser root\n\tInclude "+s.ClientConfig()+"\n"),
		0o644)
}

// commonSettings are the settings that all clusters have: a user's account on a host,
// and a folder of the cluster's own in the home that all hosts share.
func commonSettings(l *lab.Lab, name, user string, h *lab.Host) lab.Settings {
	set := lab.Settings{Name: name, SSH: accountAt(user, h), Dir: ".godwit/" + name, MPI: lab.MPI{Yield: true}}
	if s, err := sshServers(l); err == nil && user != "" {
		set.SSHOptions = []string{"-F", s.ClientConfig()}
	}
	return set
}

// hostMemory is that of a host in MB; one that is not limited has the machine's.
func hostMemory(h *lab.Host) int {
	if h.Memory > 0 {
		return int(h.Memory >> 20)
	}
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			kb, _ := strconv.Atoi(f[1])
			return kb >> 10
		}
	}
	return 0
}
