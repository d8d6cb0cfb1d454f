package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// shown waits until the clusters are as wanted.
func (g *grid) shown(want func([]broker.ClusterView) bool) []broker.ClusterView {
	g.t.Helper()
	var views []broker.ClusterView
	waitUntil(g.t, func() bool {
		var err error
		if views, err = g.broker().ListClusters(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
		return want(views)
	}, func() string { return fmt.Sprintf("the clusters are %+v", views) })
	return views
}

func size(name string, procs int) func([]broker.ClusterView) bool {
	return func(views []broker.ClusterView) bool {
		return slices.ContainsFunc(views,
			func(v broker.ClusterView) bool { return v.Name == name && v.Procs == procs && !v.Away })
	}
}

func TestAClusterMayChangeUnderARunningJob(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	for _, procs := range []int{5, 1} { // more at once; fewer when nobody is there any more
		g.kill()
		g.procs = procs
		g.up()
		a.connect()
		g.shown(size("a", 5))
	}
	a.end(0)
	g.until(id, core.Done)
	g.shown(size("a", 1))
	g.kill()
	g.up()
	g.shown(size("a", 1))
}

func TestAClusterIsRemovedAndComesBackWhileJobsRun(t *testing.T) {
	g := newGrid(t)
	runs := g.submit(jobfile.Job{On: []string{"a"}})
	a := g.next()
	a.run()
	g.until(runs, core.Running)
	waits := g.submit(jobfile.Job{Min: 2, Max: 2, On: []string{"a"}})
	closed := make(chan struct{})
	without := g.options().Clusters[1:]
	all := g.options().Clusters
	all[0].Close = func() { close(closed) }
	reconfigure := func(list []broker.Cluster) {
		t.Helper()
		if err := g.broker().ReconfigureClusters(t.Context(), list, core.DeadlineFirst); err != nil {
			t.Fatal(err)
		}
	}
	reconfigure(all)
	reconfigure(without)
	if _, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{On: []string{"a"}}), ""); !badinput.Is(err) {
		t.Errorf("a job for a cluster that was removed: %v", err)
	}
	g.shown(func(views []broker.ClusterView) bool { // who runs there runs on
		return len(views) == 2 && views[0].Name == "a" && views[0].Removed && views[0].Running == 1
	})
	if v := g.view(runs); v.State != core.Running {
		t.Errorf("the job there is %s", v.State)
	}
	g.kill() // and a broker that comes after knows that it was removed
	g.removed = true
	g.up()
	a.connect()
	g.shown(func(views []broker.ClusterView) bool {
		return len(views) == 2 && views[0].Removed && views[0].Running == 1
	})
	g.removed = false
	reconfigure(all)
	reconfigure(append(without, broker.Cluster{Name: "c", Kind: "puppet", Driver: g.b,
		Hosts: []world.HostSpec{{Procs: 3, Speed: 1}}}))
	g.shown(size("c", 3))
	a.end(0)
	g.until(runs, core.Done)
	select {
	case <-closed:
	case <-time.After(3 * time.Minute):
		t.Error("what the removed cluster had open stays open")
	}
	g.shown(func(views []broker.ClusterView) bool {
		return len(views) == 2 && views[0].Name == "b" && views[1].Name == "c"
	})
	all[0].Close = nil
	reconfigure(all)
	if b := g.next(); b.Job != waits || b.Cluster != "a" {
		t.Errorf("job %d was started in %s", b.Job, b.Cluster)
	}
}

// A cluster that says late what it consists of keeps nobody from starting, and is
// known in full then.
func TestAClusterThatAnswersLateIsKnownInFullThen(t *testing.T) {
	g := newGrid(t)
	answer := make(chan struct{})
	list := g.options().Clusters
	late := broker.Cluster{Name: "late", Kind: "slurm", Driver: driver.Unreachable{Why: errors.New("connection refused")},
		Managed: true,
		Away:    errors.New("connection refused")}
	asked := make(chan struct{}, 1)
	late.Describe = func(ctx context.Context) (broker.Cluster, error) {
		select {
		case <-answer:
		default:
			select {
			case asked <- struct{}{}:
			default:
			}
			return broker.Cluster{}, errors.New("connection refused")
		}
		known := late
		known.Driver, known.Away, known.Hosts, known.HostNames = g.b, nil,
			[]world.HostSpec{{Procs: 2, Speed: 0.5, Memory: 1 << 30}}, []string{"n1"}
		known.Methods = func(context.Context) []string { return []string{"sandbox"} }
		return known, nil
	}
	if err := g.broker().ReconfigureClusters(t.Context(), append(list, late), core.DeadlineFirst); err != nil {
		t.Fatal(err)
	}
	<-asked
	g.shown(func(views []broker.ClusterView) bool {
		return len(views) == 3 && views[2].Away && strings.Contains(views[2].Why, "connection refused") && views[2].Procs == 0
	})
	there := g.submit(jobfile.Job{On: []string{"late"}})
	here := g.submit(jobfile.Job{On: []string{"a"}})
	a := g.next()
	if a.Job != here {
		t.Fatalf("job %d is started first", a.Job)
	}
	a.run()
	a.end(0)
	g.until(here, core.Done)
	if v := g.view(there); v.State != core.Submitted || !strings.Contains(v.Reason, "not answered yet") &&
		!strings.Contains(v.Reason, "out of reach") {
		t.Errorf("the job for the cluster that has not answered is %s: %s", v.State, v.Reason)
	}
	close(answer)
	b := g.next()
	if b.Job != there || b.Cluster != "late" || b.Speed != 0.5 {
		t.Errorf("job %d is started in %s at speed %g", b.Job, b.Cluster, b.Speed)
	}
	views := g.shown(size("late", 2))
	if v := views[2]; v.Speed != 0.5 || v.Methods == nil || len(v.HostNames) != 1 {
		t.Errorf("the cluster is %+v", v)
	}
}

