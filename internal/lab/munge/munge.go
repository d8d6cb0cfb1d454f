// Package munge runs the daemon by which the hosts of a lab know who asks: one
// for the whole lab, with a key and a socket of its own, since a socket in a
// folder that all hosts see is reached from all of them. It must not know who
// relies on it.
package munge

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/lab/place"
)

// Munge is the daemon of one lab.
type Munge struct {
	dir    string
	daemon place.Daemon
}

// New is the munged that keeps its files in dir, a folder that all hosts see and
// that only root may write to. Whether it runs is another matter.
func New(dir string, at place.Place) *Munge {
	m := &Munge{dir: dir}
	file := func(name string) string { return filepath.Join(dir, name) }
	m.daemon = place.Daemon{At: at, Comm: "munged", PidFile: file("munged.pid"), Argv: []string{"munged",
		"--key-file=" + file("key"), "--socket=" + m.SocketPath(), "--pid-file=" + file("munged.pid"),
		"--log-file=" + file("munged.log"), "--seed-file=" + file("seed"), "--num-threads=2"}}
	return m
}

// SocketPath is where it is asked.
func (m *Munge) SocketPath() string { return filepath.Join(m.dir, "socket") }

// Start starts it, with a key that is made the first time, and returns when it
// answers.
func (m *Munge) Start(ctx context.Context) error {
	if err := m.prepareFiles(); err != nil {
		return err
	}
	if err := m.daemon.Start(ctx); err != nil {
		return err
	}
	return place.WaitUntil(ctx, "munged", func(ctx context.Context) (bool, error) {
		_, err := place.CommandOutput(ctx, m.daemon.At, "munge", "--no-input", "--socket="+m.SocketPath(),
			"--output=/dev/null")
		return err == nil, err
	})
}

// prepareFiles makes the folder and the key.
func (m *Munge) prepareFiles() error {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	// Programs of all users pass through to the socket.
	if err := os.Chmod(m.dir, 0o755); err != nil {
		return err
	}
	key := filepath.Join(m.dir, "key")
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	secret := make([]byte, 128)
	_, _ = rand.Read(secret) // never fails
	return os.WriteFile(key, secret, 0o600)
}

// ListDown is its name if it does not run, as "munged on head".
func (m *Munge) ListDown(ctx context.Context) ([]string, error) {
	return place.ListDown(ctx, []*place.Daemon{&m.daemon})
}

// Stop ends it.
func (m *Munge) Stop(ctx context.Context) error { return m.daemon.Stop(ctx) }
