package skeletons

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCorrelation(t *testing.T) {
	if r := Correlation([]float64{1, 2, 3}, []float64{5, 7, 9}); math.Abs(r-1) > 1e-12 {
		t.Error(r)
	}
	if r := Correlation([]float64{1, 2, 3}, []float64{9, 7, 5}); math.Abs(r+1) > 1e-12 {
		t.Error(r)
	}
	if r := Correlation([]float64{1, 2, 1, 2}, []float64{1, 1, 2, 2}); math.Abs(r) > 1e-12 {
		t.Error(r)
	}
}

func TestTheReportHasItsFigures(t *testing.T) {
	dir := t.TempDir()
	r := &Result{Part: 0.25, Programs: []Measured{{Name: "cg", Scale: 0.25, Alone: 1, Slowest: []float64{10, 50},
		Skeleton: [][]float64{{1, 1.2}, {2.4, 2}}, Program: [][]float64{{4, 4.4}, {10, 11}}, Load: "1 2 3"}, {Name: "is"}}}
	path, err := r.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text),
		"| cg  | 1.00 s | 25.0 % | 2 | 4.00 to 10.00 s | **1.000** | 10 % | 20 % | +10 %, +20 % | 1 2 3 |") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "skeletons", "skeletons.svg")); err != nil {
		t.Error(err)
	}
	next := &Result{Part: 0.25, Programs: []Measured{{Name: "bt", Scale: 0.5, Skeleton: [][]float64{{1}, {2}},
		Program: [][]float64{{2}, {4}}}}}
	if path, err = next.Write(dir); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(path); err != nil || !strings.Contains(string(text), "| bt ") ||
		!strings.Contains(string(text), "| cg ") {
		t.Errorf("what was measured before is gone: %v\n%s", err, text)
	}
}

func TestTheReportInTheDocumentationIsThatOfTheNumbersBesideIt(t *testing.T) {
	const docs = "../../../docs/experiments"
	r, err := Read(filepath.Join(docs, "skeletons", "skeletons.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"skeletons.md", "skeletons/skeletons.svg", "skeletons/skeletons.csv"} {
		now, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if there, err := os.ReadFile(filepath.Join(docs, name)); err != nil || string(there) != string(now) {
			t.Errorf("docs/experiments/%s is another (%v): godwit-experiments skeletons --from "+
				"docs/experiments/skeletons/skeletons.json", name, err)
		}
	}
}

func TestResultsThatLackARunAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skeletons.json")
	for text, want := range map[string]string{
		"{}":  "programs: missing",
		"[1]": "not the results of this experiment",
		`{"Programs": [{"Name": "cg", "Scale": 1, "Program": [[1], [2]], "Skeleton": [[1], []]}]}`: `"cg": expected a run`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Read(path + ".not"); err == nil || !strings.HasPrefix(err.Error(), "cannot read ") {
		t.Error(err)
	}
}
