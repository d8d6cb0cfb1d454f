package placetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// UserHome gives tests the files in the ordinary user's home.
type UserHome struct {
	T   testing.TB
	Dir string
}

// HasFile says, whenever it is asked, whether there is a file.
func (h UserHome) HasFile(name string) func() bool {
	return func() bool { _, err := os.Stat(filepath.Join(h.Dir, name)); return err == nil }
}

// WriteFile writes a file that can be run.
func (h UserHome) WriteFile(name, text string) {
	h.T.Helper()
	if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o755); err != nil { // the user runs it
		h.T.Fatal(err)
	}
}

// ReadFile is what is in a file.
func (h UserHome) ReadFile(name string) string {
	h.T.Helper()
	text, err := os.ReadFile(filepath.Join(h.Dir, name))
	if err != nil {
		h.T.Fatal(err)
	}
	return string(text)
}

// MustOutput runs a command that has to succeed, and is what it prints.
func MustOutput(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
