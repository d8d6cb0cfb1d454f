package storetest

import (
	"context"
	"reflect"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// CheckFlowReplay holds the records of all workflows in a store, and of their tasks, against
// what their logs give when they are replayed, field by field. It returns how many workflows
// it has compared.
func CheckFlowReplay(t testing.TB, s store.Store) int {
	t.Helper()
	ctx := context.Background()
	flows, err := s.ListFlows(ctx, store.FlowFilter{AllOwners: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range flows {
		checkFlow(ctx, t, s, &flows[i])
	}
	return len(flows)
}

func checkFlow(ctx context.Context, t testing.TB, s store.Store, stored *store.Flow) {
	t.Helper()
	log, err := s.ListFlowEntries(ctx, stored.ID)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.ListFlowTasks(ctx, stored.ID)
	if err != nil {
		t.Fatal(err)
	}
	// What it was submitted as is no event.
	flow := store.Flow{ID: stored.ID, Owner: stored.Owner, Key: stored.Key, User: stored.User,
		Submitted: stored.Submitted, Name: stored.Name, Work: stored.Work, Tasks: stored.Tasks}
	told := map[int]*store.FlowTask{}
	for i := range log {
		ev := log[i].Event
		if ev == nil {
			t.Errorf("workflow %d: explained by %+v, which is no event", stored.ID, log[i].Entry)
			continue
		}
		if ev.Kind.IsOfTask() && told[ev.Task] == nil {
			told[ev.Task] = &store.FlowTask{Flow: stored.ID, N: ev.Task}
		}
		flow.ApplyEvent(ev, told[ev.Task])
	}
	if !reflect.DeepEqual(flow, *stored) {
		t.Errorf("workflow %d: its record is\n%+v, its events say\n%+v", stored.ID, *stored, flow)
	}
	if len(tasks) != len(told) {
		t.Errorf("workflow %d: %d tasks have records, and %d events", stored.ID, len(tasks), len(told))
	}
	for i := range tasks {
		if is := told[tasks[i].N]; is == nil || *is != tasks[i] {
			t.Errorf("task %d of workflow %d: its record is\n%+v, its events say\n%+v", tasks[i].N, stored.ID, tasks[i], is)
		}
	}
}
