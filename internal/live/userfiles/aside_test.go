package userfiles

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
)

// stuck has a hand gather a file and then wait for one that nobody writes. It
// gives the folder in which the first of them is.
func (w *world) stuck(ctx context.Context, temporary, name string) (dir string, gone chan error) {
	w.Helper()
	file, fifo := filepath.Join(w.dir, name), filepath.Join(w.dir, name+".fifo")
	w.must(os.WriteFile(file, []byte("secret"), 0o600))
	w.must(os.Chown(file, alice, alice))
	w.must(syscall.Mkfifo(fifo, 0o600))
	w.must(os.Chown(fifo, alice, alice))
	gone = make(chan error, 1)
	go func() {
		_, err := w.hand.GatherFiles(ctx, []Copy{{File: file, As: name}, {File: fifo, As: "never"}})
		gone <- err
	}()
	var found []string
	clocktest.WaitFor(w, "the first to be gathered", func() bool {
		var err error
		found, err = filepath.Glob(filepath.Join(temporary, asideName+"*", name))
		w.must(err)
		return len(found) == 1
	})
	return filepath.Dir(found[0]), gone
}

func TestCopiesThatAKilledHandLeftAreRemovedByTheNext(t *testing.T) {
	w := newWorld(t)
	temporary := filepath.Join(w.dir, "tmp")
	w.must(os.Mkdir(temporary, 0o777))
	w.must(os.Chmod(temporary, 0o777|os.ModeSticky))
	as := w.hand.As
	w.hand.As = func(c *exec.Cmd) {
		as(c)
		c.Env = []string{"TMPDIR=" + temporary}
	}
	others := filepath.Join(temporary, asideName+"of-root")
	w.must(os.Mkdir(others, 0o777))
	doomed, kill := context.WithCancel(context.Background())
	defer kill()
	left, gone := w.stuck(doomed, temporary, "one")
	kill()
	if err := <-gone; err == nil {
		t.Error("a hand that was killed has done its errand")
	}
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("what a killed hand leaves is not where this test looks: %v", err)
	}
	living, stop := context.WithCancel(context.Background())
	defer stop()
	used, still := w.stuck(living, temporary, "two")
	tree, err := w.hand.GatherFiles(context.Background(), []Copy{{File: filepath.Join(w.dir, "one"), As: "sub/one"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := depot.LoadTree(context.Background(), w.depot, depot.ID(tree)); err != nil || len(got.Entries) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is still there", left)
	}
	for _, dir := range []string{used, others} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("what was another's, or in use, is gone: %v", err)
		}
	}
	stop()
	<-still
}

// Whether another try is worth it depends on what went wrong, not only on what is said of it.
func TestWhatWentWrongInAProcessOfAUserIsStillWhatItWas(t *testing.T) {
	w := newWorld(t)
	after := t.TempDir()
	w.must(os.WriteFile(filepath.Join(after, "result"), bytes.Repeat([]byte("x"), 1<<20), 0o600))
	id, _, _, err := depot.PushFolder(context.Background(), after, w.depot, depot.PushOptions{})
	w.must(err)
	small := filepath.Join(w.dir, "small")
	w.must(os.Mkdir(small, 0o700))
	w.must(syscall.Mount("godwit-test", small, "tmpfs", 0, "size=64k,mode=0777"))
	defer func() { w.must(syscall.Unmount(small, syscall.MNT_DETACH)) }()
	for dir, want := range map[string]error{small: syscall.ENOSPC, filepath.Join(w.dir, "gone"): os.ErrNotExist} {
		_, err = w.hand.PutBack(context.Background(), &Results{Dir: dir, After: string(id), Aside: ".x"})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
}
