package broker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store/storetest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The log of a live run, with jobs that depend on others, arrays, a begin time, retries, a
// move, a drain and restarts of the broker, gives the same records when it is replayed.
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
	g.drain("new disks", "a", "b")
	drained := g.submit(jobfile.Job{})
	g.undrain("b")
	d := g.nextOf(drained)
	d.run()
	d.end(0)
	g.until(drained, core.Done)
	waits := g.submit(jobfile.Job{On: []string{"a"}})
	if why := g.view(waits).Reason; !strings.Contains(why, "cluster a has been drained by u since") {
		t.Errorf("it waits because %s", why)
	}
	g.kill()
	g.up() // which brings no other reason
	g.kill()
	if n := storetest.CheckJobReplay(t, g.store); n != 7+len(array) {
		t.Errorf("%d jobs were compared", n)
	}
	if n := storetest.CheckDecisions(t, g.store); n < 3*(7+len(array)) {
		t.Errorf("%d steps were decided again", n)
	}
}
