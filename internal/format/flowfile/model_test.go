package flowfile

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// A model says what each instance of a sweep needs, by the size that it has.
func TestAModelEstimatesEachInstanceBySize(t *testing.T) {
	dir := t.TempDir()
	m := &perfmodel.Model{Name: "x", Command: []string{"x", "{n}"}, Counter: perfmodel.CounterTime,
		Host: perfmodel.Host{Name: "h", Operations: 1e9, Flops: 1e9, Speed: 1, Page: 4096}}
	for _, n := range []float64{100, 200, 400, 800} { // a millisecond for each unit
		m.Runs = append(m.Runs, perfmodel.Run{Size: n, Count: 1e6 * n, CPU: 1e-3 * n, Faults: 70, Runs: 5})
	}
	if err := m.BuildCurves(); err != nil {
		t.Fatal(err)
	}
	text, err := m.EncodeFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.model"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := read(t, dir, "version: 1\ntasks: [{id: a, run: 'x {n}', sweep: {n: [1000, 4000]}, estimate: {model: "+
		"x.model, size: '{n}'}}]")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 4} {
		task := f.Tasks[i]
		if got := task.Estimate.Seconds(); math.Abs(got/want-1) > 0.05 || task.Job.EstimateBy != "x.model" ||
			task.Job.EstimateSpread <= 0 {
			t.Errorf("%s takes %.3f s by %q, give or take %.2f; want %g s", task.ID, got, task.Job.EstimateBy,
				task.Job.EstimateSpread, want)
		}
	}
	for estimate, want := range map[string]string{
		"{model: x.model}":                   "both a model and a size",
		"{size: 4}":                          "both a model and a size",
		"{model: x.model, size: 4, uh: 3m}":  "both a model and a size",
		"{model: none.model, size: 4}":       `estimate.model "none.model": a model that godwit model fit wrote`,
		"{model: x.model, size: '{n}'}":      `estimate size "{n}": expected a size at which the model`,
		"{model: x.model, size: -1}":         `estimate size "-1": expected a size at which the model`,
		"{model: x.model, size: 1e14}":       "less than a hundred years",
		"{model: x.model, size: [1, 2, 3]}":  "the size at which the program is to run",
		"{model: {a: b}, size: 4}":           "a file that godwit model fit wrote",
		"{model: x.model, size: not-at-all}": `estimate size "not-at-all"`,
	} {
		_, err := read(t, dir, "version: 1\ntasks: [{id: a, run: x, estimate: "+estimate+"}]")
		if err == nil || !badinput.Is(err) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `task "a"`) {
			t.Errorf("%s is told as %v, want %s", estimate, err, want)
		}
	}
}
