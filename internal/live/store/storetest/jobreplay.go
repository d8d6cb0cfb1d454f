package storetest

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// lifeFields are the fields of a record that the log of events alone decides.
var lifeFields = []string{"State", "Epoch", "Cluster", "Procs", "Started", "Ended", "Code", "Runs", "Losses",
	"Migrations"}

// replayRecords is the records of all jobs as the events tell them.
func replayRecords(events []core.Event) map[core.JobID]*store.Job {
	clusters, jobs := map[core.ClusterID]string{}, map[core.JobID]*store.Job{}
	for i := range events {
		ev := &events[i]
		switch ev.Kind {
		case core.ClusterDefined:
			clusters[ev.Cluster] = ev.Grid.Name
		case core.JobSubmitted:
			jobs[ev.Job] = &store.Job{ID: ev.Job}
		}
		if j := jobs[ev.Job]; j != nil {
			j.ApplyEvent(ev, clusters[ev.Cluster])
		}
	}
	return jobs
}

// CheckJobReplay holds the records in a store against its log, field by field, and what
// `godwit explain` shows as decided against the moments of events; and the decisions in the
// log against what the engine decides when it is told the same again. It returns how many
// jobs it has compared.
func CheckJobReplay(t testing.TB, s store.Store) int {
	t.Helper()
	CheckDecisions(t, s)
	ctx := context.Background()
	l, err := s.LoadState(ctx)
	if err != nil || l.First > 1 { // the log has no beginning
		return 0
	}
	stored, err := s.ListJobs(ctx, store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	moments := map[core.JobID]map[core.Time]bool{}
	for i := range l.Events {
		ev := &l.Events[i]
		if moments[ev.Job] == nil {
			moments[ev.Job] = map[core.Time]bool{}
		}
		moments[ev.Job][ev.At] = true
	}
	told, compared := replayRecords(l.Events), 0
	for i := range stored {
		j := told[stored[i].ID]
		if j == nil {
			continue // an element of an array whose turn has not come
		}
		compared++
		for _, field := range lifeFields {
			is, was := reflect.ValueOf(stored[i]).FieldByName(field), reflect.ValueOf(*j).FieldByName(field)
			if !reflect.DeepEqual(is.Interface(), was.Interface()) {
				t.Errorf("job %d: its record has %s %v, its events say %v", j.ID, field, is, was)
			}
		}
		if strings.Contains(j.Reason, "has been drained") && stored[i].Reason != j.Reason {
			t.Errorf("job %d: its record says %q of a drain, its events %q", j.ID, stored[i].Reason, j.Reason)
		}
		entries, err := s.ListEntries(ctx, j.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if slices.Contains([]string{"place", "hosts", "wait", "move", "stay", "decide", "end"}, e.Kind) &&
				!moments[j.ID][e.At] {
				t.Errorf("job %d: explained by %+v, of which the log knows nothing", j.ID, e)
			}
		}
	}
	return compared
}
