package recordings

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestDataThatAreNotThereSkipATestAndFailItInCI(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GODWIT_DATA", dir)
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ci, name      string
		skips, failed bool
	}{{"", "there", false, false}, {"", "gone", true, false}, {"true", "there", false, false},
		{"true", "gone", false, true}} {
		t.Setenv("CI", c.ci)
		fake := &recorder{TB: t}
		done := make(chan string)
		go func() {
			defer close(done)
			done <- Path(fake, c.name)
		}()
		if got := <-done; (got != "") != (c.name == "there") || fake.skipped != c.skips || fake.failed != c.failed {
			t.Errorf("CI=%q: %s is at %q, skipped %v, failed %v", c.ci, c.name, got, fake.skipped, fake.failed)
		}
	}
}

// recorder notes how a test would have ended.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (r *recorder) Skipf(string, ...any)  { r.skipped = true; runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; runtime.Goexit() }
