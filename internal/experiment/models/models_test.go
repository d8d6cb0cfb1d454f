package models

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// seen is a case with one right and two wrong predictions.
func seen(name string, heldOut bool) Case {
	curve := perfmodel.Curve{From: 1, To: 2,
		Formulas: []perfmodel.Formula{{Terms: []perfmodel.Term{{Power: 1}}, Factors: []float64{1}, Weight: 1}}}
	c := Case{Name: name, HeldOut: heldOut,
		Model: &perfmodel.Model{Counter: perfmodel.CounterTime, Work: curve, Faults: curve,
			Host: perfmodel.Host{Operations: 1, Speed: 1}, Slow: 1}}
	for i, f := range factors {
		c.Checked = append(c.Checked, Check{Factor: f, Size: f, Predicted: perfmodel.Band{Value: 1, Low: 0.8, High: 1.2},
			Measured: 1 + 0.5*float64(i), Runs: []float64{1, 2},
			Before: 1, Slow: 1.5, Known: perfmodel.Band{Value: 1.5}})
	}
	return c
}

func TestProgramsThatWereHeldOutAreToldApart(t *testing.T) {
	r := new(Results)
	r.putCase(seen("gauss", true))
	r.putCase(seen("sort", false))
	r.putCase(seen("matmul", false))
	r.putCase(seen("sort", false)) // once more: in the place of the first
	if len(r.Cases) != 3 || r.Cases[0].Name != "matmul" || r.Cases[2].Name != "gauss" {
		t.Fatalf("%+v", r.Cases)
	}
	if s := r.SummaryAt(2, false); s != (Summary{Error: 0, Known: 0.5, Hold: 2, All: 2, Runs: 2, Seen: 4}) {
		t.Errorf("%+v", s)
	}
	if s := r.SummaryAt(0, true); s.Hold != 1 || s.All != 3 || s.Error < 0.27 || s.Error > 0.28 { // a third and a half off
		t.Errorf("%+v", s)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(text)
	if err != nil || again.SummaryAt(0, true) != r.SummaryAt(0, true) {
		t.Errorf("%+v %v", again, err)
	}
	path, err := again.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(report), "| held out | all | 27.8 % | 1 of 3 | 50 % | 25.0 % |") {
		t.Errorf("%s %v", report, err)
	}
}

func TestRepeatsAreKeptBesideEachOther(t *testing.T) {
	r := new(Results)
	r.StartRepeat() // the first: nothing was seen before
	r.putCase(seen("sort", false))
	r.StartRepeat()
	off := seen("sort", false)
	off.Checked[2].Measured = 1 // right, where it was off by half of what was measured
	r.putCase(off)
	r.putCase(seen("gauss", true))
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Decode(text); err != nil {
		t.Fatal(err)
	}
	if got := r.RepeatErrors(10, false); !slices.Equal(got, []float64{0.5, 0}) {
		t.Errorf("errors %v", got)
	}
	if got := r.RepeatErrors(10, true); !slices.Equal(got, []float64{0.5}) {
		t.Errorf("errors of the held out %v", got)
	}
	report, err := r.reportText()
	for _, row := range []string{
		"\n| 1 | 50.0 % | 25.0 % | 0 of 1 | – | – | – | 1.50 to 1.50 |\n",
		"\n| 2 | 0.0 % | 50.0 % | 1 of 1 | 50.0 % | 25.0 % | 0 of 1 | 1.50 to 1.50 |\n",
		"\n| examples | 10 | 0.0 % | 1 of 1 |",
	} {
		if err != nil || !strings.Contains(report, row) {
			t.Errorf("no %q in %s (%v)", row, report, err)
		}
	}
	r.Earlier[0][0].Model = nil
	if text, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(text); err == nil {
		t.Error("an earlier repeat without a model is taken")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"cases":[{"name":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := Decode(text); err == nil && len(r.Cases) > 0 {
			if _, err := r.reportText(); err != nil {
				t.Error(err)
			}
		}
	})
}
