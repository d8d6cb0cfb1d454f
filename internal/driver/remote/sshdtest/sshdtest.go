// Package sshdtest is a real OpenSSH server for tests, on the loopback address
// and with keys of its own, that lets in the user who runs the test. A test can
// cut and freeze its connections. It must not know what is tested.
package sshdtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is an SSH server that is up until the test ends.
type Server struct {
	Dir  string // holds keys and settings
	Home string // of those who log in

	t        testing.TB
	port     int
	sshd     string
	listener net.Listener
	tasks    sync.WaitGroup

	mu    sync.Mutex
	down  bool
	conns map[int]*exec.Cmd // sshd of each connection
	log   bytes.Buffer
}

// Start starts a server. Each connection has an sshd of its own, as inetd would
// start it: there is no port to be fought over.
func Start(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "godwit-sshd-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Dir: dir, Home: filepath.Join(dir, "home"), t: t, conns: map[int]*exec.Cmd{}}
	t.Cleanup(s.stopServer)
	if s.sshd, err = exec.LookPath("/usr/sbin/sshd"); err != nil {
		t.Fatalf("these tests need openssh-server: %v", err)
	}
	if os.Getuid() == 0 {
		s.mustSucceed(os.MkdirAll("/run/sshd", 0o755)) // sshd wants it so
	}
	s.mustSucceed(os.Mkdir(s.Home, 0o700))
	for _, key := range []string{"host", "user", "other"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			s.filePath(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	public, err := os.ReadFile(s.filePath("user.pub"))
	s.mustSucceed(err)
	s.mustSucceed(os.WriteFile(s.filePath("authorized"), public, 0o600))
	settings := fmt.Sprintf(`HostKey %s
AuthorizedKeysFile %s
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication yes
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxSessions 50
SetEnv HOME=%s
`, s.filePath("host"), s.filePath("authorized"), s.Home)
	s.mustSucceed(os.WriteFile(s.filePath("config"), []byte(settings), 0o600))
	s.listenLocally()
	host, err := os.ReadFile(s.filePath("host.pub"))
	s.mustSucceed(err)
	s.mustSucceed(os.WriteFile(s.filePath("known"), fmt.Appendf(nil, "[127.0.0.1]:%d %s", s.port, host), 0o600))
	return s
}

func (s *Server) filePath(name string) string { return filepath.Join(s.Dir, name) }

func (s *Server) mustSucceed(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Host is whom to reach.
func (s *Server) Host() string { return "127.0.0.1" }

// ClientOptions are those with which ssh gets in.
func (s *Server) ClientOptions() []string { return s.optionsWith("user", "known") }

// StrangerOptions are options with which ssh is asked for a password.
func (s *Server) StrangerOptions() []string { return s.optionsWith("other", "known") }

// UnknownHostOptions are options of somebody who has never met this server.
func (s *Server) UnknownHostOptions() []string { return s.optionsWith("user", "unknown") }

func (s *Server) optionsWith(key, known string) []string {
	return []string{"-F", "none", "-p", strconv.Itoa(s.port), "-i", s.filePath(key), "-o", "IdentitiesOnly=yes",
		"-o", "IdentityAgent=none", "-o", "UserKnownHostsFile=" + s.filePath(known), "-o", "GlobalKnownHostsFile=none"}
}

func (s *Server) listenLocally() {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	s.mustSucceed(err)
	s.listener = l
	s.port = l.Addr().(*net.TCPAddr).Port
	s.tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.serveConnection(c.(*net.TCPConn))
		}
	})
}

// serveConnection hands a connection to an sshd.
func (s *Server) serveConnection(c *net.TCPConn) {
	defer func() { _ = c.Close() }()
	f, err := c.File()
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return
	}
	cmd := exec.Command(s.sshd, "-i", "-e", "-f", s.filePath("config"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, lockedWriter{s}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(&s.log, err)
		return
	}
	pid := cmd.Process.Pid
	s.conns[pid] = cmd
	s.tasks.Go(func() {
		_ = cmd.Wait()
		s.mu.Lock()
		delete(s.conns, pid)
		s.mu.Unlock()
	})
}

// lockedWriter writes to the log.
type lockedWriter struct{ s *Server }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.log.Write(p)
}

// ConnectionCount is how many there are.
func (s *Server) ConnectionCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// SetDown makes the server refuse connections, and cuts those that there are; or
// lets them in again.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.CutConnections()
	}
}

// CutConnections ends all connections, as a network that breaks, noticed by both ends.
func (s *Server) CutConnections() { s.signalConnections(syscall.SIGKILL) }

// FreezeConnections stops all connections, as a network that breaks, noticed by nobody.
// Cut ends that.
func (s *Server) FreezeConnections() { s.signalConnections(syscall.SIGSTOP) }

func (s *Server) signalConnections(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := range s.conns {
		for _, p := range append([]int{pid}, sshdsBelow(pid)...) {
			_ = syscall.Kill(p, sig) // it may be gone
		}
	}
}

// sshdsBelow are the processes of sshd itself that descend from one.
func sshdsBelow(pid int) []int {
	var list []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child))
			if err == nil && strings.HasPrefix(string(name), "sshd") {
				list = append(append(list, child), sshdsBelow(child)...)
			}
		}
	}
	return list
}

func (s *Server) stopServer() {
	if s.listener != nil {
		_ = s.listener.Close()
		s.SetDown(true)
		s.tasks.Wait()
	}
	if s.t.Failed() {
		log := s.log.String()
		s.t.Logf("sshd says: %s", log[max(0, len(log)-4000):])
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		s.t.Error(err)
	}
}
