package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/policy/flow"
)

// workflows are the shipped ones and a sample of the recorded ones, from
// GODWIT_DATA or beside the module.
func workflows(t *testing.T, every int) []string {
	t.Helper()
	files, _ := filepath.Glob("../../examples/flows/*.json")
	if len(files) == 0 {
		t.Fatal("no workflows in examples/flows")
	}
	dir := os.Getenv("GODWIT_DATA")
	if dir == "" {
		dir = "../../../shared/data"
	}
	recorded, _ := filepath.Glob(filepath.Join(dir, "workflows", "*", "*.json.gz"))
	if len(recorded) == 0 {
		t.Logf("no recorded workflows in %s: only those of examples/flows are planned", dir)
	}
	for i := 0; i < len(recorded); i += every {
		files = append(files, recorded[i])
	}
	return files
}

func TestPlansOfRealWorkflowsHoldAndAreAtMostThoseOfHEFT(t *testing.T) {
	var gain, plans float64
	for _, platform := range []string{"hetero8", "hetero64", "hetero512"} {
		_, g, err := loadGrid("../../examples/platforms/" + platform + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range workflows(t, 11) {
			w, err := loadWfFormat(file)
			if err != nil {
				t.Fatal(err)
			}
			d := w.dag
			heft, err := flow.New(d, g, flow.Options{Heuristics: []string{flow.HEFT}})
			if err != nil {
				t.Fatal(err)
			}
			budget := func(float64) flow.Budget { return flow.Budget{Steps: 2000, Seed: 1} }
			p, err := flow.New(d, g, flow.Options{Budget: budget})
			if err != nil {
				t.Fatal(err)
			}
			if err := flow.Check(d, g, p.Schedule); err != nil {
				t.Errorf("%s on %s: %v", file, platform, err)
			}
			if p.Schedule.Makespan > heft.Schedule.Makespan || p.Schedule.Makespan < p.Bound*(1-1e-9) {
				t.Errorf("%s on %s: makespan %v, HEFT %v, bound %v", file, platform, p.Schedule.Makespan, heft.Schedule.Makespan, p.Bound)
			}
			gain += 1 - p.Schedule.Makespan/heft.Schedule.Makespan
			plans++
		}
	}
	t.Logf("%.0f plans, %.2f %% shorter than HEFT's in the mean", plans, 100*gain/plans)
}

func TestTransferTimesFollowTheRoutesOfThePlatform(t *testing.T) {
	_, g, err := loadGrid("../../examples/platforms/hetero8.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// 45 MB from the partner to a desktop: 0.05 + 20 + 0.5 + 0.3 ms, and 8 s at
	// the 45 Mbit/s of the long line.
	d, err := flow.NewDAG([]flow.Task{{Name: "a", Work: 2.4}, {Name: "b", Work: 0.6}}, []flow.Edge{{From: 0, To: 1, Bytes: 45e6}})
	if err != nil {
		t.Fatal(err)
	}
	begin := 1 + 0.02085 + 8
	s := &flow.Schedule{Slots: []flow.Slot{{Host: 6, Start: 0, End: 1}, {Host: 0, Start: begin, End: begin + 1}}, Makespan: begin + 1}
	if err := flow.Check(d, g, s); err != nil {
		t.Error(err)
	}
	s.Slots[1].Start, s.Slots[1].End, s.Makespan = begin-1e-3, begin-1e-3+1, begin-1e-3+1
	if err := flow.Check(d, g, s); err == nil {
		t.Error("a file that arrives a millisecond too late was accepted")
	}
}

func TestAPlanCanBeMadeOnASimGridPlatform(t *testing.T) {
	_, g, err := loadGrid("../platform/testdata/simgrid/campus.xml")
	if err != nil {
		t.Fatal(err)
	}
	w, err := loadWfFormat("../../examples/flows/mosaic.json")
	if err != nil {
		t.Fatal(err)
	}
	d := w.dag
	p, err := flow.New(d, g, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := flow.Check(d, g, p.Schedule); err != nil {
		t.Error(err)
	}
}
