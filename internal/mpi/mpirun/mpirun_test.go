package mpirun

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestWhatKilledOnesLeftGoesWithTheNextFile(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * toWrite)
	for name, at := range map[string]time.Time{".godwit-mpi-1": old, ".godwit-mpi-2": time.Now(), ".other": old} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("a part"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := putFile(filepath.Join(dir, "whole"), []byte("all of it")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, []string{".godwit-mpi-2", ".other", "whole"}) {
		t.Errorf("there is %q", left)
	}
	text, err := os.ReadFile(filepath.Join(dir, "whole"))
	if info, e := os.Stat(filepath.Join(dir, "whole")); err != nil || e != nil || string(text) != "all of it" ||
		info.Mode().Perm() != 0o755 {
		t.Errorf("%q %v %v", text, err, e)
	}
}
