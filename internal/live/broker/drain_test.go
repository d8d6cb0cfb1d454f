package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (g *grid) drain(reason string, names ...string) []broker.DrainView {
	g.t.Helper()
	list, err := g.broker().DrainClusters(g.t.Context(), names, reason)
	if err != nil || len(list) != len(names) {
		g.t.Fatalf("draining %v: %+v, %v", names, list, err)
	}
	return list
}

func (g *grid) undrain(names ...string) []broker.DrainView {
	g.t.Helper()
	list, err := g.broker().UndrainClusters(g.t.Context(), names)
	if err != nil || len(list) != len(names) {
		g.t.Fatalf("undraining %v: %+v, %v", names, list, err)
	}
	return list
}

func TestNothingNewIsPlacedOnADrainedCluster(t *testing.T) {
	g := newGrid(t)
	runs := g.submit(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2})
	first := g.next()
	first.run()
	g.until(runs, core.Running)
	before := g.submit(jobfile.Job{On: []string{"a"}})
	if v := g.drain("new disks", "a")[0]; !v.Changed || v.Jobs != 1 || v.Drain == nil || v.Drain.By != "u" ||
		v.Text != "a is drained: nothing new is placed there; 1 job runs on to its end" {
		t.Errorf("drained: %+v", v)
	}
	since := g.drain("again", "a")[0]
	if since.Changed || since.Drain.Reason != "new disks" ||
		!strings.HasPrefix(since.Text, "nothing changed: cluster a has been drained by u since 20") {
		t.Errorf("drained again: %+v", since)
	}
	after := g.submit(jobfile.Job{On: []string{"a"}})
	if a := g.nextOf(g.submit(jobfile.Job{})); a.Cluster != "b" {
		t.Errorf("a job that may run anywhere is started on %s", a.Cluster)
	}
	for range 2 { // the next broker knows it too
		for _, id := range []core.JobID{before, after} {
			v := g.view(id)
			if v.State != core.Submitted || v.Reason != since.Drain.Sentence("a") {
				t.Errorf("job %d is %s: %s", id, v.State, v.Reason)
			}
			if e := g.explained(id, "wait"); len(e) == 0 || e[len(e)-1].Why != v.Reason {
				t.Errorf("job %d is explained by %+v", id, e)
			}
		}
		if q := quoteOnA(t, g, jobfile.Job{}); q.Fits || !strings.Contains(q.Reason, since.Drain.Sentence("a")) {
			t.Errorf("its quote is %+v", q)
		}
		if v := g.shown(size("a", 2))[0]; len(v.Drains) != 1 || v.Drains[0].Reason != "new disks" {
			t.Errorf("listed as %+v", v)
		}
		g.kill()
		g.up()
		first.connect()
	}
	if _, err := g.broker().MigrateJob(t.Context(), fmt.Sprint(after), "a"); err == nil ||
		!strings.Contains(err.Error(), since.Drain.Sentence("a")) {
		t.Errorf("moving a job there: %v", err)
	}
	first.end(0)
	g.until(runs, core.Done) // what runs there ran to its end
	if v := g.view(before); v.State != core.Submitted {
		t.Errorf("job %d is %s", before, v.State)
	}
	if v := g.undrain("a")[0]; !v.Changed || v.Drain != nil || v.Text != "a is used again" {
		t.Errorf("undrained: %+v", v)
	}
	for range 2 {
		if a := g.next(); a.Cluster != "a" || a.Job != before && a.Job != after {
			t.Errorf("job %d is started on %s", a.Job, a.Cluster)
		}
	}
	if v := g.undrain("a")[0]; v.Changed || v.Text != "nothing changed: a is not drained" {
		t.Errorf("undrained again: %+v", v)
	}
}

// nextOf is the attempt that is started next, which has to be one of a job.
func (g *grid) nextOf(id core.JobID) *attempt {
	g.t.Helper()
	a := g.next()
	if a.Job != id {
		g.t.Fatalf("job %d is started, want %d", a.Job, id)
	}
	return a
}

