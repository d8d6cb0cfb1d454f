package outfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func only(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("got %v (%v), want %s alone", entries, err, name)
	}
}

func TestAFileIsThereOnlyWhenItIsComplete(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is complete")
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	if got := content(t, path); got != "half" {
		t.Errorf("got %q", got)
	}
	only(t, dir, "a.csv")
}

func TestADiscardedFileLeavesTheOlderOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := WriteAll(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Discard()
	f.Discard()
	if got := content(t, path); got != "old" {
		t.Errorf("got %q, want the older file", got)
	}
	only(t, dir, "a.csv")
}

func TestASymbolicLinkStaysOne(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := WriteAll(target, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := WriteAll(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 || content(t, target) != "new" {
		t.Errorf("the link was replaced, or its target is %q", content(t, target))
	}
}

func TestADeviceIsWrittenToAndNotReplaced(t *testing.T) {
	if err := WriteAll(os.DevNull, []byte("gone")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s was replaced: %v", os.DevNull, err)
	}
}

func TestAPathThatCannotBeWrittenIsTheUsersMistake(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing", "a.csv")} {
		if err := WriteAll(path, nil); !badinput.Is(err) {
			t.Errorf("%s: got %v, want a badinput.Error", path, err)
		}
	}
}
