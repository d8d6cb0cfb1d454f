package staging

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
)

// mount makes a folder a small file system of its own.
func mount(t *testing.T, dir, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700),
		syscall.Mount("godwit-test", dir, "tmpfs", 0, "mode=0700,size="+size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// placed places something that must succeed, and says how much was.
func placed(t *testing.T, s *Site, p driver.ResultPlacement) int {
	t.Helper()
	list, err := s.PlaceResults(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// gone says that nothing of ours is left.
func gone(t *testing.T, s *Site, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", path, err)
	}
	err := filepath.WalkDir(s.Home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".godwit-") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Each case is what was done already when it was cut off.
func TestWhatWasCutOffWhileItTookItsPlaceGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		to    string
		begun func(t *testing.T, ready, to string) // after all was moved into ready
		want  map[string][]byte                    // below the home folder
	}{
		"nothing yet": {to: "new/runs/",
			want: map[string][]byte{"new/runs/out/a": []byte("a"), "new/runs/out/b": []byte("b")}},
		"half of it": {to: "new/runs/", begun: func(t *testing.T, ready, to string) {
			write(t, filepath.Join(to, "out", "a"), []byte("a"))
			remove(t, filepath.Join(ready, "0", "out", "a"))
		}, want: map[string][]byte{"new/runs/out/a": []byte("a"), "new/runs/out/b": []byte("b")}},
		"half of it, by another name": {to: "new/name", begun: func(t *testing.T, ready, to string) {
			write(t, filepath.Join(to, "a"), []byte("a"))
			remove(t, filepath.Join(ready, "0", "out", "a"))
		}, want: map[string][]byte{"new/name/a": []byte("a"), "new/name/b": []byte("b")}},
		"all of it, by another name": {to: "new/name", begun: func(t *testing.T, ready, to string) {
			if err := os.Rename(filepath.Join(ready, "0", "out"), to); err != nil {
				t.Fatal(err)
			}
		}, want: map[string][]byte{"new/name/a": []byte("a"), "new/name/b": []byte("b")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := site(t, nil)
			aside := filepath.Join(s.OutgoingFolder(), "7.1", "0")
			write(t, filepath.Join(aside, "out", "a"), []byte("a"))
			write(t, filepath.Join(aside, "out", "b"), []byte("b"))
			p := driver.ResultPlacement{Path: aside, To: c.to}
			at := s.targetFor(&p)
			if err := errors.Join(at.prepareFolder(), os.Rename(aside, filepath.Join(at.ready, "0"))); err != nil {
				t.Fatal(err)
			}
			if c.begun != nil {
				c.begun(t, at.ready, at.to)
			}
			placed(t, s, p)
			gone(t, s, aside)
			holds(t, s.Home, c.want)
			if n := placed(t, s, p); n != 0 {
				t.Errorf("%d are placed again", n)
			}
			holds(t, s.Home, c.want)
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestForResultsThatThereAreNotNoFolderIsMade(t *testing.T) {
	s := site(t, nil)
	for _, to := range []string{"new/", "new/name", "/proc/no/", "/dev/null/no/"} {
		if n := placed(t, s, driver.ResultPlacement{Path: filepath.Join(s.OutgoingFolder(), "7.1", "0"), To: to}); n != 0 {
			t.Errorf("%d are placed in %s", n, to)
		}
	}
	gone(t, s, filepath.Join(s.Home, "new"))
}

func TestWhatCannotTakeItsPlaceNorGoBackStays(t *testing.T) {
	s := site(t, nil)
	p := driver.ResultPlacement{Path: filepath.Join(s.OutgoingFolder(), "7.1", "0"), To: "runs/"}
	at := s.targetFor(&p)
	write(t, filepath.Join(at.ready, "0", "a"), []byte("a"))
	inTheWay := filepath.Join(s.Home, "runs", "a")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	// there is no folder to go back to
	if list, err := s.PlaceResults(t.Context(), p); err == nil || !strings.Contains(err.Error(), at.ready) {
		t.Fatalf("%+v %v", list, err)
	}
	remove(t, inTheWay)
	placed(t, s, p)
	gone(t, s, p.Path)
	holds(t, s.Home, map[string][]byte{"runs/a": []byte("a")})
}

func TestACopyThatWasCutOffIsMadeAgain(t *testing.T) {
	s := site(t, nil)
	mount(t, s.OutgoingFolder(), "16m")
	aside := filepath.Join(s.OutgoingFolder(), "7.1", "0")
	want := map[string][]byte{"runs/big": noise(1, 2<<20), "runs/sub/small": []byte("small")}
	write(t, filepath.Join(aside, "big"), want["runs/big"])
	write(t, filepath.Join(aside, "sub", "small"), want["runs/sub/small"])
	p := driver.ResultPlacement{Path: aside, To: "runs/"}
	write(t, filepath.Join(s.targetFor(&p).ready, "0", "big"), want["runs/big"][:1<<20])
	if n := placed(t, s, p); n != 2 {
		t.Errorf("%d are placed", n)
	}
	gone(t, s, aside)
	holds(t, s.Home, want)
	placed(t, s, p)
	holds(t, s.Home, want)
}

func TestACopyThatCannotBePlacedIsNotTheOnlyOne(t *testing.T) {
	s := site(t, nil)
	mount(t, s.Home, "1m")
	want := map[string][]byte{"a": []byte("a"), "b": []byte("b"), "c": []byte("c")}
	aside := filepath.Join(s.OutgoingFolder(), "7.1", "0")
	for name, text := range want {
		write(t, filepath.Join(aside, name), text)
	}
	for _, in := range []string{"way/b", "full/"} {
		if err := os.MkdirAll(filepath.Join(s.Home, in), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(to string) {
		t.Helper()
		if list, err := s.PlaceResults(t.Context(), driver.ResultPlacement{Path: aside, To: to}); err == nil {
			t.Errorf("%s: %+v", to, list)
		}
		holds(t, aside, want)
	}
	fails("way/") // a folder is in it
	fails("name") // several have one name
	want["big"] = noise(1, 2<<20)
	write(t, filepath.Join(aside, "big"), want["big"])
	fails("full/")
	gone(t, s, filepath.Join(s.Home, "name"))
}

func TestFoldersThatNothingMayBeRemovedFromGoToo(t *testing.T) {
	s := site(t, nil)
	aside := filepath.Join(s.OutgoingFolder(), "7.1")
	closed := filepath.Join(aside, "0", "closed")
	write(t, filepath.Join(closed, "x"), []byte("x"))
	if err := os.Chmod(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // who may do everything
		const nobody = 65534
		err := filepath.WalkDir(filepath.Dir(s.Dir), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Chown(path, nobody, nobody))
		})
		if err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	if err := s.DropResults(t.Context(), "7.1"); err != nil {
		t.Error(err)
	}
	gone(t, s, aside)
}
