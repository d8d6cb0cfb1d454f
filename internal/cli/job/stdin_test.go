package job

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

func TestStandardInputIsCopiedUpToALimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in")
	if n, err := spoolStdin(t.Context(), strings.NewReader("a\nb\n"), file, 4); err != nil || n != 4 {
		t.Errorf("%d, %v", n, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "a\nb\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := spoolStdin(t.Context(), strings.NewReader("a\nb\n"), file+"2", 3); !badinput.Is(err) {
		t.Errorf("more than the limit: %v", err)
	}
}

func TestReadingOfAPipeThatNeverEndsCanBeInterrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }() // ends the reading
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := spoolStdin(ctx, r, filepath.Join(t.TempDir(), "in"), 100); err == nil {
		t.Error("it came to an end")
	}
}
