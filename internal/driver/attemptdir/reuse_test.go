package attemptdir

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// used makes the folder of an attempt look as one does when all is over.
func used(t *testing.T, dir string) {
	t.Helper()
	for _, err := range []error{
		os.Link(filepath.Join(dir, AttemptFile), filepath.Join(dir, StartedFile)),
		os.WriteFile(filepath.Join(dir, LockFile), []byte("4711\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "exit.json"), []byte(`{"kind":"ended"}`), 0o600),
		os.Link(filepath.Join(dir, "exit.json"), filepath.Join(dir, KnownFile)),
		os.MkdirAll(filepath.Join(dir, "work", "deep"), 0o700),
		os.WriteFile(filepath.Join(dir, "work", "deep", "secret"), []byte("mine"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inside lists what a folder holds, with sizes.
func inside(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = info.Size()
	}
	return found
}

func openFolders(t *testing.T) *Folders {
	t.Helper()
	f, err := Open(t.TempDir(), clock.RealClock(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *Folders) waitForSpare(t *testing.T) {
	t.Helper()
	clocktest.WaitFor(t, "the folder to be kept", func() bool { return len(f.spares) > 0 })
}

func TestAFolderThatIsUsedAgainHoldsNothingOfTheAttemptBefore(t *testing.T) {
	f := openFolders(t)
	first, second := driver.ID{Job: 1, Epoch: 1}, driver.ID{Job: 2, Epoch: 1}
	if err := f.PrepareFolder(first, &wire.Attempt{Job: 1, Epoch: 1, Mark: "first"}); err != nil {
		t.Fatal(err)
	}
	used(t, f.AttemptPath(first))
	before, err := os.Stat(f.AttemptPath(first))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.PutAway(first); err != nil {
		t.Fatal(err)
	}
	f.waitForSpare(t)
	if err := f.PrepareFolder(second, &wire.Attempt{Job: 2, Epoch: 1, Mark: "second"}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(f.AttemptPath(second))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("another folder was made (%v)", err)
	}
	a, err := ReadAttempt(f.AttemptPath(second))
	if err != nil || a.Mark != "second" {
		t.Errorf("%+v, %v", a, err)
	}
	found := inside(t, f.AttemptPath(second))
	delete(found, AttemptFile)
	if len(found) != 2 || found[LockFile] != 0 || found[".exit.json.partial"] != 0 {
		t.Errorf("it holds %v", found)
	}
	if ids, err := f.AttemptIDs(); err != nil || len(ids) != 1 || ids[0] != second {
		t.Errorf("%v, %v", ids, err)
	}
	if err := f.PutAway(second); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if found := inside(t, f.folderPath(trashDir)); len(found) != 0 {
		t.Errorf("%v are left", found)
	}
}

func TestAFolderWithAStrangersFileIsNotUsedAgain(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(elsewhere, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, replace := range map[string]func(string) error{
		"symlink": func(path string) error { return os.Symlink(elsewhere, path) },
		"link":    func(path string) error { return os.Link(elsewhere, path) },
		"folder":  func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		f := openFolders(t)
		id := driver.ID{Job: 1, Epoch: 1}
		if err := f.PrepareFolder(id, &wire.Attempt{Job: 1, Epoch: 1}); err != nil {
			t.Fatal(err)
		}
		if err := replace(filepath.Join(f.AttemptPath(id), "exit.json")); err != nil {
			t.Fatal(err)
		}
		if err := f.PutAway(id); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if len(f.spares) > 0 || len(inside(t, f.folderPath(trashDir))) > 0 {
			t.Errorf("%s: something is left", name)
		}
		if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "precious" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestWhereThereIsAFolderAlreadyNoSpareTakesItsPlace(t *testing.T) {
	f := openFolders(t)
	defer func() { _ = f.Close() }()
	one, two := driver.ID{Job: 1, Epoch: 1}, driver.ID{Job: 2, Epoch: 1}
	for _, id := range []driver.ID{one, two} {
		if err := f.PrepareFolder(id, &wire.Attempt{Job: id.Job, Epoch: 1, Mark: "first"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.PutAway(one); err != nil {
		t.Fatal(err)
	}
	f.waitForSpare(t)
	if err := f.PrepareFolder(two, &wire.Attempt{Job: 2, Epoch: 1, Mark: "again"}); err != nil {
		t.Fatal(err)
	}
	if a, err := ReadAttempt(f.AttemptPath(two)); err != nil || a.Mark != "first" {
		t.Errorf("%+v, %v", a, err)
	}
}
