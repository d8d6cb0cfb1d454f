package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// newManagedGrid is a grid whose cluster a has a queue of its own, in which jobs of one processor at most may wait, and
// of whose two processors others hold some.
func newManagedGrid(t *testing.T, others int) *grid {
	t.Helper()
	g := newGrid(t)
	g.kill()
	g.a.own, g.maxQueue = true, 1
	g.a.setUsage(2, others)
	g.up()
	return g
}

// held waits until the broker shows that others hold so many processors of a.
func (g *grid) held(others, idle int) {
	g.t.Helper()
	g.shown(func(views []broker.ClusterView) bool { return views[0].Others == others && views[0].Idle == idle })
}

func TestAJobIsPlacedWhereOthersHoldNothing(t *testing.T) {
	for others, want := range map[int]string{0: "a", 2: "b"} {
		g := newManagedGrid(t, others)
		g.submit(jobfile.Job{})
		if a := g.next(); a.Cluster != want {
			t.Errorf("others hold %d processors of a: it is started in %s", others, a.Cluster)
		}
	}
}

func TestAJobWaitsForProcessorsThatOthersHold(t *testing.T) {
	g := newManagedGrid(t, 1)
	id := g.submit(jobfile.Job{Min: 2, Max: 2, On: []string{"a"}})
	g.waits(id, "waiting for 2 cores")
	g.held(1, 1)
	if n := g.a.startCalls(); n > 0 {
		t.Errorf("it was started %d times", n)
	}
	g.a.setUsage(2, 0)
	a := g.next()
	if a.Job != id || a.Cluster != "a" {
		t.Fatalf("job %d is started in %s", a.Job, a.Cluster)
	}
	a.run()
	g.until(id, core.Running)
	g.held(0, 0) // what we hold ourselves is not others'
	a.end(0)
	g.until(id, core.Done)
}

func TestPartsAreNotClaimedWhereOthersHoldTheProcessors(t *testing.T) {
	g := newManagedGrid(t, 1)
	id := g.submit(twoParts())
	g.waits(id, "waiting for 2 cores")
	if n := g.a.startCalls() + g.b.startCalls(); n > 0 {
		t.Errorf("%d parts were claimed", n)
	}
	g.a.setUsage(2, 0)
	for _, a := range g.nextParts() {
		a.ready()
	}
}

// Where the settings offer only some of the processors others hold the rest first.
func TestOthersHoldFirstWhatIsNotOffered(t *testing.T) {
	g := newManagedGrid(t, 0)
	for _, c := range []struct{ procs, others, held int }{
		{10, 5, 0}, {10, 8, 0}, {10, 9, 1}, {10, 10, 2}, {10, 99, 2}, {2, -3, 0},
		{1, 0, 1}, // a host is down that was there when it was asked what it consists of
	} {
		g.a.setUsage(c.procs, c.others)
		g.held(c.held, 2-c.held)
	}
}

func TestTheNextBrokerCountsOthersAnew(t *testing.T) {
	g := newManagedGrid(t, 2)
	id := g.submit(jobfile.Job{Min: 2, Max: 2, On: []string{"a"}})
	g.waits(id, "waiting for 2 cores")
	g.kill()
	g.up()
	g.waits(id, "waiting for 2 cores")
	g.kill()
	g.a.setUsage(2, 0)
	g.up()
	if a := g.next(); a.Job != id {
		t.Errorf("job %d is started", a.Job)
	}
}

// Who lists the clusters and then submits a job meets what was shown, although nobody looks at the clusters meanwhile.
func TestWhatIsShownOfOthersIsCounted(t *testing.T) {
	g := newManagedGrid(t, 0)
	g.kill()
	g.sample = time.Hour
	g.up()
	g.submit(jobfile.Job{On: []string{"b"}})
	g.next().run()
	g.a.setUsage(2, 2)
	g.held(2, 0)
	g.submit(jobfile.Job{})
	if a := g.next(); a.Cluster != "b" {
		t.Errorf("it is started in %s", a.Cluster)
	}
}

// What the hosts of a cluster without a manager do is seen in another way.
func TestAClusterWithoutAManagerHasNoOthers(t *testing.T) {
	g := newGrid(t)
	g.a.setUsage(2, 2)
	id := g.submit(jobfile.Job{On: []string{"a"}})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	g.held(0, 1)
	if v := g.view(id); strings.Contains(v.Reason, "others") {
		t.Errorf("it says %s", v.Reason)
	}
}
