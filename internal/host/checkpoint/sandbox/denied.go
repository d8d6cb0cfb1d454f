package sandbox

import (
	"bufio"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// deniedNames is what the sandbox noted of calls that failed: names inside, some of
// which would have failed without it, too.
type deniedNames struct {
	Connects []string `json:"connects"`
	Writes   []string `json:"writes"`
	Missing  []string `json:"missing"`
	Left     []string `json:"left"`
}

var _ checkpoint.Confined = (*run)(nil)

// DeniedCalls asks the sandbox, or is what it said in the end.
func (r *run) DeniedCalls() []checkpoint.Denial {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	switch {
	case ended != nil && ended.Denied != nil:
		return judgeDenied(*ended.Denied, true, thisHost)
	case ended != nil:
		return nil
	}
	m, err := r.line.sendAndWait(order{Do: "denied"})
	if err != nil || m.Denied == nil {
		return nil // it has just ended
	}
	return judgeDenied(*m.Denied, false, thisHost)
}

// hostView is what must be known of the host to judge whether a call would have gone
// better there.
type hostView struct {
	listens func(port uint16) bool // some program waits for connections there
	socket  func(path string) bool // there is such a socket
	writes  func(path string) bool // we may make or change the file
	has     func(path string) bool // we may read it
}

var thisHost = hostView{listens: hostListens, socket: isSocket, writes: mayWrite, has: mayRead}

// judgeDenied keeps what would not have failed outside the sandbox. Left files count
// when the program is over.
func judgeDenied(d deniedNames, over bool, h hostView) []checkpoint.Denial {
	var list []checkpoint.Denial
	add := func(kind checkpoint.DenialKind, names []string, counts func(string) bool) {
		for _, n := range names {
			if counts(n) {
				list = append(list, checkpoint.Denial{Kind: kind, Name: n})
			}
		}
	}
	add(checkpoint.DeniedConnect, d.Connects, func(to string) bool { return couldConnect(to, h) })
	add(checkpoint.DeniedWrite, d.Writes, func(path string) bool { return !isCache(path) && h.writes(path) })
	add(checkpoint.DeniedRead, d.Missing, h.has)
	if over {
		add(checkpoint.DeniedKeep, d.Left, func(path string) bool { return !isBelow(path, "/tmp/.cache") })
	}
	return list
}

// lookups are sockets of services that look up names and write logs: who cannot reach
// them does without.
var lookups = []string{"/run/nscd", "/var/run/nscd", "/run/systemd", "/var/run/systemd", "/var/lib/sss", "/dev/log",
	"/run/dbus", "/var/run/dbus"}

// couldConnect says whether a connection would have been possible, as far as can be told
// from here.
func couldConnect(to string, h hostView) bool {
	if strings.HasPrefix(to, "/") {
		return !slices.ContainsFunc(lookups, func(dir string) bool { return isBelow(to, dir) }) && h.socket(to)
	}
	if addr, err := netip.ParseAddrPort(to); err == nil && addr.Addr().IsLoopback() {
		return h.listens(addr.Port()) // else it was refused as it would have been there
	}
	return true
}

// isCache says whether a file only spares its program some work the next time.
func isCache(path string) bool {
	return strings.HasSuffix(path, ".pyc") || strings.Contains(path+"/", "/__pycache__/")
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

func mayRead(path string) bool { return unix.Access(path, unix.R_OK) == nil }

// mayWrite looks at the file, or, if there is none, at its folder.
func mayWrite(path string) bool {
	if _, err := os.Lstat(path); err == nil {
		return unix.Access(path, unix.W_OK) == nil
	}
	return unix.Access(filepath.Dir(path), unix.W_OK) == nil
}

// hostListens looks for a socket in state LISTEN among those of the host.
func hostListens(port uint16) bool {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		found := listensIn(bufio.NewScanner(f), port)
		_ = f.Close() // only read
		if found {
			return true
		}
	}
	return false
}

// listensIn reads lines such as "0: 0100007F:1F90 00000000:0000 0A …".
func listensIn(lines *bufio.Scanner, port uint16) bool {
	const listen = "0A"
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || f[3] != listen {
			continue
		}
		_, hex, _ := strings.Cut(f[1], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil && uint16(n) == port {
			return true
		}
	}
	return false
}
