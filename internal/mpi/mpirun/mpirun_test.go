package mpirun

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

func TestEachMpirunHasASessionFolderOfItsOwn(t *testing.T) {
	folders := map[string]bool{}
	for range 20 {
		for _, v := range RunEnvironment([]string{"HOME=/h"}) {
			if folder, ok := strings.CutPrefix(v, "OMPI_MCA_orte_top_session_dir="); ok {
				folders[folder] = true
			}
		}
	}
	if len(folders) != 20 {
		t.Errorf("%d folders for 20 commands", len(folders))
	}
	for _, own := range []string{"TMPDIR=/scratch/7", "OMPI_MCA_orte_top_session_dir=/mine"} {
		n := 0
		for _, v := range RunEnvironment([]string{own}) {
			if strings.HasPrefix(v, "OMPI_MCA_orte_top_session_dir=") && v != own {
				n++
			}
		}
		if n != 0 {
			t.Errorf("%s is not respected", own)
		}
	}
}

// Without a folder of its own one mpirun in some thousands fails here.
func TestMpirunsThatBeginAndEndTogetherDoNotDisturbEachOther(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 15 {
				cmd := exec.Command("mpirun", "-n", "1", "true")
				cmd.Env = RunEnvironment(os.Environ())
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
