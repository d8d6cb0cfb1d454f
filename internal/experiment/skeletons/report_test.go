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
	if err != nil || !strings.Contains(string(text), "| cg  | 1.00 s | 25.0 % | 2 | 4.00 to 10.00 s | **1.000** | 10 % | 20 % | +10 %, +20 % | 1 2 3 |") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "skeletons", "skeletons.svg")); err != nil {
		t.Error(err)
	}
	next := &Result{Part: 0.25, Programs: []Measured{{Name: "bt", Scale: 0.5, Skeleton: [][]float64{{1}, {2}}, Program: [][]float64{{2}, {4}}}}}
	if path, err = next.Write(dir); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(path); err != nil || !strings.Contains(string(text), "| bt ") || !strings.Contains(string(text), "| cg ") {
		t.Errorf("what was measured before is gone: %v\n%s", err, text)
	}
}
