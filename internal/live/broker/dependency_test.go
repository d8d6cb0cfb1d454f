package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func after(when jobfile.When, ids ...core.JobID) []jobfile.Dependency {
	var list []jobfile.Dependency
	for _, id := range ids {
		list = append(list, jobfile.Dependency{Job: fmt.Sprint(id), When: when})
	}
	return list
}

// waits checks that a job waits, and why.
func (g *grid) waits(id core.JobID, why string) {
	g.t.Helper()
	if v := g.view(id); v.State != core.Submitted || !strings.Contains(v.Reason, why) {
		g.t.Errorf("job %d is %s (%s), want it to wait: %s", id, v.State, v.Reason, why)
	}
}

func TestAJobStartsAfterThoseItWaitsFor(t *testing.T) {
	g := newGrid(t)
	first := g.submit(jobfile.Job{Name: "prep"})
	second := g.submit(jobfile.Job{Name: "prep"})
	last := g.submit(jobfile.Job{After: after(jobfile.WentWell, first, second)})
	named := g.submit(jobfile.Job{After: []jobfile.Dependency{{Job: "prep"}}}) // the newest
	g.waits(last, "waiting for job 1 (prep) to complete successfully (afterok)")
	g.waits(named, "waiting for job 2 (prep) to complete successfully (afterok)")
	a, b := g.next(), g.next()
	a.run()
	b.run()
	a.end(0)
	g.until(a.Job, core.Done)
	b.end(0)
	g.until(b.Job, core.Done)
	c, d := g.next(), g.next()
	if c.Job+d.Job != last+named {
		t.Errorf("jobs %d and %d start", c.Job, d.Job)
	}
	for _, x := range []*attempt{c, d} {
		x.run()
		x.end(0)
	}
	g.until(last, core.Done)
	g.until(named, core.Done)
	if w := g.explained(last, "wait"); len(w) == 0 || !strings.Contains(w[0].Why, "waiting for job 1") {
		t.Errorf("the wait is explained by %+v", w)
	}
}

func TestWhatCanNeverBeMetEndsTheJobAndThoseThatWaitForIt(t *testing.T) {
	g := newGrid(t)
	first := g.submit(jobfile.Job{})
	ok := g.submit(jobfile.Job{After: after(jobfile.WentWell, first)})
	chain := g.submit(jobfile.Job{After: after(jobfile.WentWell, ok)})
	notOK := g.submit(jobfile.Job{After: after(jobfile.Failed, first)})
	anyhow := g.submit(jobfile.Job{After: after(jobfile.Over, ok)})
	a := g.next()
	a.run()
	a.end(3)
	g.until(first, core.Failed)
	if v := g.until(ok, core.Cancelled); v.Code != 1 || v.Reason != "dependency never satisfied: job 1 failed (afterok)" {
		t.Errorf("it is %+v", v.Job)
	}
	g.until(chain, core.Cancelled)
	for range 2 {
		x := g.next()
		if x.Job != notOK && x.Job != anyhow {
			t.Errorf("job %d starts", x.Job)
		}
		x.run()
		x.end(0)
	}
	g.until(notOK, core.Done)
	g.until(anyhow, core.Done)
	// What is over already counts as well.
	if v := g.until(g.submit(jobfile.Job{After: after(jobfile.Failed, notOK)}),
		core.Cancelled); !strings.Contains(v.Reason, "completed (afternotok)") {
		t.Errorf("it is %+v", v.Job)
	}
	now := g.submit(jobfile.Job{After: after(jobfile.Over, first, notOK)})
	if x := g.next(); x.Job != now {
		t.Errorf("job %d starts", x.Job)
	}
}

