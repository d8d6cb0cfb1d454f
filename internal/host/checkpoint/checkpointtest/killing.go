package checkpointtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

func killLeavesNothing(t *testing.T, f Fixture) {
	for _, name := range []string{"sleep", "stubborn", "family", "daemon"} {
		t.Run(name, func(t *testing.T) {
			pl := newPlace(t, f, name)
			pl.startProgram("")
			if name != "daemon" || f.Way != Transparent {
				// In a sandbox a daemon may end with the program that left it.
				pl.awaitLines(1)
			}
			pl.run.KillProgram()
			select {
			case <-pl.run.Done():
			default:
				t.Error("Kill returned before the end")
			}
			if r := pl.run.Result(); name != "daemon" && (r.Signal == 0 || r.Code != 128+r.Signal) || r.Saved || r.Lost {
				t.Errorf("ended with %+v", r)
			}
			pl.nothingLeft()
		})
	}
}

func terminateGivesTime(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "careful")
	pl.startProgram("")
	pl.awaitLines(1)
	pl.run.TerminateProgram(f.Wait)
	if r := pl.run.Result(); r.Code != 7 || r.Saved || r.Lost {
		t.Errorf("ended with %+v", r)
	}
	if text, err := os.ReadFile(filepath.Join(pl.program.Dir, "saved.txt")); err != nil || string(text) != "saved" {
		t.Errorf("it wrote %q, %v", text, err)
	}
	pl.nothingLeft()
}

func terminateEndsTheStubborn(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "stubborn")
	pl.startProgram("")
	pl.awaitLines(1)
	pl.run.TerminateProgram(50 * time.Millisecond)
	if r := pl.run.Result(); r.Signal != int(syscall.SIGKILL) || r.Code != 128+r.Signal {
		t.Errorf("ended with %+v", r)
	}
	pl.nothingLeft()
}

func terminateMayBeHastened(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "stubborn")
	pl.startProgram("")
	pl.awaitLines(1)
	slow := make(chan struct{})
	go func() {
		pl.run.TerminateProgram(time.Hour)
		close(slow)
	}()
	pl.run.TerminateProgram(0)
	<-slow
	pl.nothingLeft()
}

func killTwice(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "exit", "3")
	pl.startProgram("")
	before := pl.awaitEnd()
	var all sync.WaitGroup
	for range 3 {
		all.Go(pl.run.KillProgram)
	}
	all.Wait()
	if after := pl.run.Result(); after != before || before.Code != 3 {
		t.Errorf("%+v became %+v", before, after)
	}
}

func nothingToSave(t *testing.T, f Fixture) {
	if f.Way != Never {
		return
	}
	const steps = 200
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	pl.awaitLines(5)
	for _, stop := range []bool{false, true} {
		err := pl.run.SaveImage(context.Background(), t.TempDir(), stop,
			func() error { t.Error("it was frozen"); return nil })
		if !errors.Is(err, checkpoint.ErrNothingToSave) {
			t.Errorf("save: %v", err)
		}
	}
	pl.checkOutput(steps)
}

func savedTooLate(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "exit", "4")
	pl.startProgram("")
	pl.awaitEnd()
	if _, err := pl.saveProgram(true, nil); err == nil {
		t.Error("a program that has ended was saved")
	}
	if r := pl.run.Result(); r.Code != 4 || r.Saved {
		t.Errorf("ended with %+v", r)
	}
}

func killedWhileSaving(t *testing.T, f Fixture) {
	for _, stop := range []bool{false, true} {
		pl := newPlace(t, f, "count", f.countingArgs(100000)...)
		pl.startProgram("")
		pl.awaitLines(10)
		inside := make(chan struct{})
		over := make(chan error, 1)
		go func() {
			_, err := pl.saveProgram(stop, func() error {
				close(inside)
				time.Sleep(50 * time.Millisecond)
				return nil
			})
			over <- err
		}()
		<-inside
		pl.run.KillProgram()
		err := <-over
		if r := pl.run.Result(); r.Saved != (stop && err == nil) {
			t.Errorf("ended with %+v, the save with %v", r, err)
		}
		pl.nothingLeft()
	}
}
