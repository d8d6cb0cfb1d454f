// Package sshd runs an SSH server on each host of a lab and writes what clients
// need to reach them: identities, the keys of the hosts, and a configuration file
// with an entry for each. One identity opens all accounts, for whoever runs the
// lab; each user has another, with which they go from host to host. It must not
// know what they do there.
package sshd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/lab/place"
)

// Config says which hosts can be reached, and by whom.
type Config struct {
	Dir   string // for keys and settings, the same on all hosts
	Hosts []Host
	Users []User
	// Owner and Group are those of the identity that opens all accounts, which
	// nobody else may read.
	Owner, Group int
}

// User is somebody with an account on all hosts.
type User struct {
	Name     string
	UID, GID int
	Home     string
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
		file := func(ending string) string { return s.filePath(h.Name() + ending) }
		// sshd wants to be called by its path; the folder is for its children
		// before anybody has logged in.
		const start = `mkdir -p /run/sshd && exec "$(command -v sshd || echo /usr/sbin/sshd)" -f "$1" -E "$2"`
		s.daemons[h.Name()] = &place.Daemon{At: h, Comm: "sshd", PidFile: file(".pid"),
			Argv: []string{"sh", "-c", start, "sh", file(".conf"), file(".log")}}
	}
	return s
}

func (s *Servers) filePath(names ...string) string {
	return filepath.Join(append([]string{s.config.Dir}, names...)...)
}

// ClientConfig is the file for ssh -F: an entry for each host.
func (s *Servers) ClientConfig() string { return s.filePath("config") }

// IdentityFile is the file with the key that opens all accounts.
func (s *Servers) IdentityFile() string { return s.filePath("identity") }

// Start starts the servers that do not run, of some hosts or of all, and returns
// when they listen.
func (s *Servers) Start(ctx context.Context, hosts ...string) error {
	if err := s.prepareFiles(ctx); err != nil {
		return err
	}
	all, err := s.serversOf(hosts)
	if err != nil {
		return err
	}
	if err := place.StartAll(ctx, all); err != nil {
		return err
	}
	return place.WaitUntil(ctx, "the SSH servers", func(ctx context.Context) (bool, error) {
		// They write their process ids when they listen.
		down, err := place.ListDown(ctx, all)
		if err == nil && len(down) > 0 {
			err = errors.New("not up: " + strings.Join(down, ", "))
		}
		return err == nil, err
	})
}

// serversOf finds the servers of hosts; of all if none is named.
func (s *Servers) serversOf(hosts []string) ([]*place.Daemon, error) {
	if len(hosts) == 0 {
		for _, h := range s.config.Hosts {
			hosts = append(hosts, h.Name())
		}
	}
	var list []*place.Daemon
	for _, h := range hosts {
		d := s.daemons[h]
		if d == nil {
			return nil, fmt.Errorf("no SSH server on %s", h)
		}
		list = append(list, d)
	}
	return list, nil
}

// ListDown lists the servers that do not run, such as "sshd on n1".
func (s *Servers) ListDown(ctx context.Context, hosts ...string) ([]string, error) {
	all, err := s.serversOf(hosts)
	if err != nil {
		return nil, err
	}
	return place.ListDown(ctx, all)
}

// Stop ends servers. Sessions go on until they end or the host does.
func (s *Servers) Stop(ctx context.Context, hosts ...string) error {
	all, err := s.serversOf(hosts)
	if err != nil {
		return err
	}
	return place.StopAll(ctx, all)
}