func TestWhoWaitsForWhomSurvivesTheBroker(t *testing.T) {
	g := newGrid(t)
	first := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(first, core.Running)
	ids, err := g.broker().SubmitJob(t.Context(),
		complete(jobfile.Job{After: after(jobfile.WentWell, first),
			Array: jobfile.ArrayRange{First: 1, Last: 3, Step: 1, AtOnce: 1}}), "")
	if err != nil {
		t.Fatal(err)
	}
	last := g.submit(jobfile.Job{After: after(jobfile.Over, ids[0])}) // the whole array
	a.cut()
	g.kill()
	a.end(0)
	g.up()
	g.waits(ids[0], "waiting for job 1")
	g.waits(last, "waiting for array 2")
	a.connect()
	for _, id := range ids {
		x := g.next()
		if x.Job != id {
			t.Errorf("job %d starts, want %d", x.Job, id)
		}
		g.waits(last, "waiting for array 2")
		x.run()
		x.end(0)
		g.until(id, core.Done)
	}
	if x := g.next(); x.Job != last {
		t.Errorf("job %d starts", x.Job)
	}
}

func TestAJobThatWaitsCanBeCancelled(t *testing.T) {
	g := newGrid(t)
	first := g.submit(jobfile.Job{})
	g.next()
	second := g.submit(jobfile.Job{After: after(jobfile.WentWell, first)})
	third := g.submit(jobfile.Job{After: after(jobfile.WentWell, second)})
	if v, err := g.broker().CancelJob(t.Context(), fmt.Sprint(second)); err != nil || v.State != core.Cancelled ||
		v.Code != 130 {
		t.Errorf("it is %+v, %v", v, err)
	}
	g.until(third, core.Cancelled)
}

func TestEachOfAnArrayWaitsForTheOneWithItsIndex(t *testing.T) {
	g := newGrid(t)
	two := jobfile.ArrayRange{First: 4, Last: 5, Step: 1}
	ids, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{Array: two}), "")
	if err != nil {
		t.Fatal(err)
	}
	others, err := g.broker().SubmitJob(t.Context(),
		complete(jobfile.Job{Array: two, After: []jobfile.Dependency{{Job: fmt.Sprint(ids[0]), Each: true}}}), "")
	if err != nil {
		t.Fatal(err)
	}
	element := g.submit(jobfile.Job{After: []jobfile.Dependency{{Job: fmt.Sprintf("%d_5", ids[0])}}})
	a, b := g.next(), g.next()
	if a.Index > b.Index {
		a, b = b, a
	}
	b.run()
	b.end(0)
	for range 2 {
		if c := g.next(); c.Job != others[1] && c.Job != element {
			t.Errorf("job %d starts", c.Job)
		}
	}
	g.waits(others[0], fmt.Sprintf("waiting for job %d", ids[0]))
}

func TestASingletonWaitsForItsNamesakesAndAnotherForABeginning(t *testing.T) {
	g := newGrid(t)
	first := g.submit(jobfile.Job{Name: "one"})
	alone := g.submit(jobfile.Job{Name: "one", After: []jobfile.Dependency{{When: jobfile.Alone}}})
	begun := g.submit(jobfile.Job{After: after(jobfile.Begun, first)})
	g.waits(alone, "waiting for job 1 (one) to end (afterany)")
	g.waits(begun, "waiting for job 1 (one) to start (after)")
	a := g.next()
	a.run()
	if b := g.next(); b.Job != begun {
		t.Errorf("job %d starts", b.Job)
	}
	a.end(1)
	if b := g.next(); b.Job != alone {
		t.Errorf("job %d starts", b.Job)
	}
}

func TestAJobStartsNoSoonerThanItsMoment(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Begin: time.Hour})
	g.waits(id, "start time not reached: ")
	soon := g.submit(jobfile.Job{Begin: 50 * time.Millisecond})
	if a := g.next(); a.Job != soon {
		t.Errorf("job %d starts", a.Job)
	}
	g.kill()
	g.up()
	g.waits(id, "start time not reached: ")
}

func TestOnlyEarlierJobsCanBeWaitedFor(t *testing.T) {
	g := newGrid(t)
	for _, ref := range []string{"1", "7", "nobody", "7_3"} {
		_, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{After: []jobfile.Dependency{{Job: ref}}}), "")
		if want := fmt.Sprintf("after %q: no such job (godwit ps --all lists all jobs)", ref); !badinput.Is(err) ||
			err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// untilOver waits until a job is over and its results are home.
