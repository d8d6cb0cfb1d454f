package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
)

func TestAProgramThatRunsOnCanBeContinuedFromEachOfItsImages(t *testing.T) {
	quiet := folder(t)
	letEnd(t, quiet)
	wantOut, want := begin(t, quiet, "", "python3", "stats.py", "50").end()
	wantFiles := contents(t, quiet)

	work := folder(t)
	a := begin(t, work, "", "python3", "stats.py", "50")
	type shot struct {
		image, work string
		written     int
	}
	var shots []shot
	for i := range 3 {
		a.awaitLines(5 + 12*i)
		s := shot{work: filepath.Join(t.TempDir(), "work")}
		s.image = a.save(false, func() error {
			s.written = a.drained()
			copyTree(t, work, s.work)
			return nil
		})
		shots = append(shots, s)
	}
	letEnd(t, work)
	out, res := a.end()
	if out != wantOut || res.Code != want.Code || res.Saved || contents(t, work) != wantFiles {
		t.Errorf("it ran on and ended with %+v, want %+v:\n%s", res, want, out)
	}
	for i, s := range shots {
		letEnd(t, s.work)
		a := begin(t, s.work, s.image, "python3", "stats.py", "50")
		more, res := a.end()
		if out[:s.written]+more != wantOut || res.Code != want.Code || contents(t, s.work) != wantFiles {
			t.Errorf("continued from image %d it ended with %+v, want %+v:\n%s%s", i, res, want, out[:s.written], more)
		}
	}
}

// A write that finds no room in a pipe is neither cut short nor repeated by a
// save in the middle of it.
func TestLargeWritesSurviveMoves(t *testing.T) {
	const size, writes, moves = 3 << 20, 60, 5
	const before = size * writes / moves / 2 // a move, so that it has not written all by then
	writer := fmt.Sprintf(`python3 -c '
import os, sys
for i in range(%d):
    if os.write(1, b"%%d" %% (i %% 10) * %d) != %d:
        sys.exit("cut short")'`, writes, size, size)
	for name, line := range map[string]string{"ToUs": "exec " + writer, "ToAnotherProcess": writer + " | cat"} {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			image := ""
			var out strings.Builder
			for i := range moves {
				a, err := tryReading(t, program(t, work, "sh", "-c", line), image, before+i)
				if err != nil {
					t.Fatal(err)
				}
				a.awaitBytes(before + i)
				image = a.save(true, nil)
				a.readAll()
				text, _ := a.end()
				out.WriteString(text)
			}
			a := begin(t, work, image, "sh", "-c", line)
			text, res := a.end()
			out.WriteString(text)
			got := out.String()
			if res.Code != 0 || len(got) != size*writes {
				t.Fatalf("%+v, %d bytes, want %d", res, len(got), size*writes)
			}
			for i := range writes {
				if part := got[i*size : (i+1)*size]; strings.Count(part, strconv.Itoa(i%10)) != size {
					t.Fatalf("write %d is not whole", i)
				}
			}
		})
	}
}

func TestNothingMovesWhileTheProgramStandsStill(t *testing.T) {
	work := t.TempDir()
	a := begin(t, work, "", "sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; echo $i >>count; done")
	a.awaitLines(50)
	var written int
	var count string
	image := a.save(true, func() error {
		written, count = a.drained(), contents(t, work)
		time.Sleep(200 * time.Millisecond) // in which one that does not stand still would write
		if now := a.drained(); now != written {
			t.Errorf("%d bytes were written while it stood still", now-written)
		}
		return nil
	})
	out, res := a.end()
	if len(out) != written || !res.Saved || contents(t, work) != count {
		t.Errorf("%d bytes written, %d when it stood still; %+v", len(out), written, res)
	}
	if left, err := os.ReadDir(image); err != nil || len(left) < 2 {
		t.Errorf("the image holds %v (%v)", left, err)
	}
}

