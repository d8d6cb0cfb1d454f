package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// steps are so many that a program is not at its last when it is disturbed, unless
// the machine is slow.
const steps = 1000

func savedGoesOn(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	for _, lines := range []int{20, 100} {
		pl.awaitLines(lines)
		pl.mustSave(false)
		select {
		case <-pl.run.Done():
			t.Fatalf("it has ended: %+v", pl.run.Result())
		default:
		}
		// Of one that saves itself all the time, a process may just have ended.
		pl.waitFor("it to live", func() bool { return isAlive(pl.run.RootPID()) })
	}
	pl.checkOutput(steps)
}

func continuesFromEarlier(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	pl.awaitLines(30)
	s := pl.mustSave(false)
	pl.awaitLines(150)
	pl.run.KillProgram()
	pl.nothingLeft()
	for range 2 { // as often as one likes
		pl.continueElsewhere(s).checkOutput(steps)
	}
}

func movesTwice(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	for _, lines := range []int{30, 150} {
		pl.awaitLines(lines)
		s := pl.mustSave(true)
		select {
		case <-pl.run.Done():
		default:
			t.Fatal("saved and stopped, it has not ended")
		}
		if r := pl.run.Result(); !r.Saved || r.Lost || r.CPU <= 0 {
			t.Errorf("ended with %+v", r)
		}
		pl.nothingLeft()
		if pl.out.drainAll(); pl.out.textSize() != len(s.out) && f.Way != GoesOn {
			t.Errorf("after it was frozen it wrote %d bytes", pl.out.textSize()-len(s.out))
		}
		pl = pl.continueElsewhere(s)
	}
	pl.checkOutput(steps)
}

func standsStill(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	for _, stop := range []bool{false, true} {
		pl.awaitMoreLines(10)
		_, err := pl.saveProgram(stop, func() error {
			before, files := len(pl.out.drainAll())+len(pl.err.drainAll()), listFiles(pl.program.Dir)
			for range 10 {
				time.Sleep(15 * time.Millisecond)
				if after := len(pl.out.drainAll()) + len(pl.err.drainAll()); after != before {
					t.Errorf("frozen, it wrote %d bytes", after-before)
				}
				if after := listFiles(pl.program.Dir); after != files {
					t.Errorf("frozen, it changed files from\n%sto\n%s", files, after)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// listFiles is what can be seen of a folder's files.
func listFiles(dir string) string {
	text := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			text += fmt.Sprintln(path, info.Size(), info.ModTime())
		}
		return err
	})
	return text + fmt.Sprintln(err)
}

func failedSaves(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	pl.awaitLines(10)
	wrong := errors.New("no room for a copy")
	for _, stop := range []bool{false, true} {
		if _, err := pl.saveProgram(stop, func() error { return wrong }); !errors.Is(err, wrong) {
			t.Errorf("the save that fails inside says %v", err)
		}
		pl.awaitMoreLines(10) // it runs
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	never := func() error { t.Error("it was frozen"); return nil }
	if err := pl.run.SaveImage(gone, t.TempDir(), true, never); !errors.Is(err, context.Canceled) {
		t.Errorf("the save that nobody wants says %v", err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old"), []byte("of an earlier image"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := pl.run.SaveImage(context.Background(), full, true, func() error { return nil }); err == nil {
		t.Error("an image was written over another")
	}
	if err := pl.run.SaveImage(context.Background(), filepath.Join(full, "missing"), true,
		func() error { return nil }); err == nil {
		t.Error("an image was written into a folder that does not exist")
	}
	select {
	case <-pl.run.Done():
		t.Fatalf("it has ended: %+v", pl.run.Result())
	default:
	}
	// It can still be saved, and ends as if nothing had been.
	pl.mustSave(false)
	pl.checkOutput(steps)
}

func damagedImage(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	pl.awaitLines(10)
	s := pl.mustSave(true)
	next := newPlace(t, f, "count", f.countingArgs(steps)...)
	if err := os.RemoveAll(s.image); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.image, 0o755); err != nil {
		t.Fatal(err)
	}
	run, err := f.Method.StartProgram(context.Background(), next.program, s.image)
	if err == nil {
		next.run = run
		t.Error("an image with nothing in it was taken")
	}
}
