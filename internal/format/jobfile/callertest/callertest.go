// Package callertest is who gives commands in tests of job files: in which folder, when, and
// with which environment. It must not know what is read from them.
package callertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// SubmitTime is when everything is submitted.
var SubmitTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// CallerEnviron is the environment of whoever submits.
func CallerEnviron() []string {
	return []string{"HOME=/home/eve", "TOKEN=abc", "PATH=/bin", "PWD=/x", "GODWIT_STATE=/y", "BAD-NAME=1"}
}

// MakeFolder is a folder with a few files, each NAME or NAME=TEXT, in which commands are given.
func MakeFolder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
