package local

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// This test program is also the agent that the drivers under test start: the
// stand-in of the suite, or the real one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "agent":
			os.Exit(drivertest.RunAgent(os.Args[2]))
		case "real-agent":
			os.Exit(agent.RunAgent(os.Args[2]))
		case "survey":
			os.Exit(survey(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

// world is a driver of this machine with a broker beside it. When the test ends
// nothing of it may be left.
type world struct {
	*drivertest.NotedPrograms
	t   testing.TB
	opt Options

	mu     sync.Mutex
	driver *Driver
}

func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t}
	w.NotedPrograms = drivertest.NewNotedPrograms(t, dir, func(a *wire.Attempt) {
		a.Cluster, a.Broker = w.opt.Cluster, w.Broker.Socket
	})
	w.opt = Options{Cluster: "test", Dir: filepath.Join(dir, "attempts"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&w.opt)
	}
	t.Cleanup(w.cleanUp)
	return w
}

// cleanUp releases what the test left and looks that nothing of it lives.
func (w *world) cleanUp() {
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
	for _, name := range []string{".", "trash"} {
		left, err := os.ReadDir(filepath.Join(w.opt.Dir, name))
		if err != nil {
			w.t.Error(err)
		}
		for _, e := range left {
			if name == "trash" || e.IsDir() && e.Name() != "trash" {
				w.t.Errorf("%s is left behind", e.Name())
			}
		}
	}
	noCgroupsLeft(w.t, w.opt)
}

// noCgroupsLeft looks for cgroups of attempts.
func noCgroupsLeft(t testing.TB, o Options) {
	g, _ := newGroups(&o)
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), "godwit-"+g.prefix) {
			t.Errorf("the cgroup %s is left behind", path)
		}
		return nil
	})
}

func (w *world) open() *Driver {
	w.t.Helper()
	w.Close()
	d, err := New(w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.driver = d
	w.mu.Unlock()
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

func (w *world) KillAgent(a *wire.Attempt) {
	w.t.Helper()
	dir := filepath.Join(w.opt.Dir, attemptdir.FolderName(driver.AttemptID(a)))
	var p *process
	clocktest.WaitFor(w.t, fmt.Sprintf("an agent of job %d to kill", a.Job), func() bool {
		p = agentOn(dir, attemptdir.LockHolder(dir), time.Time{})
		return p != nil
	})
	p.sendSignal(syscall.SIGKILL)
	clocktest.WaitFor(w.t, "its death", func() bool { return p.fd == nil || pidfdDead(p) })
	p.stopWaiting()
}

func pidfdDead(p *process) bool {
	dead := false
	raw, err := p.fd.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { dead = isReadable(int(fd)) })
	}
	return dead || err != nil
}
