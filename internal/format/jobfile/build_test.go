package jobfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

func TestABuildIsALineOrASection(t *testing.T) {
	for text, want := range map[string]Build{
		"build: make":                      {Command: "make"},
		"build: {command: make, dir: src}": {Command: "make", Dir: "src"},
		"build:\n  command: make all\n  outputs: [bin/*, lib]\n  needs: [fftw3, m]": {Command: "make all",
			Outputs: []string{"bin/*", "lib"}, Needs: []string{"fftw3", "m"}},
	} {
		j, _, err := readText(t, t.TempDir(), "run: ./x\n"+text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Build); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

// writeModel writes a model of a program that takes 2 ms for each unit of size, on
// a host of twice the reference's speed.
func writeModel(t *testing.T, dir string) {
	t.Helper()
	host := perfmodel.Host{Name: "h", Operations: 1e9, Flops: 1e9, Speed: 2, Page: 4096}
	m := &perfmodel.Model{Name: "x", Command: []string{"x", "{n}"}, Counter: perfmodel.CounterTime, Host: host}
	for _, n := range []float64{100, 200, 400, 800} {
		m.Runs = append(m.Runs, perfmodel.Run{Size: n, Count: 2e6 * n, CPU: 2e-3 * n, Faults: 70, Runs: 5})
	}
	err := m.BuildCurves()
	if err == nil {
		var text []byte
		if text, err = m.EncodeFile(); err == nil {
			err = os.WriteFile(filepath.Join(dir, "x.model"), text, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEstimateMayComeFromAModel(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir)
	j, _, err := readText(t, dir, "run: ./x 1000\nestimate: {model: x.model, size: 1000}")
	if err != nil {
		t.Fatal(err)
	}
	// 2 s there, so 4 s on the reference host.
	if d := j.Estimate; d < 3900*time.Millisecond || d > 4100*time.Millisecond || j.EstimateBy != "x.model" ||
		j.EstimateSpread < 0.01 || j.EstimateSpread > 0.5 {
		t.Errorf("%v by %q, give or take %v", d, j.EstimateBy, j.EstimateSpread)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.model"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"{model: bad.model, size: 5}":  "a model as godwit model fit writes it",
		"{model: x.model, size: 0}":    "size",
		"{model: x.model, size: 1e14}": "less than a hundred years",
		"{size: 5}":                    "model",
	} {
		if _, _, err := readText(t, dir, "run: ./x\nestimate: "+text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAnEstimateOnTheCommandLineGoesOverAModel(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir)
	o := options(dir)
	o.Set = slices.Concat(o.Set, []Setting{{"estimate", "7s"}})
	file := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(file, []byte("run: ./x\nestimate: {model: x.model, size: 1000}"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, _, err := readFile(file, o)
	if err != nil || j.Estimate != 7*time.Second || j.EstimateBy != "" || j.EstimateSpread != 0 {
		t.Errorf("%+v %v", j, err)
	}
}
