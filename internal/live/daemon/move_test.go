package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// program is an unmodified one that runs for some seconds; its output depends on
// nothing but its arguments.
type program struct {
	name  string
	files map[string]string // what it needs in its folder, and from where
	argv  []string
}

func programs(t *testing.T) []program {
	t.Helper()
	dir := t.TempDir()
	build := func(args ...string) string {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return args[slices.Index(args, "-o")+1]
	}
	heap := build("cc", "-O1", "-o", filepath.Join(dir, "heap"), "testdata/heap.c")
	threads := build("go", "build", "-o", filepath.Join(dir, "threads"), "./testdata/threads")
	return []program{
		{"C with a large heap", map[string]string{"heap": heap}, []string{"./heap", "100", "60"}},
		{"Python", map[string]string{"work.py": "testdata/work.py"}, []string{"python3", "work.py", "80"}},
		{"Go with threads", map[string]string{"threads": threads}, []string{"./threads", "60"}},
		{"shell pipeline", map[string]string{"pipeline.sh": "testdata/pipeline.sh"}, []string{"sh", "pipeline.sh", "200"}},
	}
}

// folder is a new folder with what the program needs.
func (p *program) folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range p.files {
		data, err := os.ReadFile(from)
		if err == nil {
			// No child may inherit a program that is open for writing: nobody could run it meanwhile.
			syscall.ForkLock.RLock()
			err = os.WriteFile(filepath.Join(dir, name), data, 0o700)
			syscall.ForkLock.RUnlock()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// plain runs a program as a shell would.
func (p *program) plain(t *testing.T) (out string, code int, files map[string]string) {
	t.Helper()
	dir := p.folder(t)
	c := exec.Command(p.argv[0], p.argv[1:]...)
	c.Dir = dir
	var buf bytes.Buffer
	c.Stdout = &buf
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return buf.String(), c.ProcessState.ExitCode(), content(t, dir)
}

// content is the files of a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// waitsForGo runs a program and then waits, so that the job does not end before it has
// been moved however long the test takes for that.
const waitsForGo = `"$@"; code=$?; until [ -e go ]; do sleep 0.05; done; exit $code`

func TestUnmodifiedProgramsAreMovedTwiceAndNobodyCouldTell(t *testing.T) {
	shared := up(t, twoClusters)
	for _, p := range programs(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			b := shared.on(t)
			wantOut, wantCode, wantFiles := p.plain(t)
			spec := job(append([]string{"/bin/sh", "-c", waitsForGo, "sh"}, p.argv...)...)
			spec.Workdir = p.folder(t)
			spec.Checkpoint.Method = "sandbox"
			id := b.submit(spec)
			for n := range 2 {
				b.until(id, running)
				time.Sleep(time.Duration(500+300*n) * time.Millisecond) // somewhere in the middle; any moment will do
				done, err := b.client.MigrateJob(context.Background(), id, "")
				if err != nil {
					t.Fatal(err)
				}
				t.Log(done.Text)
			}
			b.letEnd(id)
			j := b.end(id)
			if j.State != core.Failed || j.ExitCode == nil || *j.ExitCode != wantCode || j.Migrations != 2 {
				t.Errorf("it is %s with code %v after %d moves: %s", j.State, j.ExitCode, j.Migrations, j.Why)
			}
			if got := b.output(id, 1); got != wantOut {
				t.Errorf("it wrote %d bytes, want %d:\n%s", len(got), len(wantOut), got)
			}
			got := content(t, spec.Workdir)
			delete(got, "go")
			if !maps.Equal(got, wantFiles) {
				t.Errorf("its folder has %d files, want %d; they differ", len(got), len(wantFiles))
			}
		})
	}
}
