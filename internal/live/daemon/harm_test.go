package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/live/daemon"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// slow writes numbers for some seconds, in memory and in a file. Before the last it waits
// for a file, so that it does not end before the test has done what it has to.
const slow = `import os, sys, time
total, n = 0, int(sys.argv[1])
with open("log", "w", buffering=1) as f:
    for i in range(n):
        while i == n - 1 and not os.path.exists("go"):
            time.sleep(0.04)
        total = (total * 31 + i) % 1000003
        print("step", i, total, flush=True)
        print("step", i, total, file=f)
        time.sleep(0.04)
sys.exit(3)`

func wantSlow(n int) string {
	var b strings.Builder
	total := 0
	for i := range n {
		total = (total*31 + i) % 1000003
		fmt.Fprintln(&b, "step", i, total)
	}
	return b.String()
}

// slowJob is a job of slow that is saved in the sandbox.
func slowJob(n int) jobfile.Job {
	spec := job("python3", "-c", slow, strconv.Itoa(n))
	spec.Checkpoint.Method = "sandbox"
	return spec
}

// further waits until a job of slow has written some numbers more, or waits for its end.
func (b *bed) further(id string, n int) {
	b.Helper()
	b.shows(id, fmt.Sprintf("step %d ", min(strings.Count(b.output(id, 1), "\n")+5, n-2)))
}

// letEnd tells a job of slow that it may end, wherever it goes meanwhile.
func (b *bed) letEnd(id string) {
	b.Helper()
	folders := []string{filepath.Join(b.dir, "state", "clusters", "*", id+".*", "work")}
	if b.far != "" {
		folders = append(folders, filepath.Join(b.far, "*", "attempts", id+".*", "work"))
	}
	var j api.Job
	clocktest.PollLoop{Pause: 50 * time.Millisecond}.WaitFor(b, "the end of job "+id+", which may end", func() bool {
		var err error
		if j, err = b.client.GetJob(context.Background(), id); err == nil && j.IsOver() {
			return true
		}
		for _, pattern := range folders {
			found, _ := filepath.Glob(pattern) // the pattern is a good one
			for _, dir := range found {
				// what was fetched for another attempt may just be going
				_ = os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
			}
		}
		return false
	}, func() string { return fmt.Sprintf("it is %s: %s", j.State, j.Why) })
}

// endsRight lets a job of slow end and checks that it did once and as it should.
func (b *bed) endsRight(id string, n int) api.Job {
	b.Helper()
	b.letEnd(id)
	j := b.end(id)
	if !isState(core.Failed, 3, &j) {
		b.Errorf("it is %s with code %s: %s", j.State, show(j.ExitCode), j.Why)
	}
	if got := b.output(id, 1); got != wantSlow(n) {
		b.Errorf("it wrote %d bytes, want %d: …%q", len(got), len(wantSlow(n)), got[max(0, len(got)-100):])
	}
	if ends := b.explained(id, "end", ""); len(ends) != 1 {
		b.Errorf("it ended %d times", len(ends))
	}
	b.nothingLeft(id)
	return j
}

// explained lists the reasons of one kind whose choice has a text in it.
func (b *bed) explained(id, kind, choice string) []api.Decision {
	b.Helper()
	all, err := b.client.ExplainJob(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	var list []api.Decision
	for _, d := range all {
		if d.Kind == kind && strings.Contains(d.Choice, choice) {
			list = append(list, d)
		}
	}
	return list
}

// onSmallDisk is a broker whose state folder is a file system of its own.
func onSmallDisk(t *testing.T, megabytes int) *bed {
	t.Helper()
	b := &bed{TB: t, dir: t.TempDir()}
	state := filepath.Join(b.dir, "state")
	err := os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(oneCluster), 0o600)
	if err == nil {
		err = os.Mkdir(state, 0o700)
	}
	if err == nil {
		err = syscall.Mount("godwit-test", state, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.down()
		clocktest.WaitFor(t, "nobody to use the state folder", func() bool { return syscall.Unmount(state, 0) == nil })
	})
	b.start()
	return b
}

