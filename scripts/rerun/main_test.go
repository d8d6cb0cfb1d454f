package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOnlyNamedTestsAreRunOnceMore(t *testing.T) {
	const e2e, lab = `"Package":"` + module + `internal/e2e"`, `"Package":"` + module + `internal/lab"`
	for what, c := range map[string]struct {
		events string
		stand  []string
	}{
		"a part of a named test": {`{"Action":"fail",` + e2e + `,"Test":"TestAGridOfRealClusters/LoadMovesAJobWithADeadline"}
{"Action":"fail",` + e2e + `,"Test":"TestAGridOfRealClusters"}
{"Action":"fail",` + e2e + `}`, nil},
		"another test beside it": {`{"Action":"fail",` + e2e + `,"Test":"TestAGridOfRealClusters"}
no JSON at all
{"Action":"fail",` + e2e + `,"Test":"TestParallelPrograms"}
{"Action":"pass",` + lab + `,"Test":"TestX"}`, []string{"internal/e2e TestParallelPrograms"}},
		"a package that was not built": {`{"Action":"fail",` + lab + `}`, []string{"internal/lab"}},
	} {
		failed, err := failedTests(strings.NewReader(c.events))
		if got := unmeasured(failed); err != nil || !slices.Equal(got, c.stand) {
			t.Errorf("%s: %q stand, want %q (%v)", what, got, c.stand, err)
		}
	}
	if err := repeatAll(nil, nil); err == nil {
		t.Error("a run that failed without a failure is taken for a success")
	}
}

// A test that was renamed would not be repeated, and its reason would stand for nothing.
func TestEveryNamedTestIsThere(t *testing.T) {
	var sources strings.Builder
	err := filepath.WalkDir("../../internal", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var text []byte
			text, err = os.ReadFile(path)
			sources.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, reason := range measured {
		if !strings.Contains(sources.String(), "\nfunc "+name+"(t *testing.T)") || len(strings.Fields(reason)) < 4 {
			t.Errorf("there is no test %s, or it has no reason: %q", name, reason)
		}
	}
}
