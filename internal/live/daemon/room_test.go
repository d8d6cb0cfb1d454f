package daemon_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// makes writes megabytes that nothing makes smaller, and ends when it is let go.
const makes = `dd if=/dev/urandom of=result bs=1M count=%d 2>/dev/null; echo made; while ! [ -e "%s" ]; do sleep 0.05; done`

// making is a job that has made so many megabytes and ends when let is called.
func (b *bed) making(megabytes int, workdir string) (id string, let func()) {
	b.Helper()
	sign := filepath.Join(b.TempDir(), "end")
	spec := job("/bin/sh", "-c", fmt.Sprintf(makes, megabytes, sign))
	spec.Checkpoint.Method, spec.Workdir = "restart", workdir
	id = b.submit(spec)
	b.shows(id, "made")
	return id, func() {
		if err := os.WriteFile(sign, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// untilExplained waits until something is said of results.
func (b *bed) untilExplained(id, choice string, times int) {
	b.Helper()
	clocktest.WaitFor(b, fmt.Sprintf("%q to be said of results %d times", choice, times),
		func() bool { return len(b.explained(id, "results", choice)) >= times },
		func() string { return fmt.Sprintf("said is %v", b.explained(id, "results", "")) })
}

func (b *bed) wantResult(workdir string, megabytes int64) {
	b.Helper()
	if info, err := os.Stat(filepath.Join(workdir, "result")); err != nil || info.Size() != megabytes<<20 {
		b.Errorf("the result is not home: %+v, %v", info, err)
	}
}

func TestAResultIsNotLostIfTheBrokersDiskIsFullWhenItIsBrought(t *testing.T) {
	b := onSmallDisk(t, 100)
	const size = 24
	home := t.TempDir()
	id, let := b.making(size, home)
	empty := b.fill(8 << 20) // for the store, not for the result
	let()
	clocktest.WaitFor(t, "somebody to say that there is no room", func() bool { return b.refused(id) },
		func() string { return fmt.Sprint(b.explained(id, "results", "")) })
	empty()
	b.untilAnswers()
	if j := b.end(id); !isState(core.Done, 0, &j) {
		t.Errorf("it is %s: %s", j.State, j.Why)
	}
	if said := b.explained(id, "results", "files not copied back yet"); len(said) != 1 {
		t.Errorf("that it waited is said %d times: %v", len(said), b.explained(id, "results", ""))
	}
	b.wantResult(home, size)
}

// refused says whether the depot has no room for the result of a job.
func (b *bed) refused(id string) bool {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a broker without room does not answer
	defer cancel()
	said, err := b.client.ExplainJob(ctx, id)
	if err != nil { // the result took all that was left; what is said of it comes later
		return strings.Contains(err.Error(), "no space is left")
	}
	if j, err := b.client.GetJob(ctx, id); err == nil && j.State.IsTerminal() {
		b.Fatalf("it is %s although its result is nowhere: %s", j.State, j.Why)
	}
	return strings.Contains(fmt.Sprint(said), "files not copied back yet")
}

// smallHome is a work folder on a file system of its own.
func smallHome(t *testing.T, megabytes int) string {
	t.Helper()
	home := t.TempDir()
	if err := syscall.Mount("godwit-test", home, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(home, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return home
}

func TestAResultIsNotLostIfTheDiskOfItsUserIsFull(t *testing.T) {
	b := up(t, oneCluster)
	const size = 4
	home := smallHome(t, size+2)
	id, let := b.making(size, home)
	filler := filepath.Join(home, "filler")
	if err := os.WriteFile(filler, bytes.Repeat([]byte("x"), 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	let()
	b.untilExplained(id, "results not copied back yet", 1)
	j, err := b.client.GetJob(context.Background(), id)
	if err != nil || j.State != core.Done || !strings.Contains(j.Why, "no space left") {
		t.Errorf("it is %s: %q, %v", j.State, j.Why, err)
	}
	b.nothingLeft(id) // what it ran in need not wait for that
	b.down()
	b.start() // the next broker goes on
	b.untilExplained(id, "results not copied back yet", 2)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if j := b.end(id); !isState(core.Done, 0, &j) || strings.Contains(j.Why, "home") {
		t.Errorf("it is %s: %q", j.State, j.Why)
	}
	b.wantResult(home, size)
}

func TestAResultWhoseFolderIsGoneIsKeptAndBroughtOnceItIsThere(t *testing.T) {
	b := up(t, oneCluster)
	home := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	id, let := b.making(1, home)
	if err := os.Remove(home); err != nil {
		t.Fatal(err)
	}
	let()
	j := b.end(id) // whoever waits for it need not any longer
	if !isState(core.Done, 0, &j) || !strings.Contains(j.Why, "kept by Godwit") {
		t.Errorf("it is %s: %q", j.State, j.Why)
	}
	b.untilExplained(id, "results not copied back", 1)
	b.down()
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	b.start()
	if j := b.end(id); !isState(core.Done, 0, &j) || strings.Contains(j.Why, "home") {
		t.Errorf("it is %s: %q", j.State, j.Why)
	}
	b.wantResult(home, 1)
}
