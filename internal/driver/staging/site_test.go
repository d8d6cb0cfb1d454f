package staging

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
)

func open(t *testing.T) *depot.Store {
	t.Helper()
	s, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func site(t *testing.T, d Depot) *Site {
	t.Helper()
	s := &Site{Home: t.TempDir(), Dir: t.TempDir(), Depot: d}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func noise(seed byte, n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

func TestPathsAreBelowTheHomeFolder(t *testing.T) {
	for path, want := range map[string]string{"/data/x": "/data/x", "x/y": "/home/me/x/y", "~/x": "/home/me/x",
		"~":  "/home/me",
		"~x": "/home/me/~x", "/data/../x": "/x"} {
		if got := AbsolutePath(path, "/home/me"); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestAFileAloneIsPushedWhateverItIsCalled(t *testing.T) {
	d := open(t)
	s := site(t, d)
	for _, name := range []string{"engine.db", "a b ", "[x]*?!", `back\slash`, "#1", "!2", "data/deep/file", "-^"} {
		data := noise(1, 100_000)
		write(t, filepath.Join(s.Home, name), data)
		write(t, filepath.Join(s.Home, filepath.Dir(name), "other"), nil)
		m, err := s.PushFiles(t.Context(), name)
		if err != nil || m.Bytes != int64(len(data)) {
			t.Errorf("%q: %+v %v", name, m, err)
			continue
		}
		to := t.TempDir()
		tree, err := depot.FetchTree(t.Context(), d, depot.ID(m.Tree), to)
		if err != nil || len(tree.Entries) != 1 {
			t.Errorf("%q: %d entries: %v", name, len(tree.Entries), err)
		}
		if got, err := os.ReadFile(filepath.Join(to, filepath.Base(name))); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%q: %d bytes: %v", name, len(got), err)
		}
		if again, err := s.PushFiles(t.Context(), name); err != nil || again.Sent > 2000 || again.Tree != m.Tree {
			t.Errorf("%q: again: %+v %v", name, again, err)
		}
	}
}

func TestAFolderAndALinkArePushed(t *testing.T) {
	d := open(t)
	s := site(t, d)
	write(t, filepath.Join(s.Home, "data", "a"), []byte("1"))
	write(t, filepath.Join(s.Home, "data", "sub", "b"), []byte("23"))
	if err := os.Symlink("data", filepath.Join(s.Home, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data", "link", "~/data"} {
		f, err := s.StatFile(t.Context(), name)
		if err != nil || !f.Folder || f.Size != 3 {
			t.Errorf("%s: %+v %v", name, f, err)
		}
		m, err := s.PushFiles(t.Context(), name)
		if err != nil || m.Bytes != 3 {
			t.Errorf("%s: %+v %v", name, m, err)
		}
	}
	if _, err := s.StatFile(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := s.PushFiles(t.Context(), "/dev/null"); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
}

func TestWhatWasBroughtIsKeptWithinBounds(t *testing.T) {
	d := open(t)
	home, away := site(t, d), site(t, d)
	away.Limit = 3 << 20
	var trees []string
	for i := range 4 {
		name := string(rune('a' + i))
		write(t, filepath.Join(home.Home, name), noise(byte(i), 1<<20))
		m, err := home.PushFiles(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, m.Tree)
		if got, err := away.BringTree(t.Context(), m.Tree); err != nil || got.Sent < 1<<20 {
			t.Errorf("%+v %v", got, err)
		}
		if got, err := away.BringTree(t.Context(), trees[0]); err != nil || got.Sent != 0 { // it is used again and again
			t.Errorf("again: %+v %v", got, err)
		}
	}
	kept, err := away.openStore()
	if err != nil {
		t.Fatal(err)
	}
	for i, tree := range trees {
		if err := depot.VerifyTree(t.Context(), kept, depot.ID(tree)); (err == nil) != (i != 1) {
			t.Errorf("tree %d: %v", i, err)
		}
	}
}
