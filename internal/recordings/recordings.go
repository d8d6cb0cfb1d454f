// Package recordings finds the recorded data that tests and benchmarks use: traces,
// workflows, loads, networks. They are not part of the repository; a test that needs
// them is skipped where they are not, which CI does not allow. It must not know what is
// in them.
package recordings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Folder is where the data are: $GODWIT_DATA, or ../shared/data beside the module.
func Folder(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("GODWIT_DATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "data")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// Path is a file or folder of the data, by its path in them. A test that needs it is
// skipped where it is not there.
func Path(t testing.TB, name ...string) string {
	t.Helper()
	path := OrGenerated(t, name...)
	if path == "" {
		t.Skipf("the recorded data are not here (set GODWIT_DATA): %s", strings.Join(name, "/"))
	}
	return path
}

// OrGenerated is the same for tests that go on with generated data: "" where the
// recorded ones are not there.
func OrGenerated(t testing.TB, name ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{Folder(t)}, name...)...)
	_, err := os.Stat(path)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("the recorded data must be there in CI: %v", err)
	}
	t.Logf("the recorded data are not here (set GODWIT_DATA), generated ones stand in for them: %s",
		strings.Join(name, "/"))
	return ""
}
