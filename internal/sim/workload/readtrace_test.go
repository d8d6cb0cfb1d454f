package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAJobThatIsTooLargeIsToldWithItsLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.swf")
	text := "; MaxProcs: 8\n\n" +
		"1 0 -1 100 4 -1 -1 4 100 -1 1 1 -1 -1 -1 -1 -1 -1\n" +
		"2 5 -1 100 9 -1 -1 9 100 -1 1 1 -1 -1 -1 -1 -1 -1\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := ReadTrace(TraceOptions{File: path, MaxProcs: 8})
	want := path + `:4: job 2, requested processors "9": expected at most 8, what the largest cluster has`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Error("more than one line")
	}
}
