package placetest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/lab/place"
	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
)

func output(t *testing.T, at place.Place, argv ...string) string {
	t.Helper()
	out, err := place.CommandOutput(t.Context(), at, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHostsHaveNamesAndReachEachOther(t *testing.T) {
	h := placetest.Start(t, 2)
	for _, p := range h.AllHosts() {
		if got := output(t, p, "hostname"); got != p.Name() {
			t.Errorf("the host %s calls itself %s", p.Name(), got)
		}
		if got := output(t, p, "ip", "-4", "-o", "addr", "show", "to", p.Addr()); got == "" {
			t.Errorf("the host %s does not have the address %s", p.Name(), p.Addr())
		}
		if got := output(t, p, "getent", "hosts", "n2"); !strings.HasPrefix(got, "10.77.0.12") {
			t.Errorf("n2 is %q on %s", got, p.Name())
		}
	}
	// A connection from one to the other.
	const listen = `import socket; s=socket.create_server(("10.77.0.12", 7000)); print("there", flush=True); c=s.accept()[0]; c.send(b"hello"); c.close()`
	const call = `import socket; print(socket.create_connection(("n2", 7000)).recv(10).decode())`
	server := h.Nodes[1].Command(t.Context(), "python3", "-c", listen)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 6))
	if got := output(t, h.Nodes[0], "python3", "-c", call); got != "hello" {
		t.Errorf("n1 heard %q of n2", got)
	}
	_ = server.Wait()
}

func TestAnOrdinaryUserIsKnownOnHosts(t *testing.T) {
	h := placetest.Start(t, 1)
	out, err := h.Nodes[0].CommandAs(t.Context(), h.User, "sh", "-c",
		"id -un; id -G; pwd; echo $HOME; touch file").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := fmt.Sprintf("%s\n%d\n%s\n%s\n", h.User.Name, h.User.UID, h.User.Home, h.User.Home); string(out) != want {
		t.Errorf("the user is %q, want %q", out, want)
	}
	if err := h.Head.WrapCommands(filepath.Join(h.Dir, "commands"), &h.User, map[string]string{"A": "b"}, "env",
		"pwd"); err != nil {
		t.Fatal(err)
	}
	wrapped := exec.Command(filepath.Join(h.Dir, "commands", "env"))
	if out, err := wrapped.Output(); err != nil || !strings.Contains(string(out), "A=b\n") ||
		!strings.Contains(string(out), "USER="+h.User.Name+"\n") {
		t.Errorf("the command from outside: %v: %q", err, out)
	}
	wrapped = exec.Command(filepath.Join(h.Dir, "commands", "pwd"))
	wrapped.Dir = h.User.Home
	if out, err := wrapped.Output(); err != nil || strings.TrimSpace(string(out)) != h.User.Home {
		t.Errorf("the command runs in %q: %v", out, err)
	}
}

// Its home folder, its number and its groups are not those of an account of the same
// name that the machine has.
func TestAMachineMayHaveAnAccountOfTheSameName(t *testing.T) {
	placetest.RunWithAccounts(t, "^TestAnOrdinaryUserIsKnownOnHosts$", "alice")
}

func TestADaemonIsFoundKilledAndStopped(t *testing.T) {
	h := placetest.Start(t, 1)
	pid := filepath.Join(h.Dir, "pid")
	d := place.Daemon{At: h.Nodes[0], Comm: "sleep", PidFile: pid,
		Argv: []string{"sh", "-c", `sleep 1000 & echo $! >"$1"`, "sh", pid}}
	for _, end := range []func(context.Context) error{d.KillAndWait, d.Stop} {
		if err := d.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Between its number and its name there is a moment.
		clocktest.WaitFor(t, "it to run", func() bool {
			running, err := d.IsRunning(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return running
		})
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		if running, err := d.IsRunning(t.Context()); running || err != nil {
			t.Fatalf("ended: running is %v, %v", running, err)
		}
	}
	d.Argv = []string{"sh", "-c", "echo no idea how >&2; exit 3"}
	if err := d.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no idea how") {
		t.Errorf("a daemon that does not start says %v", err)
	}
}

// asVictim makes a test process start hosts and wait to be killed.
const asVictim = "GODWIT_PLACETEST_VICTIM"

func TestHostsEndWithATestThatIsKilled(t *testing.T) {
	if file := os.Getenv(asVictim); file != "" {
		h := placetest.Start(t, 1)
		cmd := h.Nodes[0].Command(context.Background(), "sh", "-c", "setsid sleep 1000 & wait")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ns, err := os.Readlink("/proc/" + h.Nodes[0].EnterCommand()[2] + "/ns/net")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+".new", []byte(ns), 0o644); err != nil {
			t.Fatal(err)
		}
		_ = os.Rename(file+".new", file)
		select {}
	}
	if os.Geteuid() != 0 {
		t.Skip("hosts need root")
	}
	file := filepath.Join(t.TempDir(), "namespace")
	victim := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	victim.Env = append(os.Environ(), asVictim+"="+file, "TMPDIR="+t.TempDir())
	victim.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var ns []byte
	clocktest.WaitFor(t, "the hosts", func() (ok bool) { ns, _ = os.ReadFile(file); return len(ns) > 0 })
	clocktest.WaitFor(t, "a process", func() bool { return len(inNamespace(string(ns))) >= 2 })
	_ = victim.Process.Kill()
	_ = victim.Wait()
	clocktest.WaitFor(t, "the end of all processes", func() bool { return len(inNamespace(string(ns))) == 0 })
}

// inNamespace lists the processes in a network namespace.
func inNamespace(ns string) []int {
	var found []int
	links, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == ns {
			pid, _ := strconv.Atoi(strings.Split(l, "/")[2])
			found = append(found, pid)
		}
	}
	return found
}
