package storetest

import (
	"errors"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func aFlow(id int64, owner uint32, key string) store.Flow {
	return store.Flow{ID: id, Owner: owner, Key: key, User: "ada", Submitted: core.AtSecond(9), Spec: []byte(`{"a":1}`),
		Name: "wordcount", State: store.FlowRunning, Work: "tree", Tasks: 3, Done: 1, Planned: 2.5, Heuristic: "heft"}
}

func testFlows(f *fixture) {
	first, other := aFlow(1, 7, "k1"), aFlow(2, 8, "k1")
	f.commitBatch(&store.Batch{Flows: []store.Flow{first, other},
		FlowTasks: []store.FlowTask{{Flow: 1, N: 1, Job: 5, Try: 2, Why: "exit code 3"},
			{Flow: 1, N: 0, Job: 4, Done: true, State: core.Done}},
		FlowEntries: []store.FlowEntry{{Flow: 1, Entry: wire.Entry{Kind: "plan", Choice: "a"},
			Event: &core.FlowEvent{Kind: core.FlowPlanned, N: 2, Seconds: 2.5}},
			{Flow: 2, Entry: wire.Entry{Kind: "start"}}}})
	first.State, first.Ended, first.Spec = store.FlowFailed, core.AtSecond(20), nil
	f.commitBatch(&store.Batch{Flows: []store.Flow{first},
		FlowTasks:   []store.FlowTask{{Flow: 1, N: 1, Job: 6, Try: 3, Failed: true}},
		FlowEntries: []store.FlowEntry{{Flow: 1, Entry: wire.Entry{Kind: "end", Choice: "failed"}}}})
	f.crashStore()
	got, err := f.s.FindFlow(f.ctx, 1)
	f.mustSucceed(err)
	if string(got.Spec) != `{"a":1}` || got.Key != "k1" || got.Owner != 7 || got.User != "ada" ||
		got.Submitted != core.AtSecond(9) {
		f.Errorf("the workflow is %+v", got)
	}
	f.checkSame("workflow", got, &first)
	tasks := mustGet[[]store.FlowTask](f)(f.s.ListFlowTasks(f.ctx, 1))
	if len(tasks) != 2 || tasks[0].N != 0 || !tasks[0].Done || tasks[1].N != 1 || tasks[1].Job != 6 || !tasks[1].Failed ||
		tasks[1].Flow != 1 {
		f.Errorf("its tasks are %+v", tasks)
	}
	entries := mustGet[[]store.FlowEntry](f)(f.s.ListFlowEntries(f.ctx, 1))
	if len(entries) != 2 || entries[0].Kind != "plan" || entries[0].Event == nil ||
		*entries[0].Event != (core.FlowEvent{Kind: core.FlowPlanned, N: 2, Seconds: 2.5}) || entries[0].Flow != 1 ||
		entries[1].Choice != "failed" {
		f.Errorf("its decisions are %+v", entries)
	}
	listed := func(filter store.FlowFilter, want ...int64) {
		f.Helper()
		var ids []int64
		for _, flow := range mustGet[[]store.Flow](f)(f.s.ListFlows(f.ctx, filter)) {
			ids = append(ids, flow.ID)
		}
		f.checkSame("workflows", ids, want)
	}
	listed(store.FlowFilter{AllOwners: true}, 2, 1)
	listed(store.FlowFilter{AllOwners: true, Open: true}, 2)
	listed(store.FlowFilter{Owner: 7}, 1)
	listed(store.FlowFilter{AllOwners: true, Limit: 1}, 2)
	listed(store.FlowFilter{Owner: 8, Key: "k1"}, 2)
	if _, err := f.s.FindFlow(f.ctx, 3); !errors.Is(err, store.ErrNoFlow) {
		f.Errorf("a workflow that there is not: %v", err)
	}
	for what, wrong := range map[string]store.Batch{
		"a second one of its owner and key": {Flows: []store.Flow{aFlow(3, 7, "k1")}},
		"one without a key":                 {Flows: []store.Flow{aFlow(3, 7, "")}},
		"one without a description":         {Flows: []store.Flow{{ID: 3, Key: "x", State: store.FlowRunning}}},
		"a task of no workflow":             {FlowTasks: []store.FlowTask{{N: 1}}},
	} {
		if err := f.s.CommitBatch(f.ctx, &wrong); err == nil {
			f.Errorf("%s was stored", what)
		}
	}
}

func testFlowRoots(f *fixture) {
	made := aJob(1)
	made.State, made.Work, made.Result, made.StagedOut = core.Done, "worktree", "result", true
	flow := aFlow(1, 0, "k")
	f.commitBatch(&store.Batch{Jobs: []store.Job{made}, Flows: []store.Flow{flow},
		FlowTasks: []store.FlowTask{{Flow: 1, Job: 1, Done: true}}})
	f.checkSame("trees", mustGet[[]string](f)(f.s.ListRoots(f.ctx)), []string{"result", "tree", "worktree"})
	flow.State, flow.Spec = store.FlowCompleted, nil
	f.commitBatch(&store.Batch{Flows: []store.Flow{flow}})
	if roots := mustGet[[]string](f)(f.s.ListRoots(f.ctx)); len(roots) != 0 {
		f.Errorf("the trees %q are needed after its end", roots)
	}
}
