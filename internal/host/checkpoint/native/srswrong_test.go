package native

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// wrongProgram runs testdata/srswrong.c by itself, beside a page that says whether it is to stop.
func wrongProgram(t testing.TB) (run func(how string, stop uint64) string, parts string) {
	t.Helper()
	binary := compileSRS(t, "srswrong", filepath.Join("testdata", "srswrong.c"))
	page := t.TempDir()
	parts = t.TempDir()
	return func(how string, stop uint64) string {
		t.Helper()
		text := selfreport.NewPage()
		copy(text[selfreport.StopAt:], selfreport.FieldBytes(stop))
		if err := os.WriteFile(filepath.Join(page, selfreport.PageFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary, how)
		cmd.Env = append(mpiEnvironment, selfreport.FolderVariable+"="+page, srsVariable+"="+parts)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		_ = cmd.Run() // what it says tells
		return said.String()
	}, parts
}

func TestWhatIsWrongWithAnArrayIsSaidWithItsShapes(t *testing.T) {
	run, parts := wrongProgram(t)
	if got := run("ranges", 0); !strings.Contains(got, "srs: array x of 3 x 4 on 1 processes: the range of process 0 from "+
		"1 on overlaps one of process 0") {
		t.Errorf("overlapping ranges: %s", got)
	}
	if got := run("right", 0); !strings.Contains(got, "srs: array x is read, but the program is not continued") {
		t.Errorf("read at the start: %s", got)
	}
	if got := run("save", 1); !strings.Contains(got, "stop 1") {
		t.Fatalf("it does not save itself: %s", got)
	}
	if got := run("right", 0); got != "read 17\n" {
		t.Fatalf("what is right: %s", got)
	}
	for how, want := range map[string]string{
		"shape":  "srs: array x: the checkpoint has double of 3 x 4; now it is double of 4 x 3",
		"name":   "srs: array y is read and was never registered, neither now nor in the checkpoint",
		"layout": "srs: array x of 3 x 4 does not lie in the checkpoint as its old distribution says",
	} {
		if got := run(how, 0); !strings.Contains(got, want) || strings.Contains(got, "read 17") {
			t.Errorf("%s: %s; want %q", how, got, want)
		}
	}
	for _, c := range []struct{ file, was, is, want string }{
		{"part.0", "\x31\x40", "\x31\x41", "part.0 is damaged: a checksum is wrong"}, // the end of 17
		{"map", "srs 1", "srs 2", "it has version 2; this program's library reads version 1"},
	} {
		path := filepath.Join(parts, "1", c.file)
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(c.was)) {
			t.Fatalf("%s: %v", path, err)
		}
		changed := bytes.Replace(text, []byte(c.was), []byte(c.is), 1)
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run("right", 0); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s; want %q", c.file, got, c.want)
		}
		if _, err := checkParts(filepath.Join(parts, "1")); c.file == "map" && err == nil {
			t.Error("the agent takes a map of another version")
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkCheckStop is what a pair of SRS_Check_Stop and SRS_Progress costs where nothing is wanted.
func BenchmarkCheckStop(b *testing.B) {
	run, _ := wrongProgram(b)
	for b.Loop() {
		ns, err := strconv.ParseFloat(strings.TrimSpace(run("pace", 0)), 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(ns, "ns/pair")
	}
}