func TestAfterASaveThatFailedTheProgramRunsOn(t *testing.T) {
	work := t.TempDir()
	a := begin(t, work, "", "sh", "-c", "i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i; sleep .01; done; exit 4")
	a.awaitLines(1)
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	later, cancelLater := context.WithCancel(t.Context())
	defer cancelLater()
	refused := errors.New("the folder cannot be read")
	nothing := func() error { return nil }
	for _, c := range []struct {
		what   string
		ctx    context.Context
		dir    string
		frozen func() error
		want   string
	}{
		{"a folder in use", t.Context(), used, nothing, "is not empty"},
		{"a folder that is missing", t.Context(), filepath.Join(used, "none"), nothing, "no such file"},
		{"a relative path", t.Context(), "image", nothing, "absolute"},
		{"no copy of the work folder", t.Context(), t.TempDir(), func() error { return refused }, refused.Error()},
		{"called off before", cancelled, t.TempDir(), nothing, "canceled"},
		{"called off meanwhile", later, t.TempDir(), func() error { cancelLater(); return nil }, "canceled"},
	} {
		for _, stop := range []bool{false, true} {
			err := a.run.SaveImage(c.ctx, c.dir, stop, c.frozen)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want one about %q", c.what, err, c.want)
			}
			a.awaitLines(strings.Count(a.text(), "\n") + 2)
		}
	}
	// And it can still be saved.
	a.save(false, nil)
	if err := os.WriteFile(filepath.Join(work, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, res := a.end(); res.Code != 4 {
		t.Errorf("it ended with %+v, want code 4", res)
	}
	if err := a.run.SaveImage(t.Context(), t.TempDir(), true, nothing); err == nil {
		t.Error("a program that has ended was saved")
	}
}

func TestAFullDiskCostsTheImageNotTheProgram(t *testing.T) {
	full := smallDisk(t)
	if full == "" {
		return
	}
	work := folder(t)
	quiet := folder(t)
	letEnd(t, quiet)
	wantOut, _ := begin(t, quiet, "", "./heap", "64", "150").end()
	a := begin(t, work, "", "./heap", "64", "150")
	a.awaitLines(3)
	for i, stop := range []bool{false, true} {
		dir := filepath.Join(full, "image")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := a.run.SaveImage(t.Context(), dir, stop, func() error { return nil }); err == nil {
			t.Error("64 MB were saved on a disk of 8 MB")
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left on the full disk: %v (%v)", left, err)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		a.awaitLines(6 + 3*i)
	}
	image := a.save(true, nil)
	first, _ := a.end()
	letEnd(t, work)
	a, _ = goOn(t, a, work, image)
	out, res := a.end()
	if first+out != wantOut || res.Code != 7 {
		t.Errorf("it ended with %+v:\n%s%s", res, first, out)
	}
}

// smallDisk is a folder on a disk of 8 MB; "" for an ordinary user, who cannot
// mount one.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return ""
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestADamagedImageIsRefused(t *testing.T) {
	work := folder(t)
	a := begin(t, work, "", "./heap", "8", "1000")
	a.awaitLines(2)
	image := a.save(true, nil)
	a.end()
	cut := func(name string) func(dir string) error {
		return func(dir string) error {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			return os.Truncate(filepath.Join(dir, name), info.Size()/2)
		}
	}
	scramble := func(name string) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i := len(text) / 4; i < len(text)*3/4; i++ {
				text[i] ^= 0x5a
			}
			return os.WriteFile(path, text, 0o644)
		}
	}
	for what, damage := range map[string]func(dir string) error{
		"no record":               func(dir string) error { return os.Remove(filepath.Join(dir, "godwit.json")) },
		"a record cut off":        cut("godwit.json"),
		"no memory":               func(dir string) error { return os.Remove(filepath.Join(dir, "pages.img")) },
		"memory cut off":          cut("pages.img"),
		"the state cut off":       cut("checkpoint.img"),
		"the state scrambled":     scramble("checkpoint.img"),
		"the page list scrambled": scramble("pages_meta.img"),
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "image")
			copyTree(t, image, dir)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			a, err := try(t, program(t, work, "./heap", "8", "1000"), dir)
			if err == nil {
				a.run.KillProgram()
				t.Fatalf("it was continued:\n%s", a.text())
			}
			t.Log(err)
			a.clean()
			if a.text() != "" {
				t.Errorf("something was written: %q", a.text())
			}
		})
	}
}

func TestAnImageIsNotContinuedWithOtherLibraries(t *testing.T) {
	work := folder(t)
	// A library outside the work folder that the test can change.
	lib := filepath.Join(libraries(t), "used")
	copyTree(t, filepath.Join(programs(t), "heap"), lib)
	a := begin(t, work, "", lib, "8", "1000")
	a.awaitLines(2)
	image := a.save(true, nil)
	a.end()
	again, err := try(t, program(t, work, lib, "8", "1000"), image)
	if err != nil {
		t.Fatalf("with the same library: %v", err)
	}
	again.run.KillProgram()
	text, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1]++
	if err := os.WriteFile(lib, text, 0o755); err != nil {
		t.Fatal(err)
	}
	var foreign *sandbox.ForeignError
	if _, err := try(t, program(t, work, lib, "8", "1000"), image); !errors.As(err, &foreign) || foreign.Path != lib {
		t.Errorf("with another library: %v, want one about %s", err, lib)
	}
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, program(t, work, lib, "8", "1000"), image); !errors.As(err, &foreign) || foreign.Path != lib {
		t.Errorf("without the library: %v, want one about %s", err, lib)
	}
}

// libraries is a folder that can be read inside, other than the work folder:
// /tmp is not the host's there.
func libraries(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.Getenv("HOME"), "/var/tmp"} {
		if strings.HasPrefix(parent, "/tmp") {
			continue
		}
		if dir, err := os.MkdirTemp(parent, "godwit-test"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	t.Fatal("no folder outside /tmp can be written")
	return ""
}

func TestTheProcessesOfASandboxCarryTheMark(t *testing.T) {
	a := begin(t, t.TempDir(), "", "sleep", "1000")
	if got := marked(t, a.p.Mark); len(got) != 3 {
		t.Errorf("marked are %v, want supervisor, gofer and sandbox", got)
	}
	var _ checkpoint.Run = a.run
}
