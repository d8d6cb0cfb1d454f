package daemon_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// recordedDir is where the state folders of testdata/releases were when they were written.
const recordedDir = "/tmp/godwit-recorded"

// recordedSettings are those of the broker that wrote them.
const recordedSettings = "clusters:\n  - {name: a, slots: 2, speed: 1}\nintervals: {sample: 200ms}\nweather: {probe: " +
	"off}\n"

// unpackRelease lays a recorded state folder into dir.
func unpackRelease(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(zipped); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = unpackEntry(in, h, dir)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackEntry(in io.Reader, h *tar.Header, dir string) error {
	path := filepath.Join(dir, h.Name)
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o700)
	case tar.TypeLink: // an agent marks that it has begun by a link to attempt.json
		return os.Link(filepath.Join(dir, h.Linkname), path)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if filepath.Ext(path) == ".json" { // an agent is told where its broker listens
		data = bytes.ReplaceAll(data, []byte(recordedDir), []byte(dir))
	}
	return os.WriteFile(path, data, 0o600)
}

// The state folder that a broker of an earlier release left when it was killed is opened:
// records are there, jobs that wait go on, held jobs are released, and of those that ran
// one has ended meanwhile and one is gone.
func TestAStateFolderOfAnEarlierReleaseIsOpenedAndItsJobsEndWell(t *testing.T) {
	files, err := filepath.Glob("testdata/releases/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded state folders: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := &bed{TB: t, dir: t.TempDir()}
			unpackRelease(t, file, b.dir)
			if err := os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(recordedSettings), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.down)
			b.start()
			b.endAsRecorded()
			if id := b.submit(job("true")); id != "16" {
				t.Errorf("the next job has number %s", id)
			} else {
				b.end(id)
			}
		})
	}
}

// endAsRecorded checks the jobs that testdata/releases/record.sh submits.
func (b *bed) endAsRecorded() {
	b.Helper()
	for id, want := range []struct {
		name     string
		state    core.State
		code     int
		out      string
		attempts int
		why      string
	}{
		1:  {name: "well", out: "one\n", attempts: 1},
		2:  {name: "failed", state: core.Failed, code: 3, out: "no\n", attempts: 1, why: "3"},
		3:  {name: "retried", state: core.Failed, code: 4, out: "again\n", attempts: 2, why: "exit code 4"},
		4:  {name: "array", out: "index 1\n", attempts: 1},
		5:  {name: "array", out: "index 2\n", attempts: 1},
		6:  {name: "array", out: "index 3\n", attempts: 1},
		7:  {name: "ends", out: "begun\nended\n", attempts: 1},
		8:  {name: "killed", out: "begun\nended\n", attempts: 2},
		9:  {name: "waits", out: "after the others\n", attempts: 1},
		10: {name: "held", out: "after ends\n", attempts: 1},
		11: {name: "heldarray", out: "element 1\n", attempts: 1},
		12: {name: "heldarray", out: "element 2\n", attempts: 1},
		13: {name: "heldarray", out: "element 3\n", attempts: 1},
		14: {name: "never", state: core.Cancelled, code: 1, why: "never satisfied"},
		15: {name: "cancelled", state: core.Cancelled, code: 130},
	} {
		if id == 0 {
			continue
		}
		if want.state == 0 {
			want.state = core.Done
		}
		ref := fmt.Sprint(id)
		j := b.end(ref)
		if j.Name != want.name || !isState(want.state, want.code, &j) || j.Attempts != want.attempts ||
			!strings.Contains(j.Why, want.why) {
			b.Errorf("job %d (%s) is %s with code %s after %d attempts: %s", id, j.Name, j.State, show(j.ExitCode), j.Attempts,
				j.Why)
		}
		if got := b.output(ref, 1); got != want.out {
			b.Errorf("job %d (%s) wrote %q, want %q", id, want.name, got, want.out)
		}
		b.nothingLeft(ref)
	}
	if lost := b.explained("8", "lost", "requeued"); len(lost) != 1 {
		b.Errorf("of the job whose agent was killed is said %v", lost)
	}
	if got := b.output("1", 2); got != "two\n" {
		b.Errorf("the first wrote %q to standard error", got)
	}
}
