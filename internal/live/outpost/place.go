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

// workFolder is the folder that an outpost works in.
type workFolder struct {
	dir    string
	socket string // of agents on this machine
}

// maxSocket is the longest path that every Unix allows a socket.
const maxSocket = 103

// findPlace resolves the folder that the hello names and makes it.
func findPlace(h *talk.Hello, home string) (workFolder, error) {
	dir := h.Settings.Dir
	if dir == "" {
		dir = filepath.Join(".local", "state", "godwit", "outposts", h.Settings.Cluster)
	}
	if !filepath.IsAbs(dir) {
		if !filepath.IsAbs(home) {
			return workFolder{}, errors.New("there is no home folder here; give the cluster's dir as an absolute path")
		}
		dir = filepath.Join(home, dir)
	}
	dir = filepath.Join(dir, h.Owner)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return workFolder{}, err
	}
	// What runs must not depend on links that somebody changes.
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return workFolder{}, err
	}
	if err := checkOurs(dir); err != nil {
		return workFolder{}, err
	}
	p := workFolder{dir: dir, socket: filepath.Join(dir, "broker.sock")}
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

// checkOurs says what is wrong with a folder that others could put things into, or put
// another in the place of: then they could have their commands run as this user. In a
// folder with the sticky bit (/tmp, most scratch file systems) only owners rename.
func checkOurs(dir string) error {
	if err := checkOwned(dir, false); err != nil {
		return err
	}
	for path := filepath.Dir(dir); ; path = filepath.Dir(path) {
		if err := checkOwned(path, true); err != nil {
			return err
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// checkOwned complains about a folder of somebody else, or one that others may change.
func checkOwned(dir string, above bool) error {
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

// attemptsFolder is the folder that the driver gets.
func (p *workFolder) attemptsFolder(kind string) string {
	if kind == localKind {
		return filepath.Join(p.dir, "attempts")
	}
	return p.dir
}

func (p *workFolder) rendezvousFile() string { return filepath.Join(p.dir, "rendezvous.json") }

// beside is what the name of a socket has more until it takes its place.
const beside = ".new"

// listenSocket makes the socket. It takes the place of the last outpost's at once, so
// that there always is one.
func (p *workFolder) listenSocket(ctx context.Context) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(p.socket), 0o700); err != nil {
		return nil, err
	}
	if err := checkOurs(filepath.Dir(p.socket)); err != nil {
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
