package storetest

import (
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func testArrays(f *fixture) {
	a := store.Array{ID: 5, User: "ada", Submitted: core.AtSecond(9), Spec: aSpec(),
		Template: store.Job{Work: "tree", Deadline: core.AtSecond(60)},
		Seed:     1 << 63, Count: 100, Next: 2, Why: "user estimate",
		Each: []store.EachWait{{Array: 3, Indices: jobfile.ArrayRange{First: 1, Last: 100, Step: 1}, When: jobfile.Over}}}
	first := a.ElementRecord(0, 1)
	f.commitBatch(&store.Batch{Arrays: []store.Array{a}, Jobs: []store.Job{first}})
	f.crashStore()
	l := f.loadState()
	if l.NextJob != 105 || len(l.Arrays) != 1 || l.Arrays[0].ID != 5 {
		f.Fatalf("the next job is %d, arrays %+v", l.NextJob, l.Arrays)
	}
	f.checkSame("array", l.Arrays, []store.Array{a})
	f.checkSame("elements", l.Arrays[0].ElementRecord(70, 3), a.ElementRecord(70, 3))
	if roots := mustGet[[]string](f)(f.s.ListRoots(f.ctx)); len(roots) != 1 || roots[0] != "tree" {
		f.Errorf("the trees %q are needed", roots)
	}
	ahead := a.ElementRecord(50, 7)
	a.Next = 10
	f.commitBatch(&store.Batch{Arrays: []store.Array{a}, Jobs: []store.Job{ahead}})
	if list := mustGet[[]store.Job](f)(f.s.ListJobs(f.ctx, store.Filter{Parent: 5, From: 15})); len(list) != 1 ||
		list[0].ID != 55 || list[0].Unique != a.UniqueID(50) {
		f.Errorf("ahead of the others are %+v", list)
	}
	if l := f.loadState(); l.Arrays[0].Next != 10 {
		f.Errorf("it goes on with element %d", l.Arrays[0].Next)
	}
	a.Next = 100
	f.commitBatch(&store.Batch{Arrays: []store.Array{a}})
	if l := f.loadState(); len(l.Arrays) != 0 {
		f.Errorf("an array that is complete is still there: %+v", l.Arrays)
	}
	if err := f.s.CommitBatch(f.ctx, &store.Batch{Arrays: []store.Array{{ID: 7}}}); err == nil {
		f.Error("an array without a description was stored")
	}
}