// Who sees a cluster answer has it asked at once what it consists of; the pauses
// between failed questions would add up to half a minute here.
func TestAClusterThatAnswersIsAskedAtOnceWhatItConsistsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose time is not that of this machine
		g := newGrid(t)
		late := broker.Cluster{Name: "late", Kind: "slurm", Driver: g.b, Away: errors.New("no answer yet"), Unmeasured: true,
			Hosts: []world.HostSpec{{Procs: 2, Speed: 1}}}
		const failures = 5
		asked := make(chan int, failures+1)
		times := 0
		late.Describe = func(context.Context) (broker.Cluster, error) {
			times++
			asked <- times
			if times <= failures {
				return broker.Cluster{}, errors.New("no answer yet")
			}
			known := late
			known.Away, known.Unmeasured, known.Hosts = nil, false, []world.HostSpec{{Procs: 2, Speed: 0.5}}
			return known, nil
		}
		if err := g.broker().ReconfigureClusters(t.Context(), append(g.options().Clusters, late),
			core.DeadlineFirst); err != nil {
			t.Fatal(err)
		}
		limit := time.After(25 * time.Second)
		for n := 0; n <= failures; {
			views, err := g.broker().ListClusters(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if v := views[2]; v.Away || v.Unmeasured != (v.Cluster.Away != nil) {
				t.Fatalf("after %d questions the cluster is %+v", n, v)
			}
			select {
			case n = <-asked:
			case <-limit:
				t.Fatalf("it was asked %d times", n)
			case <-time.After(5 * time.Millisecond):
			}
		}
		g.shown(func(views []broker.ClusterView) bool {
			return views[2].Speed == 0.5 && views[2].Cluster.Away == nil && !views[2].Unmeasured
		})
	})
}

// A cluster that was out of reach when the broker ended is open again when the
// next broker finds it.
func TestAClusterThatWasClosedIsFoundOpenByTheNextBroker(t *testing.T) {
	g := newGrid(t)
	g.a.setAway(true) // before the first job: its submission looks at the clusters
	id := g.submit(jobfile.Job{On: []string{"a"}})
	waitUntil(t, func() bool { return strings.Contains(g.view(id).Reason, "out of reach") },
		func() string { return "the job waits because: " + g.view(id).Reason })
	g.kill()
	g.a.setAway(false)
	g.up()
	if a := g.next(); a.Job != id {
		t.Errorf("job %d is started", a.Job)
	}
}

func TestMigrateGoesNowhereItMayNotGo(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{On: []string{"a"}})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	for _, to := range []string{"b", "", "a", "nowhere"} {
		text, err := g.broker().MigrateJob(t.Context(), fmt.Sprint(id), to)
		if !badinput.Is(err) {
			t.Errorf("to %q: %q, %v", to, text, err)
			continue
		}
		if to == "b" && !strings.Contains(err.Error(), "job 1 may run on a only (--on a)") {
			t.Errorf("to %q: %v", to, err)
		}
	}
	if v := g.view(id); v.State != core.Running || v.Epoch != 1 {
		t.Errorf("it is %s in epoch %d", v.State, v.Epoch)
	}
	if len(g.explained(id, "decide")) == 0 {
		t.Error("nothing says why it was not moved")
	}
}

func TestMigrateSaysWhatIsLost(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.connect()
	a.say(wire.Message{Kind: wire.Running, Method: "restart"})
	g.until(id, core.Running)
	told := make(chan string, 1)
	go func() {
		text, err := g.broker().MigrateJob(context.Background(), fmt.Sprint(id), "")
		told <- fmt.Sprint(text, err)
	}()
	a.order(t, wire.Stop)
	a.say(wire.Message{Kind: wire.Left, State: &wire.Vitals{CPU: 5, Used: 5, Wall: 6, Chance: -1}})
	b := g.next()
	b.run()
	if text := <-told; !strings.Contains(text, "began again from the start") ||
		!strings.Contains(text, "5s of CPU time are lost") {
		t.Errorf("the user is told %q", text)
	}
}

