package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// settings of the broker in scripts: two clusters on one processor each, looked at
// often, whose speed need not be measured.
const settings = `
clusters:
  - {name: left, cpus: [%d], slots: 2, speed: 1}
  - {name: right, cpus: [%d], slots: 2, speed: 1}
intervals: {sample: 100ms}
`

// liveScript gives a script a state folder of its own, and leaves nothing of what
// ran there behind.
func liveScript(e *testscript.Env) error {
	state := filepath.Join(e.WorkDir, ".state")
	config := filepath.Join(e.WorkDir, ".config.yaml")
	first, last, err := twoProcessors()
	if err != nil {
		return err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, settings, first, last), 0o644); err != nil {
		return err
	}
	e.Setenv("GODWIT_STATE", state)
	e.Setenv("GODWIT_CONFIG", config)
	e.Setenv("NO_COLOR", "1")
	e.Defer(func() {
		endEverything(state)
		if left := leftovers(state, time.Minute); len(left) > 0 {
			e.T().Log("left running: " + strings.Join(left, "; "))
			e.T().FailNow()
		}
	})
	return nil
}

// endEverything cancels the jobs of a state folder and ends its broker.
func endEverything(state string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := api.DialBroker(api.SocketPath(state))
	defer c.Close()
	jobs, _ := c.ListJobs(ctx, false)
	for i := range jobs {
		if !jobs[i].IsOver() {
			_, _ = c.CancelJob(ctx, strconv.FormatInt(int64(jobs[i].ID), 10))
		}
	}
	_, _ = c.ShutdownBroker(ctx)
}

// leftovers waits for the processes that belong to a state folder to end, and ends
// those that do not: they are this test's own.
func leftovers(state string, patience time.Duration) []string {
	var pids []int
	var names []string
	clocktest.PollLoop{Limit: patience}.Until(func() bool {
		pids, names = belonging(state)
		return len(pids) == 0
	})
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return names
}

// belonging finds processes by a variable in their environment that only this
// script's have.
func belonging(state string) (pids []int, names []string) {
	mark := []byte("GODWIT_STATE=" + state + "\x00")
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range folders {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(environ, mark) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmd, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(cmd) == 0 {
			continue // dead already
		}
		pids = append(pids, pid)
		names = append(names, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmd, []byte{0}, []byte{' '})))
	}
	return pids, names
}

// twoProcessors are two that this process may use, or one twice.
func twoProcessors() (first, last int, err error) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return 0, 0, err
	}
	return cpus[0], cpus[len(cpus)-1], nil
}
