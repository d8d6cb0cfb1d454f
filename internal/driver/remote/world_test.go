package remote_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/remote"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/live/outpost"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// This test program is also what the drivers under test bring to the other end:
// there it is the outpost, and its agents are the suite's.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "outpost":
		os.Exit(outpost.RunOutpost())
	case len(os.Args) == 3 && os.Args[1] == "agent":
		os.Exit(drivertest.RunAgent(os.Args[2]))
	}
	dir, err := os.MkdirTemp("", "godwit-remote-")
	if err != nil {
		panic(err)
	}
	binDir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// binDir is where the binary is brought to, once for all tests.
var binDir string

// world is a driver at the other end of a real SSH connection, which is this
// machine too, with a broker beside it.
type world struct {
	*drivertest.NotedPrograms
	t    testing.TB
	dir  string
	opt  remote.Options
	sshd *sshdtest.Server
	// notAlone: others use the same folder.
	notAlone bool

	mu     sync.Mutex
	driver *remote.Driver
}

func newWorld(t testing.TB, sshd *sshdtest.Server) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), sshd: sshd}
	w.NotedPrograms = drivertest.NewNotedPrograms(t, w.dir, func(a *wire.Attempt) {
		a.Cluster, a.Broker = w.opt.Cluster, "/nowhere/over/there"
	})
	far, err := os.MkdirTemp(sshd.Dir, "far")
	if err != nil {
		t.Fatal(err)
	}
	w.opt = remote.Options{Cluster: "far", SSH: sshd.Host(), SSHOptions: sshd.ClientOptions(), Socket: w.Broker.Socket,
		Owner:      "me",
		Sent:       filepath.Join(w.dir, "sent"),
		Settings:   driver.Settings{Kind: "local", Dir: far},
		FirstPause: 50 * time.Millisecond, LongPause: time.Second,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	w.settle(far)
	t.Cleanup(w.cleanUp)
	return w
}

// settle makes a folder the outpost's, with the binary in it.
func (w *world) settle(dir string) {
	w.t.Helper()
	w.opt.Settings.Dir = dir
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.Symlink(binDir, filepath.Join(dir, "bin"))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// place is the outpost's folder.
func (w *world) place() string { return filepath.Join(w.opt.Settings.Dir, w.opt.Owner) }

// cleanUp releases what the test left and looks that nothing of it lives.
func (w *world) cleanUp() {
	w.mu.Lock()
	used := w.driver != nil
	w.mu.Unlock()
	if !used && len(w.Attempts()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d := w.open()
	found, err := d.FindAttempts(ctx)
	if err != nil {
		w.t.Error(err)
	}
	for _, f := range found {
		if err := d.ReleaseAttempt(ctx, f.ID); err != nil {
			w.t.Error(err)
		}
	}
	w.Close()
	w.CheckNoneLives()
	if left := w.clients(); len(left) > 0 && !w.notAlone {
		w.t.Errorf("processes %v of ssh are left", left)
	}
	clocktest.WaitFor(w.t, "the outpost to be gone", func() bool { return len(w.outposts()) == 0 })
}

// outposts are the processes of outposts in our place.
func (w *world) outposts() []int {
	text, err := os.ReadFile(filepath.Join(w.place(), "outpost.lock"))
	if err != nil {
		return nil
	}
	pid, _, _ := strings.Cut(string(text), " ")
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	n, _ := strconv.Atoi(pid)
	if err != nil || !strings.Contains(string(line), "\x00outpost") {
		return nil
	}
	return []int{n}
}

// clients are the processes of ssh that we started for our place.
func (w *world) clients() []int {
	var list []int
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + word + "/cmdline")
			if pid, err := strconv.Atoi(word); err == nil && strings.HasPrefix(string(line), "ssh\x00") &&
				strings.Contains(string(line), w.opt.Settings.Dir) {
				list = append(list, pid)
			}
		}
	}
	return list
}

// open gives a driver that is connected.
func (w *world) open() *remote.Driver {
	w.t.Helper()
	w.Close()
	d, err := remote.New(w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.driver = d
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	clocktest.PollLoop{Limit: time.Minute}.WaitFor(w.t, "a connection", func() bool {
		_, err = d.FindAttempts(ctx)
		return err == nil
	}, func() string { return err.Error() })
	return d
}

func (w *world) OpenDriver() driver.Driver { return w.open() }

func (w *world) Close() {
	w.mu.Lock()
	d := w.driver
	w.driver = nil
	w.mu.Unlock()
	if d != nil {
		if err := d.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// lives says whether a process is there and is called one of these.
func lives(pid int, names ...string) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || strings.Contains(string(data), ") Z ") {
		return false
	}
	for _, name := range names {
		if strings.Contains(string(data), "("+name+") ") {
			return true
		}
	}
	return len(names) == 0
}

func (w *world) KillAgent(a *wire.Attempt) {
	w.t.Helper()
	clocktest.WaitFor(w.t, "an agent to kill", func() bool { return w.KillAgentIfAny(a) })
}

// KillAgentIfAny says whether there was one to kill.
func (w *world) KillAgentIfAny(a *wire.Attempt) bool {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.place(), "attempts", fmt.Sprintf("%d.%d", a.Job, a.Epoch), "lock"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || pid <= 1 || !lives(pid) || !strings.Contains(string(line), "\x00agent\x00"+w.place()) ||
		syscall.Kill(pid, syscall.SIGKILL) != nil {
		return false
	}
	clocktest.WaitFor(w.t, "the agent to be dead", func() bool { return !lives(pid) })
	return true
}

func idOf(a *wire.Attempt) driver.ID { return driver.AttemptID(a) }

func heard(w *world, a *wire.Attempt, k wire.Kind) int {
	n := 0
	for _, m := range w.HeardMessages(a) {
		if m.Kind == k {
			n++
		}
	}
	return n
}
