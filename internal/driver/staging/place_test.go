package staging

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// holds says whether a folder holds exactly these files.
func holds(t *testing.T, dir string, want map[string][]byte) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		rel, _ := filepath.Rel(dir, path)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want[rel]) {
			t.Errorf("%s has %d bytes: %v", rel, len(got), err)
		}
		return nil
	})
	if err != nil || n != len(want) {
		t.Errorf("%s holds %d files, want %d: %v", dir, n, len(want), err)
	}
}

func TestResultsAreLeftWhereTheUserWantsThem(t *testing.T) {
	d := open(t)
	from, to := site(t, d), site(t, d)
	data := noise(1, 2<<20)
	write(t, filepath.Join(to.Home, "runs", "old"), []byte("stays"))
	write(t, filepath.Join(to.Home, "runs", "big.h5"), []byte("is replaced"))
	aside := filepath.Join(from.OutgoingFolder(), "7.1", "0")
	write(t, filepath.Join(aside, "big.h5"), data)
	write(t, filepath.Join(aside, "sub", "x"), []byte("x"))
	if err := os.Chmod(filepath.Join(aside, "sub"), 0o500); err != nil {
		t.Fatal(err)
	}
	o := offers(t, from, driver.FileRequest{Path: aside})
	if _, err := to.TakeOffer(t.Context(), o.Offer); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"old": []byte("stays"), "big.h5": data, "sub/x": []byte("x")}
	for range 2 { // asked again it does no harm
		list, err := to.PlaceResults(t.Context(), driver.ResultPlacement{Tree: o.Tree, To: "runs/"})
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v %v", list, err)
		}
		holds(t, filepath.Join(to.Home, "runs"), want)
		// What was placed is known as what a push of it would make.
		m, err := to.PushFiles(t.Context(), "runs/big.h5")
		if err != nil || list[0].Path != filepath.Join(to.Home, "runs", "big.h5") || list[0].Tree != m.Tree ||
			list[0].Size != 2<<20 || list[0].ModTime == 0 {
			t.Errorf("%+v, pushed it is %+v: %v", list[0], m, err)
		}
		has(t, to, list[0].Tree, "big.h5", data)
	}
	if info, err := os.Stat(filepath.Join(to.Home, "runs", "sub")); err != nil || info.Mode().Perm() != 0o500 {
		t.Error(info, err)
	}

	// At the same site nothing is copied.
	for range 2 {
		if _, err := from.PlaceResults(t.Context(),
			driver.ResultPlacement{Path: aside, To: filepath.Join(from.Home, "new", "runs") + "/"}); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(from.Home, "new", "runs"), map[string][]byte{"big.h5": data, "sub/x": []byte("x")})
	}
	if err := from.DropResults(t.Context(), filepath.Dir(aside)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(aside)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}

	// One file may get a name, several may not.
	write(t, filepath.Join(aside, "big.h5"), data)
	if list, err := from.PlaceResults(t.Context(), driver.ResultPlacement{Path: aside, To: "~/last.h5"}); err != nil ||
		len(list) != 1 || list[0].Path != filepath.Join(from.Home, "last.h5") {
		t.Fatalf("%+v %v", list, err)
	}
	if got, err := os.ReadFile(filepath.Join(from.Home, "last.h5")); err != nil || !bytes.Equal(got, data) {
		t.Error(len(got), err)
	}
}

func TestResultsThatCannotBeLeftAreNotLost(t *testing.T) {
	s := site(t, nil)
	aside := filepath.Join(s.OutgoingFolder(), "7.1", "0")
	write(t, filepath.Join(aside, "a"), []byte("a"))
	write(t, filepath.Join(aside, "b"), []byte("b"))
	write(t, filepath.Join(s.Home, "file"), []byte("file"))
	if err := os.Mkdir(filepath.Join(s.Home, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"/proc/results/", "file/below/", "one", "./"} { // the last has a folder in the way
		if list, err := s.PlaceResults(t.Context(), driver.ResultPlacement{Path: aside, To: to}); err == nil {
			t.Errorf("%s: %+v", to, list)
		}
		if got, err := os.ReadFile(filepath.Join(aside, "b")); err != nil || string(got) != "b" {
			t.Errorf("%s: %q %v", to, got, err)
		}
	}
	for _, path := range []string{s.Home, s.OutgoingFolder(), filepath.Join(s.OutgoingFolder(), "..", "brought"), "/", ".",
		"../brought"} {
		if _, err := s.PlaceResults(t.Context(), driver.ResultPlacement{Path: path, To: "x/"}); !errors.Is(err,
			fs.ErrInvalid) {
			t.Errorf("%s is moved: %v", path, err)
		}
		if err := s.DropResults(t.Context(), path); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s is removed: %v", path, err)
		}
	}
	if _, err := s.PlaceResults(t.Context(),
		driver.ResultPlacement{Tree: string(chunk.IDOf([]byte("x"))), To: "x/"}); !errors.Is(err, depot.ErrMissing) {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(s.Home, ".godwit-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

// FuzzOutgoing: nothing is ours to move or to remove that agents did not set
// aside.
func FuzzOutgoing(f *testing.F) {
	for _, path := range []string{"", "/", "outgoing", "/x/outgoing/7.1", "/x/outgoing/../brought",
		"/x/outgoing/7.1/../../..", "/x/outgoing/."} {
		f.Add(path)
	}
	s := &Site{Dir: "/x"}
	f.Fuzz(func(t *testing.T, path string) {
		if clean := filepath.Clean(path); s.isOutgoing(path) != strings.HasPrefix(clean, "/x/outgoing/") {
			t.Errorf("%q, which is %q", path, clean)
		}
	})
}
