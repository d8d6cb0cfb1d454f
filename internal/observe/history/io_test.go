package history

import (
	"slices"
	"testing"
)

func TestWhatAProgramMovedBeforeItWillMoveAgain(t *testing.T) {
	var rows []Run
	for _, mb := range []float64{95, 100, 105, 0.1} {
		rows = append(rows, Run{Program: "p", Args: []string{"1"}, Outcome: Finished, Bytes: mb * (1 << 20), Share: mb / 200})
	}
	rows = append(rows, Run{Program: "p", Args: []string{"1"}, Outcome: Lost, Bytes: 1e12, Share: 1},
		Run{Program: "q", Outcome: Finished, Share: 1})
	q := EstimateBytes(rows, "p", []string{"1"})
	if len(q) != NLevels || !slices.IsSorted(q) || q[6] < 95<<20 || q[6] > 105<<20 {
		t.Errorf("it moves %v bytes, want about 100 MB", q)
	}
	if q := EstimateBytes(rows, "p", []string{"2"}); q != nil {
		t.Errorf("with arguments that nobody has tried it moves %v", q)
	}
	if d := DutyShare(rows, "p"); d != 0.525 {
		t.Errorf("it takes %g of its processor, want 0.525", d)
	}
	if d := DutyShare(rows, "r"); d != 0 {
		t.Errorf("a program that has never run takes %g", d)
	}
}
