// Package batchtest is what the tests of every batch system's driver need: the
// world of the drivers' suite around a manager, real or not. It must not know
// which manager that is.
package batchtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// ActAsAgent makes the test program the agent that drivers under test start, if it was
// called as one. It is called first in TestMain, with what plays the agent and
// who guards it.
func ActAsAgent(guard, agent func(dir string) int) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "agent" && os.Args[2] == "--guard":
		os.Exit(guard(os.Args[3]))
	case len(os.Args) == 3 && os.Args[1] == "agent":
		os.Exit(agent(os.Args[2]))
	}
}

// World is a batch driver with a broker beside it. When the test ends nothing of
// it may be left.
type World struct {
	*drivertest.NotedPrograms
	Options batch.Options
	Dir     string // for the programs' notes

	t       testing.TB
	manager batch.Manager

	mu     sync.Mutex
	driver *batch.Driver
}

var _ drivertest.World = (*World)(nil)

// New makes a world whose files are below a folder that all hosts of the cluster
// see.
func New(t testing.TB, dir string, m batch.Manager, change func(*batch.Options)) *World {
	t.Helper()
	w := &World{Dir: dir, t: t, manager: m}
	w.NotedPrograms = drivertest.NewNotedPrograms(t, dir, func(a *wire.Attempt) { a.Cluster = w.Options.Cluster })
	w.Options = batch.Options{Cluster: "test", Dir: filepath.Join(dir, "it's $(here)"), Broker: w.Broker.Socket,
		Poll: 200 * time.Millisecond, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&w.Options)
	}
	t.Cleanup(w.cleanUp)
	return w
}

// cleanUp releases what the test left and looks that nothing of it lives.
func (w *World) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	d := w.OpenBatch()
	found, err := d.FindAttempts(ctx)
	if err != nil {
		w.t.Error(err)
	}
	var all sync.WaitGroup
	for _, f := range found {
		all.Go(func() {
			if err := d.ReleaseAttempt(ctx, f.ID); err != nil {
				w.t.Error(err)
			}
		})
	}
	all.Wait()
	w.Close()
	w.CheckNoneLives()
	left, err := filepath.Glob(filepath.Join(w.Options.Dir, "attempts", "*.*"))
	trash, err2 := filepath.Glob(filepath.Join(w.Options.Dir, "attempts", "trash", "*"))
	if err != nil || err2 != nil || len(left)+len(trash) > 0 {
		w.t.Error("left behind:", left, trash, err, err2)
	}
}

// OpenBatch is OpenDriver, with all that the driver can do.
func (w *World) OpenBatch() *batch.Driver {
	w.t.Helper()
	w.Close()
	d, err := batch.New(w.Options, w.manager)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.driver = d
	w.mu.Unlock()
	return d
}

// OpenDriver gives the driver anew.
func (w *World) OpenDriver() driver.Driver { return w.OpenBatch() }

// Close takes the driver away.
func (w *World) Close() {
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

// LetGoCode is the exit code of those that are let go.
const LetGoCode = 5

// AttemptUntilLetGo is an attempt that ends when it is let go.
func (w *World) AttemptUntilLetGo() *wire.Attempt {
	return w.AttemptFromLine(fmt.Sprintf(
		`echo began >> "$NOTES"; until [ -e "${NOTES%%/*}/go" ]; do sleep 0.1; done; exit %d`, LetGoCode))
}

// LetGo ends all such.
func (w *World) LetGo() {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.Dir, "go"), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// CountMessages counts the messages of a kind.
func (w *World) CountMessages(a *wire.Attempt, k wire.Kind) int {
	n := 0
	for _, m := range w.HeardMessages(a) {
		if m.Kind == k {
			n++
		}
	}
	return n
}

// SetDeaf takes the broker away, or brings it back.
func (w *World) SetDeaf(deaf bool) { w.Broker.SetDeaf(deaf) }

// AttemptID is what an attempt is called.
func AttemptID(a *wire.Attempt) driver.ID { return driver.AttemptID(a) }

// AttemptFolder is the attempt's folder.
func (w *World) AttemptFolder(a *wire.Attempt) string {
	return filepath.Join(w.Options.Dir, "attempts", attemptdir.FolderName(AttemptID(a)))
}

// KillAgent kills the agent that has the attempt's folder.
func (w *World) KillAgent(a *wire.Attempt) {
	w.t.Helper()
	dir := w.AttemptFolder(a)
	w.WaitUntil("an agent to kill", func() bool {
		pid := attemptdir.LockHolder(dir)
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || pid <= 1 || !bytes.HasSuffix(line, []byte(dir+"\x00")) {
			return false
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return false
		}
		defer func() { _ = unix.Close(fd) }()
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
			w.t.Error(err)
		}
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if n > 0 || err != nil && err != unix.EINTR {
				return true
			}
		}
	})
}

// WaitUntil waits for what has to happen.
func (w *World) WaitUntil(what string, ok func() bool) {
	w.t.Helper()
	clocktest.WaitFor(w.t, what, ok)
}

// FreshUsage asks a manager who holds its processors.
func FreshUsage(t testing.TB, m batch.Manager) driver.Held {
	t.Helper()
	s, err := m.SurveyHosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Held
}
