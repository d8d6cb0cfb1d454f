package local

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

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
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
	t      testing.TB
	dir    string
	opt    Options
	broker *drivertest.Broker

	mu       sync.Mutex
	driver   *Driver
	attempts []*wire.Attempt
}

func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, broker: drivertest.NewBroker(t)}
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
	for _, a := range w.attempts {
		if n := w.LivingProcesses(a); n > 0 {
			w.t.Errorf("%d processes of job %d live on", n, a.Job)
		}
	}
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

// The programs note that they began, and their processes, in a file.
func (w *world) AttemptFor(p drivertest.Program) *wire.Attempt {
	const begin = `echo began >> "$NOTES"; echo $$ >> "$NOTES"; `
	const hide = `setsid env -u GODWIT_ATTEMPT sh -c 'sh -c "trap \"\" HUP TERM; echo \$\$ >> \"\$NOTES\"; exec sleep 300" &' & `
	line := map[drivertest.Program]string{
		drivertest.Ends:  begin + "exit 7",
		drivertest.Stays: begin + "exec sleep 300",
		drivertest.Hides: begin + hide + "exec sleep 300",
	}[p]
	return w.attempt(line)
}

func (w *world) attempt(line string) *wire.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.attempts) + 1
	a := &wire.Attempt{Job: core.JobID(n), Epoch: 1, Mark: fmt.Sprintf("%s.%d.%d", filepath.Base(w.dir), os.Getpid(), n),
		Procs:   1,
		Cluster: w.opt.Cluster, Broker: w.broker.Socket, Speed: 1}
	a.Mark = strings.ReplaceAll(w.broker.Socket+"."+a.Mark, "/", ".")
	a.Spec = jobfile.Job{Argv: []string{"/usr/bin/env", "NOTES=" + w.notes(a), "sh", "-c", line}, Min: 1, Max: 1,
		Env:        map[string]string{},
		Checkpoint: jobfile.Checkpoint{Method: "restart"}}
	w.attempts = append(w.attempts, a)
	return a
}

func (w *world) notes(a *wire.Attempt) string {
	return filepath.Join(w.dir, "notes."+strconv.FormatInt(int64(a.Job), 10))
}

func (w *world) lines(a *wire.Attempt) []string {
	data, err := os.ReadFile(w.notes(a))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

func (w *world) StartCount(a *wire.Attempt) int {
	n := 0
	for _, line := range w.lines(a) {
		if line == "began" {
			n++
		}
	}
	return n
}

func (w *world) LivingProcesses(a *wire.Attempt) int {
	n := 0
	for _, line := range w.lines(a) {
		if pid, err := strconv.Atoi(line); err == nil && livesAsSleep(pid) {
			n++
		}
	}
	left, err := proctree.MarkedProcesses(a.Mark)
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

func (w *world) HeardMessages(a *wire.Attempt) []wire.Message {
	return w.broker.HeardFrom(driver.ID{Job: a.Job, Epoch: a.Epoch})
}

func (w *world) SetDeaf(deaf bool) { w.broker.SetDeaf(deaf) }

func (w *world) KillAgent(a *wire.Attempt) {
	w.t.Helper()
	dir := filepath.Join(w.opt.Dir, attemptdir.FolderName(driver.ID{Job: a.Job, Epoch: a.Epoch}))
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