func (g *grid) untilOver(id core.JobID) *broker.View {
	g.t.Helper()
	var v *broker.View
	waitUntil(g.t, func() bool { v = g.view(id); return v.Over },
		func() string { return fmt.Sprintf("job %d is %s (%s), want it over", id, v.State, v.Reason) })
	return v
}

// writes has an attempt run and write.
func (a *attempt) writes(out, err string) {
	a.run()
	a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte(out)})
	a.say(wire.Message{Kind: wire.Output, Stream: 2, Data: []byte(err)})
}

func TestWhatAJobWroteIsInTheFilesItsUserNamed(t *testing.T) {
	g := newGrid(t)
	dir := t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	if err := os.WriteFile(filepath.Join(dir, "all"), []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ids, err := g.broker().SubmitJob(t.Context(),
		complete(jobfile.Job{Name: "fit", Workdir: dir, Stdout: "logs/%x-%A_%2a.out", Stderr: "all", Append: true,
			Array: jobfile.ArrayRange{First: 7, Last: 8, Step: 1, AtOnce: 1}}), "")
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		a := g.next()
		a.writes(fmt.Sprintf("out %d\n", i), fmt.Sprintf("err %d\n", i))
		a.end(i)
		g.untilOver(id)
	}
	if got := read("logs/fit-1_07.out") + read("logs/fit-1_08.out") +
		read("all"); got != "out 0\nout 1\nbefore\nerr 0\nerr 1\n" {
		t.Errorf("the files hold %q", got)
	}
	// A file that is to be replaced, and one that cannot be written.
	id := g.submit(jobfile.Job{Workdir: dir, Stdout: "all", Stderr: "logs"})
	a := g.next()
	a.writes("new\n", "x")
	a.end(0)
	v := g.untilOver(id)
	if got := read("all"); got != "new\n" || !strings.Contains(v.Reason, "is no file") {
		t.Errorf("the file holds %q; the job says %q", got, v.Reason)
	}
}

// A job that waited for another is let in when the last cluster where it may run is gone.
func TestAHeldJobIsNotPlacedWhereItMayNotRun(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.a.kind = "slurm"
	g.up()
	first := g.submit(jobfile.Job{On: []string{"b"}})
	a := g.next()
	a.run()
	waits := g.submit(jobfile.Job{After: after(jobfile.WentWell, first),
		Manager: jobfile.Manager{Kind: jobfile.Slurm, Options: map[string][]string{"gres": {"gpu:1"}}}})
	all := g.options().Clusters
	reconfigure := func(list []broker.Cluster) {
		t.Helper()
		if err := g.broker().ReconfigureClusters(t.Context(), list, core.DeadlineFirst); err != nil {
			t.Fatal(err)
		}
	}
	reconfigure(all[1:])
	a.end(0)
	g.until(first, core.Done)
	var v *broker.View
	complaint := func() string { return fmt.Sprintf("it is %s in %q: %s", v.State, v.Cluster, v.Reason) }
	waitUntil(t, func() bool {
		if v = g.view(waits); v.Cluster != "" {
			t.Fatal(complaint())
		}
		return strings.Contains(v.Reason, "GPUs")
	}, complaint)
	if n := len(g.started); n != 0 {
		t.Errorf("%d attempts were started where there are no GPUs", n)
	}
	reconfigure(all)
	if b := g.next(); b.Job != waits || b.Cluster != "a" {
		t.Errorf("job %d was started in %s", b.Job, b.Cluster)
	}
}

// A broker may end after a job was cancelled and before what it had asked about the job
// was struck off.
func TestAQuestionAboutAJobThatIsOverIsStruckOff(t *testing.T) {
	g := newGrid(t)
	g.kill()
	question := store.Outbound{ID: 1 << 20, Command: core.Command{Kind: core.Describe, Job: 7}}
	if err := g.store.CommitBatch(t.Context(), &store.Batch{Send: []store.Outbound{question}}); err != nil {
		t.Fatal(err)
	}
	g.up()
	g.untilOutboxIsEmpty()
	g.submit(jobfile.Job{})
	g.next()
}