// fill leaves so many bytes of the state folder's file system free.
func (b *bed) fill(free int64) (empty func()) {
	b.Helper()
	path := filepath.Join(b.dir, "state", "filler")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 64<<10)
	for {
		var st syscall.Statfs_t
		if err := syscall.Statfs(path, &st); err != nil {
			b.Fatal(err)
		}
		left := int64(st.Bavail) * st.Bsize
		if left <= free {
			break
		}
		if _, err := f.Write(block[:min(int64(len(block)), left-free)]); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			b.Error(err)
		}
	}
}

func TestACheckpointThatDoesNotFitOnTheDiskCostsNothing(t *testing.T) {
	b := onSmallDisk(t, 200)
	const steps = 100
	id := b.submit(slowJob(steps))
	b.shows(id, "step 5 ")
	if _, err := b.client.CheckpointJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	empty := b.fill(4 << 20) // for the store, not for an image
	_, err := b.client.CheckpointJob(context.Background(), id)
	if err == nil || !strings.Contains(err.Error(), "no room") && !strings.Contains(err.Error(), "no space") {
		t.Errorf("saving on a full disk gives %v", err)
	}
	if not := b.explained(id, "checkpoint", "failed"); len(not) != 1 || !strings.Contains(not[0].Why, "no room") &&
		!strings.Contains(not[0].Why, "no space") {
		t.Errorf("explained is %v", not)
	}
	empty()
	if _, err := b.client.CheckpointJob(context.Background(), id); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if j := b.endsRight(id, steps); j.Checkpoints != 2 || j.Attempts != 1 {
		t.Errorf("it has %d checkpoints and %d attempts", j.Checkpoints, j.Attempts)
	}
}

// takesNone checks that no job is taken because the disk is full.
func (b *bed) takesNone() {
	b.Helper()
	_, err := b.client.SubmitJob(context.Background(), &api.Submit{Job: job("/bin/true")})
	if err == nil || !strings.Contains(err.Error(), "no new jobs are taken until there is room") ||
		strings.Contains(err.Error(), "\n") {
		b.Errorf("on a full disk a job is taken, or refused with %v", err)
	}
}

// floods writes until nobody takes it any more.
const floods = `while :; do dd if=/dev/zero bs=1M count=1 2>/dev/null; done`

func TestAJobWhoseOutputFillsTheDiskIsCancelled(t *testing.T) {
	b := onSmallDisk(t, 48)
	spec := job("/bin/sh", "-c", floods)
	spec.Checkpoint.Method = "restart"
	id := b.submit(spec)
	clocktest.WaitFor(t, "a full disk", func() bool {
		var st syscall.Statfs_t
		if err := syscall.Statfs(filepath.Join(b.dir, "state"), &st); err != nil {
			t.Fatal(err)
		}
		return st.Bavail == 0
	})
	j, err := b.client.CancelJob(context.Background(), id)
	if err != nil || j.State != core.Cancelled {
		t.Fatalf("it is %s: %s, %v", j.State, j.Why, err)
	}
	b.nothingLeft(id)
}

