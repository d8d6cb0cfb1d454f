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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Agent makes the test program the agent that drivers under test start, if it was
// called as one. It is called first in TestMain, with what plays the agent and
// who guards it.
func Agent(guard, agent func(dir string) int) {
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
	Options batch.Options
	Broker  *drivertest.Broker
	Dir     string // for the programs' notes

	t       testing.TB
	manager batch.Manager

	mu       sync.Mutex
	driver   *batch.Driver
	attempts []*wire.Attempt
}

var _ drivertest.World = (*World)(nil)

// New makes a world whose files are below a folder that all hosts of the cluster
// see.
func New(t testing.TB, dir string, m batch.Manager, change func(*batch.Options)) *World {
	t.Helper()
	w := &World{Broker: drivertest.NewBroker(t), Dir: dir, t: t, manager: m}
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
	found, err := d.Find(ctx)
	if err != nil {
		w.t.Error(err)
	}
	var all sync.WaitGroup
	for _, f := range found {
		all.Go(func() {
			if err := d.Release(ctx, f.ID); err != nil {
				w.t.Error(err)
			}
		})
	}
	all.Wait()
	w.Close()
	for _, a := range w.attempts {
		if n := w.Living(a); n > 0 {
			w.t.Errorf("%d processes of job %d live on", n, a.Job)
		}
	}
	left, err := filepath.Glob(filepath.Join(w.Options.Dir, "attempts", "*.*"))
	trash, err2 := filepath.Glob(filepath.Join(w.Options.Dir, "attempts", "trash", "*"))
	if err != nil || err2 != nil || len(left)+len(trash) > 0 {
		w.t.Error("left behind:", left, trash, err, err2)
	}
}

// OpenBatch is Open, with all that the driver can do.
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

// Open gives the driver anew.
func (w *World) Open() driver.Driver { return w.OpenBatch() }

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

// Attempt is one of the suite's programs. They note that they began, and their
// processes, in a file.
func (w *World) Attempt(p drivertest.Program) *wire.Attempt {
	const begin = `echo began >> "$NOTES"; echo $$ >> "$NOTES"; `
	const hide = `setsid env -u GODWIT_ATTEMPT sh -c 'sh -c "trap \"\" HUP TERM; echo \$\$ >> \"\$NOTES\"; exec sleep 300" &' & `
	return w.Line(map[drivertest.Program]string{
		drivertest.Ends:  begin + "exit 7",
		drivertest.Stays: begin + "exec sleep 300",
		drivertest.Hides: begin + hide + "exec sleep 300",
	}[p])
}

// Line is an attempt that runs a line of the shell, which finds the name of its
// file for notes in $NOTES.
func (w *World) Line(line string) *wire.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.attempts) + 1
	a := &wire.Attempt{Job: core.JobID(n), Epoch: 1, Procs: 1, Cluster: w.Options.Cluster, Speed: 1,
		Mark: strings.NewReplacer("/", ".").Replace(fmt.Sprintf("%s.%d.%d", w.Broker.Socket, os.Getpid(), n))}
	a.Spec = jobfile.Job{Argv: []string{"/usr/bin/env", "NOTES=" + w.notes(a), "sh", "-c", line}, Min: 1, Max: 1, Env: map[string]string{},
		Checkpoint: jobfile.Checkpoint{Method: "restart"}}
	w.attempts = append(w.attempts, a)
	return a
}

func (w *World) notes(a *wire.Attempt) string {
	return filepath.Join(w.Dir, "notes."+strconv.FormatInt(int64(a.Job), 10))
}

// Notes are the words that an attempt's program noted.
func (w *World) Notes(a *wire.Attempt) []string {
	data, err := os.ReadFile(w.notes(a))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

// Started is how often the program began.
func (w *World) Started(a *wire.Attempt) int {
	n := 0
	for _, word := range w.Notes(a) {
		if word == "began" {
			n++
		}
	}
	return n
}

// Living is how many processes of the program live.
func (w *World) Living(a *wire.Attempt) int {
	n := 0
	for _, word := range w.Notes(a) {
		if pid, err := strconv.Atoi(word); err == nil && livesAsSleep(pid) {
			n++
		}
	}
	left, err := proctree.Leftovers(a.Mark)
	if err != nil {
		w.t.Error(err)
	}
	return max(n, len(left))
}

// livesAsSleep says whether that number is still that of one of our programs.
func livesAsSleep(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && (strings.Contains(string(data), "(sleep) ") || strings.Contains(string(data), "(sh) ")) &&
		!strings.Contains(string(data), ") Z ")
}

// Heard is what the broker heard.
func (w *World) Heard(a *wire.Attempt) []wire.Message { return w.Broker.Heard(ID(a)) }

// Told counts the messages of a kind.
func (w *World) Told(a *wire.Attempt, k wire.Kind) int {
	n := 0
	for _, m := range w.Heard(a) {
		if m.Kind == k {
			n++
		}
	}
	return n
}

// Deaf takes the broker away, or brings it back.
func (w *World) Deaf(deaf bool) { w.Broker.Deaf(deaf) }

// ID is what an attempt is called.
func ID(a *wire.Attempt) driver.ID { return driver.ID{Job: a.Job, Epoch: a.Epoch} }

// Folder is the attempt's folder.
func (w *World) Folder(a *wire.Attempt) string {
	return filepath.Join(w.Options.Dir, "attempts", attemptdir.Name(ID(a)))
}

// KillAgent kills the agent that has the attempt's folder.
func (w *World) KillAgent(a *wire.Attempt) {
	w.t.Helper()
	dir := w.Folder(a)
	w.Until("an agent to kill", func() bool {
		pid := attemptdir.Holder(dir)
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

// Until waits for what has to happen.
func (w *World) Until(what string, ok func() bool) {
	w.t.Helper()
	for range 12_000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.t.Fatalf("waited in vain for %s", what)
}
