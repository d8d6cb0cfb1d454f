package pastruns

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/observe/history"
)

func TestARunIsNotedWithItsProgramAndWithAll(t *testing.T) {
	pi, all, other := programKey{"ada", "pi"}, programKey{"ada", AnyProgram}, programKey{"ada", "sort"}
	c := &Cache{of: map[programKey][]history.Run{pi: nil, all: nil, other: nil}}
	c.AddRun("ada", history.Run{Job: 7, Program: "pi", Cluster: "here", Outcome: history.Lost})
	if len(c.of[pi]) != 1 || len(c.of[all]) != 1 || len(c.of[other]) != 0 || c.lost["here"] != 1 {
		t.Errorf("%+v", c)
	}
}
