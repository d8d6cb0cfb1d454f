package measured

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGodwitIsFoundBesideTheExperiments(t *testing.T) {
	dir := t.TempDir()
	self := filepath.Join(dir, "godwit-experiments")
	if _, err := findBeside(self); err == nil ||
		!strings.Contains(err.Error(), filepath.Join(dir, "godwit")+" is not there") {
		t.Errorf("nothing is there: %v", err)
	}
	want := filepath.Join(dir, "godwit")
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findBeside(self); got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
