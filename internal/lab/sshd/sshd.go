// Package sshd runs an SSH server on each host of a lab and writes what clients
// need to reach them: an identity, the keys of the hosts, and a configuration
// file with an entry for each. Users are let in by that identity alone. It must
// not know what they do there.
package sshd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/lab/place"
)

// Config says which hosts can be reached, and by whom.
type Config struct {
	Dir   string // for keys and settings, the same on all hosts
	Hosts []Host
	User  string // as whom clients come unless they say otherwise
	// Owner and Group are those of the identity, which nobody else may read.
	Owner, Group int
}

// Host is a host with a server.
type Host struct {
	place.Place
	Env map[string]string // for all who log in
}

// Servers are the SSH servers of a lab, running or not.
type Servers struct {
	config  Config
	daemons map[string]*place.Daemon
}

// New are the servers that the configuration describes. They may have been
// started by another process.
func New(c Config) *Servers {
	s := &Servers{config: c, daemons: map[string]*place.Daemon{}}
	for _, h := range c.Hosts {
		file := func(ending string) string { return s.file(h.Name() + ending) }
		// sshd wants to be called by its path; the folder is for its children
		// before anybody has logged in.
		const start = `mkdir -p /run/sshd && exec "$(command -v sshd || echo /usr/sbin/sshd)" -f "$1" -E "$2"`
		s.daemons[h.Name()] = &place.Daemon{At: h, Comm: "sshd", PidFile: file(".pid"),
			Argv: []string{"sh", "-c", start, "sh", file(".conf"), file(".log")}}
	}
	return s
}

func (s *Servers) file(name string) string { return filepath.Join(s.config.Dir, name) }

// ClientConfig is the file for ssh -F: an entry for each host.
func (s *Servers) ClientConfig() string { return s.file("config") }

// Identity is the file with the key that all hosts accept.
func (s *Servers) Identity() string { return s.file("identity") }

// Start writes what is missing, starts the servers that do not run and returns
// when all of them listen.
func (s *Servers) Start(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := place.StartAll(ctx, s.all()); err != nil {
		return err
	}
	return place.Until(ctx, "the SSH servers", func(ctx context.Context) (bool, error) {
		// They write their process ids when they listen.
		down, err := s.Down(ctx)
		if err == nil && len(down) > 0 {
			err = errors.New("not up: " + strings.Join(down, ", "))
		}
		return err == nil, err
	})
}

// StartHost starts the server of one host unless it runs, and returns when it
// listens.
func (s *Servers) StartHost(ctx context.Context, host string) error {
	d := s.daemons[host]
	if d == nil {
		return fmt.Errorf("no SSH server on %s", host)
	}
	if err := d.Start(ctx); err != nil {
		return err
	}
	return place.Until(ctx, "the SSH server of "+host, d.Running)
}

func (s *Servers) all() []*place.Daemon {
	var all []*place.Daemon
	for _, h := range s.config.Hosts {
		all = append(all, s.daemons[h.Name()])
	}
	return all
}

// Down lists the servers that do not run, such as "sshd on n1".
func (s *Servers) Down(ctx context.Context) ([]string, error) { return place.Down(ctx, s.all()) }

// Stop ends all servers. Sessions go on until they end or the host does.
func (s *Servers) Stop(ctx context.Context) error { return place.StopAll(ctx, s.all()) }

// prepare writes keys and settings.
func (s *Servers) prepare(ctx context.Context) error {
	if err := os.MkdirAll(s.config.Dir, 0o755); err != nil {
		return err
	}
	identity, err := s.key(ctx, "identity")
	if err != nil {
		return err
	}
	if err := os.Chown(s.Identity(), s.config.Owner, s.config.Group); err != nil {
		return err
	}
	var known, client strings.Builder
	for _, h := range s.config.Hosts {
		key, err := s.key(ctx, h.Name()+".key")
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.file(h.Name()+".conf"), []byte(s.serverConfig(h)), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&known, "%s,%s %s", h.Name(), h.Addr(), key)
		fmt.Fprintf(&client, "Host %s\n\tHostName %s\n", h.Name(), h.Addr())
	}
	client.WriteString(s.clientDefaults())
	return errors.Join(
		os.WriteFile(s.file("authorized_keys"), []byte(identity), 0o644),
		os.WriteFile(s.file("known_hosts"), []byte(known.String()), 0o644),
		os.WriteFile(s.ClientConfig(), []byte(client.String()), 0o644))
}

// key makes a pair of keys the first time and returns the public one.
func (s *Servers) key(ctx context.Context, name string) (string, error) {
	path := s.file(name)
	if _, err := os.Stat(path + ".pub"); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(path) // half of a pair
		out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("ssh-keygen: %w: %s", err, strings.TrimSpace(string(out)))
		}
	}
	text, err := os.ReadFile(path + ".pub")
	return string(text), err
}

// serverConfig is the text of a host's sshd_config.
func (s *Servers) serverConfig(h Host) string {
	lines := []string{
		"ListenAddress " + h.Addr(),
		"Port 22",
		"HostKey " + s.file(h.Name()+".key"),
		"PidFile " + s.file(h.Name()+".pid"),
		"AuthorizedKeysFile " + s.file("authorized_keys"),
		"StrictModes no", // the lab's folder may be below one that everybody writes to
		"UsePAM no",      // users of the lab have no passwords, and no shadow entries
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password",
		"PrintMotd no",
		"UseDNS no",
		"MaxStartups 100:30:200",
		"MaxSessions 100",
		"AcceptEnv OMPI_* PMIX_*",
		"Subsystem sftp internal-sftp",
	}
	if len(h.Env) > 0 {
		set := "SetEnv"
		for _, key := range slices.Sorted(maps.Keys(h.Env)) {
			set += fmt.Sprintf(" %s=%q", key, h.Env[key])
		}
		lines = append(lines, set)
	}
	return strings.Join(lines, "\n") + "\n"
}

// clientDefaults are what holds for all hosts.
func (s *Servers) clientDefaults() string {
	lines := []string{
		"Host *",
		"IdentityFile " + s.Identity(),
		"IdentitiesOnly yes",
		"UserKnownHostsFile " + s.file("known_hosts"),
		"GlobalKnownHostsFile /dev/null",
		"StrictHostKeyChecking yes",
		"UpdateHostKeys no",
		"BatchMode yes",
		"PreferredAuthentications publickey",
		"LogLevel ERROR",
	}
	if s.config.User != "" {
		lines = append(lines, "User "+s.config.User)
	}
	return strings.Join(lines, "\n\t") + "\n"
}
