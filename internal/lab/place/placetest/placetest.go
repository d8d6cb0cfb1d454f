// Package placetest makes a handful of hosts for the tests of what runs on
// several: a head and nodes, each with a network, a name and an address of its
// own, in namespaces that end with the test, however it ends. There is an
// ordinary user on them who is unknown outside. Nothing is added to the
// machine's own network. It must not know what is run.
package placetest

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/accounts"
)

// Hosts is a head and its nodes. They share all files with the machine but
// those in /etc that say who exists.
type Hosts struct {
	Dir   string // for files that all users may see; removed after the test
	Head  *Host
	Nodes []*Host
	User  User
}

// User is somebody ordinary who exists on the hosts.
type User struct {
	Name     string
	UID, GID int
	Home     string
}

// Host is one of them. The head is where the first process of all of them is.
type Host struct {
	name, addr string
	pid        int // as seen from outside
}

// setup runs as the first process.
//
//go:embed init.sh
var setup string

// Start makes the hosts. They are gone when the test ends, also if it is killed.
func Start(t testing.TB, nodes int) *Hosts {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("hosts are made of namespaces, which needs root")
	}
	dir, err := os.MkdirTemp("", "godwit-hosts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ids, err := accounts.FreeIDs("/etc", 1)
	if err != nil {
		t.Fatal(err)
	}
	h := &Hosts{Dir: dir, User: User{Name: "alice", UID: ids[0], GID: ids[0], Home: filepath.Join(dir, "home")}}
	h.Head = &Host{name: "head", addr: "10.77.0.1"}
	for i := range nodes {
		h.Nodes = append(h.Nodes, &Host{name: fmt.Sprintf("n%d", i+1), addr: fmt.Sprintf("10.77.0.%d", i+11)})
	}
	if err := h.writeFiles(); err != nil {
		t.Fatal(err)
	}
	h.bootHosts(t)
	return h
}

// AllHosts are the head and the nodes.
func (h *Hosts) AllHosts() []*Host { return append([]*Host{h.Head}, h.Nodes...) }

// writeFiles writes who exists.
func (h *Hosts) writeFiles() error {
	etc := filepath.Join(h.Dir, "etc")
	var hosts strings.Builder
	hosts.WriteString("127.0.0.1 localhost\n")
	for _, p := range h.AllHosts() {
		fmt.Fprintf(&hosts, "%s %s\n", p.addr, p.name)
	}
	u := h.User
	return errors.Join(
		os.Chmod(h.Dir, 0o755), // for everybody on the hosts
		os.Mkdir(u.Home, 0o755),
		os.Chown(u.Home, u.UID, u.GID),
		os.Mkdir(etc, 0o755),
		os.WriteFile(filepath.Join(etc, "resolv.conf"), nil, 0o644),
		os.WriteFile(filepath.Join(etc, "hosts"), []byte(hosts.String()), 0o644),
		accounts.Write("/etc", etc, []accounts.User{{Name: u.Name, ID: u.UID, Home: u.Home}}))
}

// bootHosts starts the first process and waits until it has made the hosts. It ends,
// and everything on the hosts with it, when the pipe to it is closed: by the
// test, or by the system when the test is killed.
func (h *Hosts) bootHosts(t testing.TB) {
	argv := []string{"-c", setup, "init", filepath.Join(h.Dir, "etc"), h.Head.addr}
	for _, n := range h.Nodes {
		argv = append(argv, n.name, n.addr)
	}
	cmd := exec.Command("/bin/sh", argv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWIPC,
		Setsid: true,
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second // daemons may keep what is said to nobody
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutDown(t, cmd, stdin) })
	inner := map[string]string{}
	lines := bufio.NewScanner(stdout)
	ready := false
	for !ready && lines.Scan() {
		name, pid, _ := strings.Cut(lines.Text(), " ")
		inner[name] = pid
		ready = name == "ready"
	}
	if !ready {
		_ = stdin.Close()
		_ = cmd.Wait()
		t.Fatalf("the hosts could not be made: %s", strings.TrimSpace(stderr.String()))
	}
	h.Head.pid = cmd.Process.Pid
	outer := childPids(cmd.Process.Pid)
	for _, n := range h.Nodes {
		if n.pid = outer[inner[n.name]]; n.pid == 0 {
			t.Fatalf("the process of host %s is not to be found", n.name)
		}
	}
}

// shutDown ends the first process and with it all others.
func shutDown(t testing.TB, cmd *exec.Cmd, stdin io.Closer) {
	_ = stdin.Close()
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	if !late.Stop() {
		t.Errorf("the hosts did not end by themselves")
	}
}

// childPids maps the ids that children of a process have inside to those that
// they have here.
func childPids(parent int) map[string]int {
	found := map[string]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // ended meanwhile
		}
		field := map[string][]string{}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			field[key] = strings.Fields(value)
		}
		ids := field["NSpid"]
		if pp := field["PPid"]; len(pp) != 1 || pp[0] != strconv.Itoa(parent) || len(ids) < 2 {
			continue
		}
		found[ids[len(ids)-1]], _ = strconv.Atoi(ids[0])
	}
	return found
}

// Name is the host's name.
func (h *Host) Name() string { return h.name }

// Addr is its address.
func (h *Host) Addr() string { return h.addr }

// EnterCommand is the beginning of a command that runs another one on the host.
func (h *Host) EnterCommand() []string {
	return []string{"nsenter", "-t", strconv.Itoa(h.pid), "-n", "-u", "-m", "-p", "-i"}
}

// Command runs on the host, as root, in the folder /.
func (h *Host) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return groupCommand(ctx, append(append(h.EnterCommand(), "--"), argv...))
}

// CommandAs runs on the host as a user, in the user's home.
func (h *Host) CommandAs(ctx context.Context, u User, argv ...string) *exec.Cmd {
	enter := append(h.EnterCommand(), "-S", strconv.Itoa(u.UID), "-G", strconv.Itoa(u.GID), "--wdns="+u.Home, "--",
		"env", "HOME="+u.Home, "USER="+u.Name, "LOGNAME="+u.Name)
	return groupCommand(ctx, append(enter, argv...))
}

// groupCommand is one that ends with all it started in the foreground.
func groupCommand(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// WrapCommands makes a folder of commands that run on the host: as whoever calls them,
// or as a user. With it a program outside can use what listens inside.
func (h *Host) WrapCommands(dir string, as *User, env map[string]string, names ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	enter := append(h.EnterCommand(), `--wdns="$PWD"`)
	if as != nil {
		enter = append(enter, "-S", strconv.Itoa(as.UID), "-G", strconv.Itoa(as.GID))
		env = maps.Clone(env)
		maps.Copy(env, map[string]string{"HOME": as.Home, "USER": as.Name, "LOGNAME": as.Name})
	}
	enter = append(enter, "--", "env")
	for _, key := range slices.Sorted(maps.Keys(env)) {
		enter = append(enter, key+"="+env[key])
	}
	for _, name := range names {
		script := "#!/bin/sh\nexec " + strings.Join(enter, " ") + " " + name + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return nil
}
