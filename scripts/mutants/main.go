// Command mutants takes the fences of Godwit away one by one and looks whether a
// test notices: for each change of the list it runs the tests that are named with
// it, on the source with that change alone. A fence whose loss no test notices is
// none: somebody will remove it without knowing. Run it by `make mutants`; with -check
// it only looks whether each change still applies and compiles and its tests exist.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// mutant is a change of the source that a test must notice.
type mutant struct {
	name  string
	edits []edit
	pkg   string // whose tests are run
	tests string // those that must fail, as for go test -run
}

// edit replaces text that stands exactly once in a file.
type edit struct{ file, old, new string }

// testTimeout is how long the tests of one mutant may take: some wait in vain.
const testTimeout = 3 * time.Minute

func main() {
	check := flag.Bool("check", false, "only look whether each change applies and compiles, and its tests exist")
	only := flag.String("pkg", "", "only the changes that the tests of these packages must notice, as ./internal/depot")
	flag.Parse()
	mutants := slices.DeleteFunc(list, func(m mutant) bool { return !strings.HasPrefix(m.pkg, *only) })
	survived, err := runMutants(mutants, *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survived > 0 {
		os.Exit(1)
	}
}

func runMutants(list []mutant, check bool) (survived int, err error) {
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the folder for temporary files
	overlays := make([]string, len(list))
	for i := range list { // all of them before the first test: a change that does not fit is known at once
		if overlays[i], err = list[i].writeOverlay(root, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return 0, err
		}
	}
	if check {
		for i := range list {
			if err := list[i].checkMutant(overlays[i]); err != nil {
				return 0, err
			}
		}
		fmt.Printf("%d changes apply and compile\n", len(list))
		return 0, nil
	}
	sound, now := map[string]bool{}, clock.RealClock()
	for i := range list {
		m := &list[i]
		if key := m.pkg + " " + m.tests; !sound[key] {
			if out, err := testMutant(m, ""); err != nil {
				return 0, fmt.Errorf("%s %s fails without any change: %w\n%s", m.pkg, m.tests, err, out)
			}
			sound[key] = true
		}
		began := now()
		out, err := testMutant(m, overlays[i])
		verdict := "killed"
		var failed *exec.ExitError
		switch {
		case err == nil:
			verdict = "SURVIVED"
			survived++
		case !errors.As(err, &failed):
			return 0, err
		case strings.Contains(out, "[build failed]"):
			return 0, fmt.Errorf("%s: the change does not compile:\n%s", m.name, out)
		}
		fmt.Printf("%-8s  %5.1f s  %s\n          by %s %s\n", verdict, now.Since(began).Seconds(), m.name, m.pkg, m.tests)
	}
	fmt.Printf("killed %d of %d\n", len(list)-survived, len(list))
	return survived, nil
}

// writeOverlay makes the changed files and the overlay that puts them in place of those
// in the source.
func (m *mutant) writeOverlay(root, dir string) (overlay string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	changed := map[string]string{} // file → its new text
	for _, e := range m.edits {
		path := filepath.Join(root, e.file)
		text, ok := changed[path]
		if !ok {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("%s: %w", m.name, err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("%s: the text to be changed stands %d times in %s, not once:\n%s", m.name, n, e.file, e.old)
		}
		changed[path] = strings.Replace(text, e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, text := range changed {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// checkMutant compiles the changed packages, and looks for the tests.
func (m *mutant) checkMutant(overlay string) error {
	args := []string{"build", "-overlay", overlay}
	for _, e := range m.edits {
		args = append(args, "./"+filepath.Dir(e.file))
	}
	if out, err := exec.CommandContext(context.Background(), "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: the change does not compile: %w\n%s", m.name, err, out)
	}
	files, err := filepath.Glob(filepath.Join(m.pkg, "*_test.go"))
	if err != nil {
		return err
	}
	for test := range strings.SplitSeq(m.tests, "|") {
		if !slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "\nfunc "+test+"(")
		}) {
			return fmt.Errorf("%s: no test of %s is called %s", m.name, m.pkg, test)
		}
	}
	return nil
}

// testMutant runs the tests of a mutant, on the source as it is if there is no overlay.
func testMutant(m *mutant, overlay string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout) // compiling takes its time too
	defer cancel()
	args := []string{"test", "-count=1", "-timeout", testTimeout.String(), "-run", "^(" + m.tests + ")$"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.CommandContext(ctx, "go", append(args, m.pkg)...).CombinedOutput()
	if err == nil && strings.Contains(string(out), "[no tests to run]") {
		err = fmt.Errorf("%s: no test of %s is called %s", m.name, m.pkg, m.tests)
	}
	return string(out), err
}
