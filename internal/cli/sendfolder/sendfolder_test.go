package sendfolder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// names are those of what is in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWhatAKilledSenderLeftGoesWithTheNext(t *testing.T) {
	place := t.TempDir()
	work, other := filepath.Join(place, "work"), filepath.Join(t.TempDir(), "far.dat")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(work, "near.dat"), other} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := &jobfile.Job{Workdir: work, Inputs: []string{other, "near.dat"}}
	send := func() *Folder {
		t.Helper()
		s, err := StageWorkFolder(job)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, s.Dir); filepath.Dir(s.Dir) != place || !slices.Equal(got, []string{"far.dat", "near.dat"}) {
			t.Fatalf("%s has %q", s.Dir, got)
		}
		return s
	}
	killed, elsewhere := send(), filepath.Join(place, ".godwit-send-another.host+1")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as the kernel does it for the dead
		t.Fatal(err)
	}
	first, second := send(), send()
	want := []string{"work", filepath.Base(elsewhere), filepath.Base(first.Dir), filepath.Base(second.Dir)}
	slices.Sort(want)
	if got := names(t, place); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
	first.RemoveFolder()
	second.RemoveFolder()
	if got := names(t, place); len(got) != 2 {
		t.Errorf("in the end there is %q", got)
	}
}

func TestWhatCannotBeSentLeavesNothing(t *testing.T) {
	place := t.TempDir()
	if _, err := StageWorkFolder(&jobfile.Job{Workdir: filepath.Join(place, "missing")}); err == nil {
		t.Error("a folder was sent that is not there")
	}
	if got := names(t, place); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
}