func TestAJobThatOnlyWaitsInADrainedClusterGoesElsewhere(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.a.own, g.a.kind = true, "slurm over ssh"
	g.up()
	busy := g.submit(jobfile.Job{On: []string{"b"}, Min: 2, Max: 2})
	first := g.nextOf(busy)
	first.run()
	g.until(busy, core.Running)
	id := g.submit(jobfile.Job{Min: 2, Max: 2})
	if waits := g.nextOf(id); waits.Cluster != "a" { // in the queue of its batch system
		t.Fatalf("it waits in %s", waits.Cluster)
	}
	first.end(0)
	g.until(busy, core.Done)
	g.drain("", "a")
	if a := g.nextOf(id); a.Cluster != "b" {
		t.Errorf("it is started on %s", a.Cluster)
	}
	_, err := g.broker().DrainClusters(t.Context(), []string{"b", "a/n1"}, "")
	if !badinput.Is(err) || !strings.Contains(err.Error(), "scontrol update nodename=n1 state=drain") {
		t.Errorf("draining a host of Slurm: %v", err)
	}
	_, err = g.broker().UndrainClusters(t.Context(), []string{"a/n1"})
	if !badinput.Is(err) || !strings.Contains(err.Error(), "scontrol update nodename=n1 state=resume") {
		t.Errorf("undraining a host of Slurm: %v", err)
	}
	for _, v := range g.shown(size("a", 2)) {
		if v.Name == "b" && len(v.Drains) > 0 {
			t.Error("b is drained although another name was wrong")
		}
	}
}

func TestADrainedHostIsNotUsed(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.hosts = []string{"n1", "n2"}
	g.up()
	runs := g.submit(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2})
	first := g.next()
	first.run()
	g.until(runs, core.Running)
	if v := g.drain("fan", "a/n1", "a/n2"); v[0].Jobs != 1 || v[1].Jobs != 0 || !v[0].Changed || !v[1].Changed {
		t.Errorf("drained: %+v", v)
	}
	waits := g.submit(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2})
	if why := g.view(waits).Reason; !strings.HasPrefix(why, "host n1 of cluster a has been drained by u since 20") ||
		!strings.HasSuffix(why, "UTC: fan (1 other host of it is drained too)") {
		t.Errorf("it waits because %s", why)
	}
	g.kill()
	g.hosts = []string{"n1", "n2"}
	g.up()
	first.connect()
	hosts, err := g.broker().ListHosts(t.Context(), "a")
	if err != nil || len(hosts) != 2 || hosts[0].Drain == nil || hosts[1].Drain == nil {
		t.Errorf("hosts are %+v, %v", hosts, err)
	}
	if v := g.undrain("a")[0]; v.Changed || !strings.HasSuffix(v.Text, "of its hosts these are: a/n1, a/n2") {
		t.Errorf("undraining the cluster: %+v", v)
	}
	if v := g.undrain("a/n2")[0]; !v.Changed {
		t.Errorf("undrained: %+v", v)
	}
	g.nextOf(waits)
	if v := g.view(waits); v.Procs != "2-3" {
		t.Errorf("it runs on processors %s", v.Procs)
	}
	first.end(0)
	g.until(runs, core.Done)
	g.kill()
	g.hosts = []string{"n0", "n2", "n1"} // a drained host is known by its name
	g.up()
	hosts, err = g.broker().ListHosts(t.Context(), "a")
	if err != nil || len(hosts) != 3 || hosts[0].Drain != nil || hosts[1].Drain != nil || hosts[2].Drain == nil {
		t.Errorf("hosts are %+v, %v", hosts, err)
	}
	for _, bad := range []string{"a/n9", "x/n1", "x", "a/", ""} {
		if _, err := g.broker().DrainClusters(t.Context(), []string{"b", bad}, ""); !badinput.Is(err) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := g.broker().DrainClusters(t.Context(), []string{"a/n9"}, ""); err == nil ||
		!strings.Contains(err.Error(), "unknown host of a") {
		t.Errorf("a host that there is not: %v", err)
	}
	if _, err := g.broker().DrainClusters(t.Context(), []string{"b"}, "two\nlines"); !badinput.Is(err) {
		t.Errorf("a reason of two lines: %v", err)
	}
	if v := g.shown(func([]broker.ClusterView) bool { return true })[1]; len(v.Drains) > 0 {
		t.Errorf("b is drained although the other name was wrong: %+v", v.Drains)
	}
}
