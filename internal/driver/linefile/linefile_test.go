package linefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver/linefile"
	"github.com/godwit-hpc/godwit/internal/driver/linefile/linefiletest"
)

func TestALineIsThereWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(path, []byte("of old\nand a part"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := linefile.ReplaceFile(path, []byte("first\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range []func(string) error{f.AppendLine, f.AppendSafely} {
		linefiletest.WithRoomFor(t, path, 3, func() {
			if err := add("in vain\n"); err == nil {
				t.Error("what cannot be written was written")
			}
		})
		if err := add("whole\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = linefile.Open(path); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	linefiletest.WithRoomFor(t, path, 3, func() {
		if err := f.AppendLine("in vain\n"); err == nil {
			t.Error("what cannot be written was written")
		}
	})
	if err := f.AppendLine("last\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "first\nwhole\nwhole\nlast\n" {
		t.Errorf("%q %v", text, err)
	}
}
