package pastruns

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestARunIsNotedWithItsProgramAndWithAll(t *testing.T) {
	pi, all, other := programKey{"ada", "pi"}, programKey{"ada", AnyProgram}, programKey{"ada", "sort"}
	c := &Cache{of: map[programKey]runList{pi: {}, all: {}, other: {}}}
	c.AddRun("ada", history.Run{Job: 7, Program: "pi", Cluster: "here", Outcome: history.Lost})
	if len(c.of[pi].runs) != 1 || len(c.of[all].runs) != 1 || len(c.of[other].runs) != 0 || c.lost["here"] != 1 {
		t.Errorf("%+v", c)
	}
}

func TestTheNewestRunsAreListedAndThoseGivenOutStay(t *testing.T) {
	var l runList
	var givenOut [][]history.Run
	for n := 1; n <= 3*runsPerEstimate; n++ {
		l = l.putFirst(history.Run{Job: core.JobID(n)})
		givenOut = append(givenOut, l.runs)
	}
	for i, runs := range givenOut {
		newest := i + 1
		if len(runs) != min(newest, runsPerEstimate) {
			t.Fatalf("%d runs are listed after %d", len(runs), newest)
		}
		for k := range runs {
			if runs[k].Job != core.JobID(newest-k) {
				t.Fatalf("run %d after %d is of job %d", k, newest, runs[k].Job)
			}
		}
	}
}
