package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
)

// limit is how long a test waits for something that takes a second or two on an
// idle machine.
const limit = 3 * time.Minute

// attempt is a program that a test has started, and what it has written.
type attempt struct {
	t    testing.TB
	p    *checkpoint.Program
	run  checkpoint.Run
	pipe *os.File

	mu     sync.Mutex
	grew   chan struct{}
	output bytes.Buffer
	enough int        // so many bytes are read, and no more; 0: all
	more   *sync.Cond // enough may have changed
	eof    chan struct{}
}

// begin starts a program in a work folder, from the beginning or from an image.
func begin(t testing.TB, work, image string, argv ...string) *attempt {
	t.Helper()
	a, err := try(t, program(t, work, argv...), image)
	if err != nil {
		t.Fatalf("starting %v: %v", argv, err)
	}
	return a
}

// program is how a test runs something.
func program(t testing.TB, work string, argv ...string) *checkpoint.Program {
	return &checkpoint.Program{
		Argv: argv, Dir: work, Scratch: t.TempDir(), Mark: fmt.Sprintf("test/%s/%d", t.Name(), os.Getpid()),
		Env: []string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
	}
}

// try is begin for a program that may not start.
func try(t testing.TB, p *checkpoint.Program, image string) (*attempt, error) {
	t.Helper()
	return tryReading(t, p, image, 0)
}

// tryReading is try where only so much is read of what the program writes, until
// readAll: one that writes more waits.
func tryReading(t testing.TB, p *checkpoint.Program, image string, enough int) (*attempt, error) {
	t.Helper()
	programs(t) // says what to do where the sandbox is missing
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr = out, out
	a := &attempt{t: t, p: p, pipe: in, grew: make(chan struct{}), eof: make(chan struct{}), enough: enough}
	a.more = sync.NewCond(&a.mu)
	go a.collect()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	a.run, err = sandbox.Method{}.StartProgram(ctx, p, image)
	_ = out.Close()
	if err != nil {
		<-a.eof
		return a, err
	}
	t.Cleanup(func() {
		a.run.KillProgram()
		a.clean()
	})
	return a, nil
}

// collect reads what the program writes until nobody is left who could write.
func (a *attempt) collect() {
	defer close(a.eof)
	defer a.pipe.Close()
	raw, err := a.pipe.SyscallConn()
	if err != nil {
		a.t.Error(err)
		return
	}
	buf := make([]byte, 1<<16)
	for over := false; !over; {
		a.mu.Lock()
		for a.enough > 0 && a.output.Len() >= a.enough {
			a.more.Wait()
		}
		a.mu.Unlock()
		err := raw.Read(func(fd uintptr) (done bool) {
			a.mu.Lock() // what is no longer in the pipe is in the output
			defer a.mu.Unlock()
			n, err := unix.Read(int(fd), buf)
			if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
				return false
			}
			a.output.Write(buf[:max(0, n)])
			close(a.grew)
			a.grew = make(chan struct{})
			over = err != nil || n == 0
			return true
		})
		over = over || err != nil
	}
}

// readAll reads whatever is written from now on.
func (a *attempt) readAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.enough = 0
	a.more.Signal()
}

// text is what was written so far.
func (a *attempt) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.output.String()
}

// tail is the end of what was written, for messages.
func (a *attempt) tail() string {
	text := a.text()
	return text[max(0, len(text)-500):]
}

// awaitLines waits until the program has written so many lines.
func (a *attempt) awaitLines(n int) {
	a.t.Helper()
	a.await(fmt.Sprintf("%d lines", n), func(text []byte) bool { return bytes.Count(text, []byte("\n")) >= n })
}

// awaitBytes waits until the program has written so much.
func (a *attempt) awaitBytes(n int) {
	a.t.Helper()
	a.await(fmt.Sprintf("%d bytes", n), func(text []byte) bool { return len(text) >= n })
}

func (a *attempt) await(what string, there func(text []byte) bool) {
	a.t.Helper()
	timeout := time.After(limit)
	for {
		a.mu.Lock()
		enough, grew := there(a.output.Bytes()), a.grew
		a.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-grew:
		case <-a.run.Done():
			a.t.Fatalf("the program ended with %+v before it wrote %s:\n%s", a.run.Result(), what, a.tail())
		case <-timeout:
			a.t.Fatalf("not %s after %v:\n%s", what, limit, a.tail())
		}
	}
}

// drained waits until the pipe is empty and says how much has come through it.
func (a *attempt) drained() int {
	a.t.Helper()
	raw, err := a.pipe.SyscallConn()
	if err != nil {
		a.t.Fatal(err)
	}
	through := 0
	clocktest.WaitFor(a.t, "an empty pipe", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		left, gone := 0, error(nil)
		err := raw.Control(func(fd uintptr) { left, gone = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		through = a.output.Len()
		return err != nil || gone != nil || left == 0
	})
	return through
}

// end waits for the end and gives the output and how it ended.
func (a *attempt) end() (string, checkpoint.Result) {
	a.t.Helper()
	select {
	case <-a.run.Done():
	case <-time.After(limit):
		a.t.Fatalf("the program has not ended after %v:\n%s", limit, a.tail())
	}
	<-a.eof
	a.clean()
	return a.text(), a.run.Result()
}

// clean checks that nothing is left of an attempt that has ended: no process,
// no file of the sandbox's, no mount.
func (a *attempt) clean() {
	a.t.Helper()
	entries, err := os.ReadDir(a.p.Scratch)
	if err == nil && len(entries) > 0 {
		a.t.Errorf("%s still holds %v", a.p.Scratch, entries)
	}
	if left := marked(a.t, a.p.Mark); len(left) > 0 {
		a.t.Errorf("left over: %v", left)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), a.p.Scratch) || strings.Contains(string(mounts), a.p.Dir) {
		a.t.Errorf("there are mounts left (or %v)", err)
	}
}

// marked are the processes that carry an attempt's mark.
func marked(t testing.TB, mark string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), "GODWIT_ATTEMPT="+mark) {
			continue
		}
		cmdline, _ := os.ReadFile(dir + "/cmdline")
		name, _, _ := strings.Cut(strings.ReplaceAll(string(cmdline), "\x00", " "), " --")
		out = append(out, filepath.Base(dir)+" "+name)
	}
	return out
}

// save saves into a new folder. While the program stands still, during is called.
func (a *attempt) save(stop bool, during func() error) string {
	a.t.Helper()
	image := a.t.TempDir()
	if during == nil {
		during = func() error { return nil }
	}
	if err := a.run.SaveImage(a.t.Context(), image, stop, during); err != nil {
		a.t.Fatalf("saving: %v", err)
	}
	return image
}

// jobs are the programs that tests run in a work folder.
var jobs = []string{"heap", "heap-static", "threads", "stats.py", "pipeline.sh", "cost"}

// folder is a new work folder with the test's programs.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range jobs {
		if err := os.Symlink(filepath.Join("bin", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range jobs {
		copyTree(t, filepath.Join(programs(t), name), filepath.Join(dir, "bin", name))
	}
	return dir
}

// letEnd lets the programs in a work folder take their last step. Until then they
// run, however long what is done to them takes.
func letEnd(t testing.TB, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyTree copies a folder as a move between hosts would.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copying %s: %v: %s", from, err, out)
	}
}

// contents are the files of a work folder that a program has written.
func contents(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "bin" || e.Type()&os.ModeSymlink != 0 {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "== %s, %d bytes\n%s\n", e.Name(), len(text), text)
	}
	return b.String()
}
