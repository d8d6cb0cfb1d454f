package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// brokerSockets is where a broker is found.
type brokerSockets struct {
	socket   string // at which users are answered
	listener net.Listener
	door     string // at which agents alone are
	agents   net.Listener
	users    *users // besides the broker's own; nil: there are none
}

// listenSockets makes the sockets. The store is ours by now, so one that is there is
// left from a broker that was killed.
func listenSockets(o *Options, st store.Store) (p *brokerSockets, err error) {
	p = new(brokerSockets)
	beside := ""
	if o.Shared == "" {
		if p.socket, err = api.PrepareSocket(o.State); err != nil {
			return nil, err
		}
		p.listener, err = listenAt(p.socket, 0o600)
		beside = p.socket
	} else {
		if p.socket, err = preparePublic(o.Shared); err != nil {
			return nil, err
		}
		if p.users, err = newUsers(o, p.socket, st); err != nil {
			return nil, err
		}
		p.listener, err = listenAt(p.socket, 0o666)
		beside = p.users.private
	}
	if err != nil {
		return nil, err
	}
	if p.door, p.agents, err = openAgentSocket(beside, ""); err != nil {
		return nil, errors.Join(err, p.listener.Close())
	}
	return p, nil
}

func (p *brokerSockets) closeSockets() error {
	_, _ = p.listener.Close(), p.agents.Close() // whoever serves them has closed them
	if p.users == nil {
		return nil
	}
	return p.users.closeAll()
}

func listenAt(path string, mode os.FileMode) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(path, mode)
}

// preparePublic makes the folder of a socket that everybody is to find. Nobody
// else may put one there.
func preparePublic(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := checkOursAlone(dir); err != nil {
		return "", fmt.Errorf("no socket is made there: %w", err)
	}
	return path, os.Chmod(dir, 0o755) // whatever the mask said
}

// checkOursAlone complains about a folder that somebody else could change, or put
// another in its place.
func checkOursAlone(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for path := dir; ; path = filepath.Dir(path) {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		open := info.Mode().Perm()&0o022 != 0 && (path == dir || info.Mode()&os.ModeSticky == 0)
		if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || open {
			return fmt.Errorf("others than this user can change %s", path)
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}
