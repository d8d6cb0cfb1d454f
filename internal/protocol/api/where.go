package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// StateDir is the folder of the current user's broker: GODWIT_STATE, or godwit
// in the XDG state folder.
func StateDir() (string, error) {
	if dir := os.Getenv("GODWIT_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	// The XDG rules: a relative path is to be ignored.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "godwit"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("no folder for the state: neither GODWIT_STATE nor XDG_STATE_HOME nor HOME is set")
	}
	return filepath.Join(home, ".local", "state", "godwit"), nil
}

// maxSocket is the longest path that every Unix allows a socket.
const maxSocket = 103

// SocketPath is where the broker of a state folder listens. It depends on the
// folder alone, so that a shell, a cron job and a broker that were started with
// different environments meet; only where the folder's path is too long for a
// socket it lies elsewhere.
func SocketPath(state string) string {
	path := filepath.Join(state, "broker.sock")
	if len(path) <= maxSocket {
		return path
	}
	sum := sha256.Sum256([]byte(state))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	return filepath.Join("/tmp", "godwit-"+strconv.Itoa(os.Getuid()), name)
}

// PrepareSocket makes the folder in which the socket is to lie, for the current
// user alone, and returns the socket's path. A folder of somebody else is refused.
func PrepareSocket(state string) (string, error) {
	path := SocketPath(state)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a folder of this user: no socket is made there", dir)
	}
	return path, nil
}
