package grads

import (
	"os"
	"path/filepath"
	"testing"
)

const scenarios = "../../../scenarios/grads"

func TestTheSecondApplicationMovesWhenTheFirstHasEnded(t *testing.T) {
	r, err := Simulate(t.Context(), scenarios)
	if err != nil {
		t.Fatal(err)
	}
	c := &r.Opportunistic.Cases[0]
	if !c.Moved || c.Decided >= c.Opposite {
		t.Errorf("moved %v, ended after %.0f s, and after %.0f s with the opposite decision", c.Moved, c.Decided, c.Opposite)
	}
	if right, all := r.CountRight(); right != all || all < 20 {
		t.Errorf("%d of %d decisions are right", right, all)
	}
}

// The report that lies in docs is what the scenarios give today.
func TestTheReportInDocsIsThatOfTheScenarios(t *testing.T) {
	r, err := Simulate(t.Context(), scenarios)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"grads.md", "grads/sweeps.svg"} {
		want, err := os.ReadFile(filepath.Join("../../../docs/experiments", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("docs/experiments/%s is not what `godwit-experiments grads` writes", name)
		}
	}
}
