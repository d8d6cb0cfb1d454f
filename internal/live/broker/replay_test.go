package broker_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
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

// checkReplay holds the records in a store against its log, field by field, and what
// `godwit explain` shows as decided against the moments of events. It returns how many
// jobs it has compared.
func checkReplay(t *testing.T, s store.Store) int {
	t.Helper()
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

// The log of a live run, with jobs that depend on others, arrays, a begin time, retries, a
// move and a restart of the broker, gives the same records when it is replayed.
func TestTheLogGivesTheSameRecords(t *testing.T) {
	g := newGrid(t)
	moved := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(moved, core.Running)
	to := map[string]string{"a": "b", "b": "a"}[a.Cluster]
	done := make(chan error, 1)
	go func() {
		_, err := g.broker().MigrateJob(context.Background(), fmt.Sprint(moved), to)
		done <- err
	}()
	a.order(t, wire.Stop)
	a.say(wire.Message{Kind: wire.Left, Saved: &wire.Saved{Method: "sandbox", Work: "w", Image: "i"}})
	b := g.next()
	b.run()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	next := g.submit(jobfile.Job{After: after(jobfile.WentWell, moved)})
	never := g.submit(jobfile.Job{After: after(jobfile.Failed, moved)})
	later := g.submit(jobfile.Job{Begin: time.Hour})
	g.kill() // everything that waits is known to the next broker
	g.up()
	b.connect()
	b.end(0)
	g.until(moved, core.Done)
	g.untilOver(never)
	c := g.next()
	c.run()
	c.end(3)
	g.until(next, core.Failed)
	retried := g.submit(jobfile.Job{Retries: 1, RetryOn: []string{jobfile.RetryFailed}})
	for range 2 {
		d := g.next()
		d.run()
		d.end(4)
	}
	g.until(retried, core.Failed)
	array := g.submitArray(complete(jobfile.Job{Array: jobfile.ArrayRange{First: 1, Last: 3, Step: 1, AtOnce: 1}}))
	for range array {
		d := g.next()
		d.run()
		d.end(0)
	}
	for _, id := range array {
		g.until(id, core.Done)
	}
	if _, err := g.broker().CancelJob(t.Context(), fmt.Sprint(later)); err != nil {
		t.Fatal(err)
	}
	g.untilOver(later)
	g.kill()
	if n := checkReplay(t, g.store); n != 5+len(array) {
		t.Errorf("%d jobs were compared", n)
	}
}
