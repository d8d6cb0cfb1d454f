package outpost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

// localKind is the kind of driver whose agents run on this very machine.
const localKind = "local"

// place is the folder that an outpost works in.
type place struct {
	dir    string
	socket string // of agents on this machine
}

// maxSocket is the longest path that every Unix allows a socket.
const maxSocket = 103

// findPlace resolves the folder that the hello names and makes it.
func findPlace(h *talk.Hello, home string) (place, error) {
	dir := h.Settings.Dir
	if dir == "" {
		dir = filepath.Join(".local", "state", "godwit", "outposts", h.Settings.Cluster)
	}
	if !filepath.IsAbs(dir) {
		if !filepath.IsAbs(home) {
			return place{}, errors.New("there is no home folder here; give the cluster's dir as an absolute path")
		}
		dir = filepath.Join(home, dir)
	}
	dir = filepath.Join(dir, h.Owner)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return place{}, err
	}
	// What runs must not depend on links that somebody changes.
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return place{}, err
	}
	if err := ours(dir); err != nil {
		return place{}, err
	}
	p := place{dir: dir, socket: filepath.Join(dir, "broker.sock")}
	if len(p.socket) > maxSocket-len(beside) {
		p.socket = shortSocket(dir)
	}
	return p, nil
}

// shortSocket is the path of the socket of a folder whose own path is too long.
func shortSocket(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join("/tmp", "godwit-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
}

// ours says what is wrong with a folder that others could put things into, or put
// another in the place of: then they could have their commands run as this user. In a
// folder with the sticky bit (/tmp, most scratch file systems) only owners rename.
func ours(dir string) error {
	if err := owned(dir, false); err != nil {
		return err
	}
	for path := filepath.Dir(dir); ; path = filepath.Dir(path) {
		if err := owned(path, true); err != nil {
			return err
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// owned complains about a folder of somebody else, or one that others may change.
func owned(dir string, above bool) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	foreign := !ok || int(owner.Uid) != os.Getuid() && !(above && owner.Uid == 0)
	open := info.Mode().Perm()&0o022 != 0 && !(above && info.Mode()&os.ModeSticky != 0)
	switch {
	case !info.IsDir() || foreign:
		return fmt.Errorf("%s is not a folder of this user alone: it belongs to somebody else", dir)
	case open:
		return fmt.Errorf("%s is not a folder of this user alone: others may change it (chmod go-w %s, or +t)", dir, dir)
	}
	return nil
}

// attempts is the folder that the driver gets.
func (p *place) attempts(kind string) string {
	if kind == localKind {
		return filepath.Join(p.dir, "attempts")
	}
	return p.dir
}

func (p *place) rendezvous() string { return filepath.Join(p.dir, "rendezvous.json") }

// beside is what the name of a socket has more until it takes its place.
const beside = ".new"

// listen makes the socket. It takes the place of the last outpost's at once, so
// that there always is one.
func (p *place) listen(ctx context.Context) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(p.socket), 0o700); err != nil {
		return nil, err
	}
	if err := ours(filepath.Dir(p.socket)); err != nil {
		return nil, err
	}
	tmp := p.socket + beside
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", tmp)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it is one
	if err = os.Chmod(tmp, 0o600); err == nil {
		err = os.Rename(tmp, p.socket)
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}
