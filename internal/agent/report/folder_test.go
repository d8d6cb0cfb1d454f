package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

func mustMake(t *testing.T, memory, mark string) *Folder {
	t.Helper()
	f, err := MakeFolder(memory, t.TempDir(), mark)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func putField(t *testing.T, f *Folder, at int64, value uint64) {
	t.Helper()
	page, err := os.OpenFile(filepath.Join(f.Path(), selfreport.PageFile), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	if _, err := page.WriteAt(selfreport.FieldBytes(value), at); err != nil {
		t.Fatal(err)
	}
}

func TestTheNextAgentFindsTheFolderOfTheOneBefore(t *testing.T) {
	memory, attempt := t.TempDir(), t.TempDir()
	f, err := MakeFolder(memory, attempt, "m")
	if err != nil {
		t.Fatal(err)
	}
	putField(t, f, selfreport.StepsAllAt, 4)
	putField(t, f, selfreport.StepsDoneAt, 1)
	f.Close()
	next := OpenFolder(memory, attempt, "m")
	if done, all := next.ReadSteps(); done != 1 || all != 4 || next.Path() != f.Path() {
		t.Errorf("%v of %v in %q", done, all, next.Path())
	}
	next.Remove()
	if OpenFolder(memory, attempt, "m") != nil {
		t.Error("it is there after it was removed")
	}
}

func TestAFolderThatOthersCouldHaveMadeIsNotUsed(t *testing.T) {
	memory := t.TempDir()
	f := mustMake(t, memory, "m")
	defer f.Remove()
	if err := os.Chmod(f.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	if OpenFolder(memory, t.TempDir(), "m") != nil {
		t.Error("a folder that others may enter is used")
	}
	attempt := t.TempDir()
	if g, err := MakeFolder(memory, attempt, "m"); err != nil || filepath.Dir(g.Path()) != attempt {
		t.Errorf("what is there already is taken: %v, %v", g.Path(), err)
	}
}

func TestNoFolderIsNoHindrance(t *testing.T) {
	var f *Folder
	f.SetStop(true)
	f.SetCheckpoint(3)
	if done, all := f.ReadSteps(); done != 0 || all != 0 || f.Path() != "" {
		t.Errorf("%v of %v in %q", done, all, f.Path())
	}
	f.Close()
	f.Remove()
	if _, err := MakeFolder("/nowhere", "/nowhere", "m"); err == nil {
		t.Error("a folder was made nowhere")
	}
}

func TestWhatKilledAgentsLeftIsRemovedAndNothingElse(t *testing.T) {
	memory := t.TempDir()
	left, used, foreign := mustMake(t, memory, "left"), mustMake(t, memory, "used"), filepath.Join(memory, "godwit-other")
	defer used.Remove()
	left.Close() // as the kernel does for one that was killed
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	now := time.Now()
	RemoveAbandoned(memory, now.Add(-time.Hour))
	if !there(left.Path()) {
		t.Error("it was removed before its time")
	}
	RemoveAbandoned(memory, now.Add(time.Hour))
	if there(left.Path()) || !there(used.Path()) || !there(foreign) {
		t.Errorf("left: %v, used: %v, foreign: %v", there(left.Path()), there(used.Path()), there(foreign))
	}
	RemoveAbandoned(filepath.Join(memory, "nothing"), now)
}

// A program that is started inherits nothing that keeps a folder alive.
func TestAChildDoesNotHoldTheFolder(t *testing.T) {
	memory := t.TempDir()
	f := mustMake(t, memory, "m")
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	f.Close()
	RemoveAbandoned(memory, time.Now().Add(time.Hour))
	if _, err := os.Lstat(f.Path()); !os.IsNotExist(err) {
		t.Errorf("it is held: %v", err)
	}
}

// What each attempt pays for it.
func BenchmarkFolder(b *testing.B) {
	memory, attempt := selfreport.MemoryFolder, b.TempDir()
	for b.Loop() {
		f, err := MakeFolder(memory, attempt, "benchmark")
		if err != nil {
			b.Fatal(err)
		}
		l, err := f.Listen(clock.RealClock(), nil)
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
		f.Remove()
	}
}
