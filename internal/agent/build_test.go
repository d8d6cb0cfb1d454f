package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

const helloC = "#include <stdio.h>\nint main(void) { puts(\"built for \" ARCH); return 0; }\n"

// withSources is an attempt whose work folder holds a program in C. Each build
// leaves a line in the file builds of dir, so that builds can be counted.
func withSources(t *testing.T, dir string) *harness {
	t.Helper()
	h := newHarness(t, "./hello")
	h.pushWork(map[string]string{"src/hello.c": helloC})
	h.attempt.Spec.Argv = []string{"src/hello"}
	h.attempt.Spec.Build = jobfile.Build{Dir: "src", Outputs: []string{"hello"}, Needs: []string{"m"},
		Command: "echo once >>" + filepath.Join(dir, "builds") +
			`; echo compiling; cc -DARCH="\"$GODWIT_ARCH\"" -o hello hello.c`}
	return h
}

// builds counts the builds so far.
func builds(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "builds"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "once")
}

// told is what was noted of the build.
func (h *harness) told() (choices []string) {
	for _, m := range h.all(wire.Note) {
		if m.Entry.Kind == "build" {
			choices = append(choices, m.Entry.Choice)
		}
	}
	return choices
}

func TestSourcesAreBuiltOnceAndThenBroughtFromWhatWasBuilt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	for i, want := range []struct{ choice, output string }{{"built", "compiling\n"}, {"not built again", ""}} {
		h := withSources(t, dir)
		h.run()
		if m := h.ended(); m.Code != 0 || !strings.HasPrefix(h.output(1), "built for ") || h.output(2) != want.output {
			t.Fatalf("run %d: %+v, output %q %q", i, m, h.output(1), h.output(2))
		}
		if got := h.told(); len(got) != 1 || got[0] != want.choice {
			t.Errorf("run %d: told %q", i, got)
		}
	}
	// What came home of it is no source.
	brought := withSources(t, dir)
	brought.pushWork(map[string]string{"src/hello.c": helloC, "src/hello": "of another host"})
	brought.run()
	if n := builds(t, dir); n != 1 || brought.ended().Code != 0 {
		t.Errorf("built %d times", n)
	}
	h := withSources(t, dir)
	h.attempt.Spec.Build.Command += " -O2"
	h.run()
	if n := builds(t, dir); n != 2 || h.ended().Code != 0 {
		t.Errorf("another command: built %d times", n)
	}
}

func TestOfTwoJobsThatWantTheSameOneBuildsAndTheOtherWaits(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	first, second := withSources(t, dir), withSources(t, dir)
	for _, h := range []*harness{first, second} {
		h.attempt.Spec.Build.Command += "; while [ ! -e " + filepath.Join(dir, "go") + " ]; do sleep 0.01; done"
	}
	first.start()
	first.begin()
	first.until("its build", func() bool { return len(first.out[2]) > 0 })
	second.start()
	second.begin()
	second.await(wire.Note)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first.wait()
	second.wait()
	if a, b := first.ended(), second.ended(); a.Code != 0 || b.Code != 0 || builds(t, dir) != 1 {
		t.Errorf("built %d times: %+v %+v", builds(t, dir), a, b)
	}
	if got := strings.Join(second.told(), ", "); got != "waits, not built again" {
		t.Errorf("told %q", got)
	}
}

func TestAFailedBuildFailsTheJobWithItsLastLinesAndIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	for range 2 {
		h := withSources(t, dir)
		h.attempt.Spec.Build.Command = "echo once >>" + filepath.Join(dir, "builds") +
			"; seq 9; echo 'no such thing' >&2; touch hello; exit 3"
		h.run()
		if m := h.ended(); m.Code != 3 || !strings.Contains(m.Why, "build failed") ||
			!strings.HasSuffix(m.Why, "9 | no such thing") {
			t.Errorf("told %+v", m)
		}
	}
	if n := builds(t, dir); n != 2 {
		t.Errorf("tried %d times", n)
	}
}

func TestABuildThatIsStoppedLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	h := withSources(t, dir)
	whole := h.attempt.Spec.Build.Command
	h.attempt.Spec.Build.Command = whole + "; [ -e " + filepath.Join(dir, "go") + " ] || sleep 1000"
	h.start()
	h.begin()
	h.until("its build", func() bool { return len(h.out[2]) > 0 })
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again := withSources(t, dir)
	again.attempt.Spec.Build.Command = whole + "; [ -e " + filepath.Join(dir, "go") + " ] || sleep 1000"
	again.run()
	if m := again.ended(); m.Code != 0 || builds(t, dir) != 2 {
		t.Errorf("built %d times: %+v", builds(t, dir), m)
	}
}

func TestABuildThatCannotWorkIsToldBeforeItRuns(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	for want, spoil := range map[string]func(*jobfile.Build){
		"the library no-such-library is not installed here": func(b *jobfile.Build) { b.Needs = []string{"no-such-library"} },
		"the working directory has no folder elsewhere":     func(b *jobfile.Build) { b.Dir = "elsewhere" },
		"build left no bin/*":                               func(b *jobfile.Build) { b.Outputs = []string{"bin/*"} },
	} {
		h := withSources(t, dir)
		spoil(&h.attempt.Spec.Build)
		h.run()
		if m := h.ended(); m.Code < 126 || !strings.Contains(m.Why, want) {
			t.Errorf("told %+v, want %q", m, want)
		}
	}
}
