package broker

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/observe/history"
)

func TestARunIsNotedWithItsProgramAndWithAll(t *testing.T) {
	pi, all, other := pastKey{"ada", "pi"}, pastKey{"ada", anyProgram}, pastKey{"ada", "sort"}
	p := &pastRuns{of: map[pastKey][]history.Run{pi: nil, all: nil, other: nil}}
	p.addRun(pi, history.Run{Job: 7, Program: "pi", Cluster: "here", Outcome: history.Lost})
	if len(p.of[pi]) != 1 || len(p.of[all]) != 1 || len(p.of[other]) != 0 || p.lost["here"] != 1 {
		t.Errorf("%+v", p)
	}
}