func TestAJobThatWaitsIsMoved(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.a.own = true // a has a queue of its own
	g.up()
	id := g.submit(jobfile.Job{})
	first := g.next()
	if first.Cluster != "a" { // the fastest of equals is the first
		t.Skipf("it was placed in %s", first.Cluster)
	}
	text, err := g.broker().MigrateJob(t.Context(), fmt.Sprint(id), "b")
	if err != nil || !strings.Contains(text, "waits for b now, not for a any more") {
		t.Fatalf("%q, %v", text, err)
	}
	b := g.next()
	if b.Job != id || b.Cluster != "b" || b.Epoch != 2 {
		t.Fatalf("job %d was started in %s as epoch %d", b.Job, b.Cluster, b.Epoch)
	}
	g.a.mu.Lock()
	gone := g.a.released[driver.ID{Job: id, Epoch: 1}]
	g.a.mu.Unlock()
	if !gone {
		t.Error("it was started elsewhere before it was taken back")
	}
	b.run()
	b.end(0)
	g.until(id, core.Done)
}

func TestAHeldJobWaitsWhereItsUserSays(t *testing.T) {
	g := newGrid(t)
	first := g.submit(jobfile.Job{})
	a := g.next()
	id := g.submit(jobfile.Job{After: []jobfile.Dependency{{Job: fmt.Sprint(first)}}})
	other := "b"
	if text, err := g.broker().MigrateJob(t.Context(), fmt.Sprint(id), other); err != nil ||
		!strings.Contains(text, "will wait for b") {
		t.Fatalf("%q, %v", text, err)
	}
	g.kill()
	g.up()
	a.run()
	a.end(0)
	if b := g.next(); b.Job != id || b.Cluster != other {
		t.Errorf("job %d was started in %s", b.Job, b.Cluster)
	}
}

func TestTheSettingsSayHowJobsArePlacedThatNameNoPolicy(t *testing.T) {
	g := newGrid(t)
	if err := g.broker().ReconfigureClusters(t.Context(), g.options().Clusters, core.WorstFit); err != nil {
		t.Fatal(err)
	}
	id := g.submit(jobfile.Job{})
	g.next()
	if e := g.explained(id, "place"); len(e) != 1 || !strings.Contains(e[0].Why, "most idle") {
		t.Errorf("it was placed because: %+v", e)
	}
}

// The plan of a workflow says where a job starts. It waits for that cluster, and may be
// moved from it.
func TestAJobStartsWhereItsWorkflowHasItAndMayMove(t *testing.T) {
	for _, to := range []string{"a", "b"} {
		t.Run(to, func(t *testing.T) {
			g := newGrid(t)
			id := g.submit(jobfile.Job{StartOn: to})
			a := g.next()
			if a.Cluster != to {
				t.Fatalf("planned on %s, it starts on %s", to, a.Cluster)
			}
			a.run()
			g.until(id, core.Running)
			moved := make(chan error, 1)
			go func() {
				_, err := g.broker().MigrateJob(t.Context(), fmt.Sprint(id), map[string]string{"a": "b", "b": "a"}[to])
				moved <- err
			}()
			a.order(t, wire.Stop)
			a.say(wire.Message{Kind: wire.Left})
			b := g.next()
			if b.Job != id || b.Cluster == to {
				t.Errorf("job %d goes on in %s", b.Job, b.Cluster)
			}
			b.run()
			if err := <-moved; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAJobWhoseFirstClusterIsRemovedStartsOnAnother(t *testing.T) {
	g := newGrid(t)
	busy := g.submit(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2})
	g.next().run()
	g.until(busy, core.Running)
	id := g.submit(jobfile.Job{StartOn: "a"})
	if v := g.view(id); v.Cluster != "" {
		t.Fatalf("it is to wait for a, and is in %s", v.Cluster)
	}
	if err := g.broker().ReconfigureClusters(t.Context(), g.options().Clusters[1:], core.DeadlineFirst); err != nil {
		t.Fatal(err)
	}
	if b := g.next(); b.Job != id || b.Cluster != "b" {
		t.Errorf("job %d was started in %s", b.Job, b.Cluster)
	}
}

func TestCoresThatAreKeptFreeAreNeverGivenOut(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.keepFree = 1
	g.up()
	first := g.submit(jobfile.Job{On: []string{"a"}})
	a := g.nextOf(first)
	a.run()
	g.until(first, core.Running)
	second := g.submit(jobfile.Job{On: []string{"a"}})
	if v := g.view(second); v.State != core.Submitted || v.Reason != "waiting for 1 core (none free)" {
		t.Errorf("the second is %s: %s", v.State, v.Reason)
	}
	if q := quoteOnA(t, g, jobfile.Job{Min: 2, Max: 2}); q.Fits || !strings.Contains(q.Reason, "the cluster has 1") {
		t.Errorf("a job of two is quoted %+v", q)
	}
	if _, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2}), ""); err == nil {
		t.Error("a job of two is taken, which never fits")
	}
	a.end(0)
	g.nextOf(second)
}

func TestAJobIsGivenUpAfterSomeTriesOfPlacingIt(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.maxTries = 2
	g.up()
	first := g.submit(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2})
	a := g.nextOf(first)
	a.run()
	g.until(first, core.Running)
	second := g.submit(jobfile.Job{On: []string{"a"}})
	if v := g.until(second, core.Failed); v.Reason != "not placed after 2 attempts, the limit is 2" {
		t.Errorf("given up because %s", v.Reason)
	}
}