// written is how many steps a job of slow has written into its file.
func (b *bed) written(id string) int {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, "state", "clusters", "*", id+".*", "work", "log"))
	if err != nil || len(files) != 1 {
		b.Fatalf("the files of job %s are %v, %v", id, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		b.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func TestABrokerSurvivesAFullDisk(t *testing.T) {
	b := onSmallDisk(t, 100)
	const steps = 100
	id := b.submit(slowJob(steps))
	b.shows(id, "step 5 ")
	empty := b.fill(0)
	b.takesNone()
	at := b.written(id)
	clocktest.WaitFor(t, "the program to run on", func() bool { return b.written(id) >= min(at+25, steps-1) })
	empty()
	b.untilAnswers()
	if j := b.endsRight(id, steps); j.Attempts != 1 {
		t.Errorf("it was started %d times", j.Attempts)
	}
}

func TestABrokerThatEndsOnAFullDiskIsBackWhenThereIsRoom(t *testing.T) {
	b := onSmallDisk(t, 100)
	const steps = 100
	id := b.submit(slowJob(steps))
	b.shows(id, "step 5 ")
	empty := b.fill(0)
	b.takesNone()
	b.client.Close()
	if err := b.stop(); err != nil && !strings.Contains(err.Error(), "no space is left") {
		t.Errorf("it ended with %v", err)
	}
	b.stop = nil
	// One that begins on a full disk says so, if it cannot.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := daemon.Run(ctx, daemon.Options{State: filepath.Join(b.dir, "state"),
		Config:  filepath.Join(b.dir, "config.yaml"),
		Version: "test", Agent: []string{binary, "agent"}, Log: slog.New(slog.DiscardHandler),
		Ready: func(string, *config.Config) { cancel() }})
	if err != nil && !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "no space") {
		t.Errorf("on a full disk it ends with %v", err)
	}
	empty()
	b.start()
	if j := b.endsRight(id, steps); j.Attempts != 1 {
		t.Errorf("it was started %d times", j.Attempts)
	}
}

// packs is the sizes of the files in which the depot keeps things.
func (b *bed) packs() map[string]int64 {
	b.Helper()
	sizes := map[string]int64{}
	err := filepath.WalkDir(filepath.Join(b.dir, "state", "depot", "packs"),
		func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				info, e := d.Info()
				if err = e; err == nil {
					sizes[path] = info.Size()
				}
			}
			return err
		})
	if err != nil {
		b.Fatal(err)
	}
	return sizes
}

// damage changes a byte in each 512 of what the depot has written since.
func (b *bed) damage(since map[string]int64) (changed int) {
	b.Helper()
	for path, size := range b.packs() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			b.Fatal(err)
		}
		var one [1]byte
		for at := since[path] + 100; at < size && err == nil; at += 512 {
			if _, err = f.ReadAt(one[:], at); err == nil {
				one[0] ^= 0x5a
				_, err = f.WriteAt(one[:], at)
				changed++
			}
		}
		if err := errors.Join(err, f.Close()); err != nil {
			b.Fatal(err)
		}
	}
	return changed
}

// killAgent ends the agent of a job without warning.
func (b *bed) killAgent(id string) {
	b.Helper()
	locks, err := filepath.Glob(filepath.Join(b.dir, "state", "clusters", "*", id+".*", "lock"))
	if err != nil || len(locks) != 1 {
		b.Fatalf("job %s has %d attempts: %v", id, len(locks), err)
	}
	text, err := os.ReadFile(locks[0])
	if err != nil {
		b.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		b.Fatal(err)
	}
}

func TestADamagedCheckpointIsNeverUsed(t *testing.T) {
	for _, c := range []struct {
		name string
		all  bool
		from string
	}{{"the newest", false, "from checkpoint 1"}, {"all", true, "from the beginning"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := up(t, oneCluster)
			const steps = 100
			id := b.submit(slowJob(steps))
			b.shows(id, "step 5 ")
			if _, err := b.client.CheckpointJob(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			since := b.packs()
			if c.all {
				clear(since)
			}
			b.further(id, steps)
			if _, err := b.client.CheckpointJob(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			if n := b.damage(since); n == 0 {
				t.Fatal("nothing was damaged")
			}
			b.killAgent(id)
			j := b.endsRight(id, steps)
			if j.Attempts != 2 {
				t.Errorf("it was started %d times", j.Attempts)
			}
			if got := b.explained(id, "start", c.from); len(got) == 0 {
				t.Errorf("it did not go on %s: %v", c.from, b.explained(id, "start", ""))
			}
			if got := b.explained(id, "checkpoint", "not continued with checkpoint 2"); len(got) != 1 {
				t.Errorf("of checkpoint 2 is said %v", got)
			}
		})
	}
}
