package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made are results of runs whose predictions are off by a part of what is left.
func made(runs int, off, width float64) *Results {
	r := &Results{Plan: Plan{Learn: 3}}
	all := AllPrograms()
	for n := range runs {
		run := Run{N: n, Program: all[n%len(all)].Name, Load: nothing, Took: 10, CPU: 1, Machine: "0.50 0.40 0.30"}
		for at := 0.5; at < 10; at += 0.5 {
			left := 10 - at
			mid := left * (1 + off)
			run.Points = append(run.Points, Point{At: at, Mid: at + mid, Early: at + mid*(1-width), Late: at + mid*(1+width)})
		}
		r.Runs = append(r.Runs, run)
	}
	return r
}

func TestTheReportSaysWhetherWhatIsWantedHolds(t *testing.T) {
	good := made(100, 0.05, 0.3)
	for n := range 10 { // one in ten ends outside its band
		for i := range good.Runs[10*n].Points {
			p := &good.Runs[10*n].Points[i]
			p.Early = p.Mid
		}
	}
	for _, c := range []struct {
		r            *Results
		error, bands bool
	}{{good, true, true}, {made(100, 0.3, 0.4), false, false}, {made(100, 0.05, 0.01), true, false},
		{&Results{}, false, false}} {
		s := c.r.CheckStatements()
		if s[0].Holds != c.error || s[1].Holds != c.bands {
			t.Errorf("%+v", s)
		}
	}
	dir := t.TempDir()
	alone := made(20, 0.3, 0.4)
	alone.Plan.AtOnce = 1
	path, err := alone.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "**does not hold**") ||
		!strings.Contains(string(text), "| `mixed` | 2 |") ||
		!strings.Contains(string(text), "one at a time") || !strings.Contains(string(text), "median 0.5, from 0.5 to 0.5") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestARunIsJudgedFourTimes(t *testing.T) {
	run := made(1, 0.1, 0.2).Runs[0]
	if list := run.JudgedPredictions(); len(list) != 4 || list[0].Actual > 6.7 || list[3].Actual < 1 {
		t.Errorf("%+v", list)
	}
}

func TestALineThatWasOnlyBegunIsLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs")
	whole := `{"Plan": {"Learn": 3}}` + "\n" + `{"N": 4, "Program": "pi", "Took": 3}` + "\n" +
		`{"N": -1, "Program": "pi", "Took": 3}` + "\n"
	if err := os.WriteFile(path, []byte(whole+`{"N": 5, "Prog`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Read(path); err != nil || len(r.Runs) != 1 || r.Plan.Learn != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(path, []byte(whole+"what\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("nonsense is read")
	}
}

func TestThereAreTenProgramsAndTheirScriptsAreHere(t *testing.T) {
	all := AllPrograms()
	names := map[string]bool{}
	for i := range all {
		p := &all[i]
		names[p.Name] = true
		if len(p.argv(1)) == 0 || fmt.Sprint(p.argv(1)) == fmt.Sprint(p.argv(4)) {
			t.Errorf("%s is run as %v", p.Name, p.argv(4))
		}
		if !strings.HasPrefix(p.files[0], "scripts/") {
			continue
		}
		dir, err := p.makeFolder(t.TempDir(), "none")
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.Base(p.files[0]))); err != nil {
			t.Error(err)
		}
	}
	if len(names) != 10 {
		t.Errorf("%v", names)
	}
}
