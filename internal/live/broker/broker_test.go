package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

func (g *grid) view(id core.JobID) *broker.View {
	g.t.Helper()
	v, err := g.broker().GetJob(g.t.Context(), fmt.Sprint(id))
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

func (g *grid) logs(id core.JobID) string {
	g.t.Helper()
	var b strings.Builder
	if err := g.broker().CopyLogs(g.t.Context(), fmt.Sprint(id), 1, 0, false,
		func(p []byte) error { b.Write(p); return nil }); err != nil {
		g.t.Fatal(err)
	}
	return b.String()
}

func (g *grid) explained(id core.JobID, kind string) []wire.Entry {
	g.t.Helper()
	_, all, err := g.broker().ExplainJob(g.t.Context(), fmt.Sprint(id))
	if err != nil {
		g.t.Fatal(err)
	}
	var list []wire.Entry
	for _, e := range all {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

func TestAJobRunsToItsEnd(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Name: "x"})
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("hello ")})
	a.say(wire.Message{Kind: wire.Output, Stream: 1, Offset: 6, Data: []byte("world")})
	a.end(7)
	v := g.until(id, core.Failed)
	if v.Code != 7 || v.Migrations != 0 || v.Method != "sandbox" {
		t.Errorf("it is %+v", v.Job)
	}
	if got := g.logs(id); got != "hello world" {
		t.Errorf("it wrote %q", got)
	}
	for _, kind := range []string{"submit", "place", "start", "end"} {
		if len(g.explained(id, kind)) != 1 {
			t.Errorf("%d things of kind %s are explained", len(g.explained(id, kind)), kind)
		}
	}
}

func TestAnAgentThatReconnectsIsHeardOnce(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	for i := range 20 {
		if i%3 == 0 {
			a.cut()
		}
		a.say(wire.Message{Kind: wire.Output, Stream: 1, Offset: int64(2 * i), Data: []byte(fmt.Sprintf("%02d", i))})
		if i%3 == 0 {
			a.connect()
		}
	}
	a.end(0)
	g.until(id, core.Done)
	want := ""
	for i := range 20 {
		want += fmt.Sprintf("%02d", i)
	}
	if got := g.logs(id); got != want {
		t.Errorf("it wrote %q, want %q", got, want)
	}
}

func TestABrokerThatWasKilledGoesOn(t *testing.T) {
	g := newGrid(t)
	running, waiting := g.submit(jobfile.Job{Min: 2, Max: 2}), core.JobID(0)
	a := g.next()
	a.run()
	g.until(running, core.Running)
	other := g.submit(jobfile.Job{Min: 2, Max: 2})
	b := g.next()
	waiting = g.submit(jobfile.Job{Min: 2, Max: 2})
	a.cut()
	g.kill()
	a.end(0) // nobody hears it
	g.up()
	a.connect()
	g.until(running, core.Done)
	c := g.next() // the one that waited takes the place
	if c.Job != waiting || c.Epoch != 1 {
		t.Errorf("job %d epoch %d is started, want %d", c.Job, c.Epoch, waiting)
	}
	b.run() // its agent was slow
	b.end(0)
	c.run()
	c.end(0)
	g.until(other, core.Done)
	g.until(waiting, core.Done)
}

func TestAJobIsMoved(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("one")})
	g.until(id, core.Running)
	moved := make(chan string)
	to := "b"
	if a.Cluster == "b" {
		to = "a"
	}
	go func() {
		text, err := g.broker().MigrateJob(context.Background(), fmt.Sprint(id), to)
		moved <- fmt.Sprint(text, err)
	}()
	a.order(t, wire.Stop)
	a.say(wire.Message{Kind: wire.Output, Stream: 1, Offset: 3, Data: []byte("lost")}) // after the checkpoint
	a.say(wire.Message{Kind: wire.Left, State: &wire.Vitals{CPU: 5, Used: 5, Wall: 6, Chance: -1},
		Saved: &wire.Saved{Method: "sandbox", Work: "w", Image: "i", Out: 3, Used: 5}})
	b := g.next()
	if b.Cluster != to || b.Epoch != 2 || len(b.Saved) != 1 || b.Saved[0].Image != "i" || b.Used != 5 {
		t.Fatalf("started in %s, epoch %d, from %+v", b.Cluster, b.Epoch, b.Saved)
	}
	b.connect()
	b.say(wire.Message{Kind: wire.Running, Method: "sandbox", Saved: &b.Saved[0]})
	if text := <-moved; !strings.Contains(text, "moved from "+a.Cluster+" to "+to) {
		t.Errorf("the user is told %q", text)
	}
	b.say(wire.Message{Kind: wire.Output, Stream: 1, Offset: 3, Data: []byte(" two")})
	b.end(0)
	v := g.until(id, core.Done)
	if v.Migrations != 1 || v.Checkpoints != 1 || v.CPU != 6 {
		t.Errorf("it is %+v", v.Job)
	}
	if got := g.logs(id); got != "one two" {
		t.Errorf("it wrote %q", got)
	}
}

func TestAJobThatCannotBeSavedRunsOn(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	moved := make(chan error)
	go func() {
		_, err := g.broker().MigrateJob(context.Background(), fmt.Sprint(id), "")
		moved <- err
	}()
	a.order(t, wire.Stop)
	a.say(wire.Message{Kind: wire.StaysOn, Why: "the disk is full"})
	if err := <-moved; err == nil || !strings.Contains(err.Error(), "stays") {
		t.Errorf("the user is told %v", err)
	}
	g.until(id, core.Running)
	a.end(0)
	g.until(id, core.Done)
}

// left is how long a job has left, as an agent says it.
func left(seconds float64) []float64 { return predict.LogNormal(seconds, 0.05).Quantiles() }

func TestAJobWhoseDeadlineIsInDangerIsMovedWhereItCanBeMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the deadline is not that of this machine
		g := newGrid(t)
		id := g.submit(jobfile.Job{Deadline: time.Minute, Estimate: 20 * time.Second})
		a := g.next()
		a.run()
		g.until(id, core.Running)
		a.say(wire.Message{Kind: wire.Ask,
			State: &wire.Vitals{CPU: 5, Used: 5, Wall: 20, Share: 0.2, Mean: 0.25, Left: left(100), Work: left(15),
				Method: "sandbox", SaveCost: 1}})
		a.order(t, wire.Stop)
		a.say(wire.Message{Kind: wire.Left, Saved: &wire.Saved{Method: "sandbox", Work: "w", Image: "i"}})
		b := g.next()
		if b.Cluster == a.Cluster {
			t.Errorf("it is started in %s again", b.Cluster)
		}
		b.run()
		b.end(0)
		g.until(id, core.Done)
		if d := g.explained(id, "decide"); len(d) != 1 || !strings.Contains(d[0].Why, "chance") {
			t.Errorf("the decision is explained by %+v", d)
		}
	})
}

func TestAJobWhoseUserWantsItToStayIsNotMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the deadline is not that of this machine
		g := newGrid(t)
		id := g.submit(jobfile.Job{Deadline: time.Minute, Estimate: 20 * time.Second, Adapt: jobfile.AdaptOff})
		a := g.next()
		a.run()
		a.say(wire.Message{Kind: wire.Ask, State: &wire.Vitals{CPU: 5, Left: left(100), Work: left(15)}})
		a.order(t, wire.Answer)
		a.end(0)
		g.until(id, core.Done)
		if d := g.explained(id, "decide"); len(d) != 1 || !strings.Contains(d[0].Choice, "stay") {
			t.Errorf("the decision is explained by %+v", d)
		}
	})
}

func TestALostAttemptContinuesFromTheNewestCheckpoint(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Retries: 3})
	a := g.next()
	a.run()
	for i := range 5 {
		a.say(wire.Message{Kind: wire.Checkpoint, Saved: &wire.Saved{Method: "sandbox", Work: fmt.Sprint(i), Out: int64(i)}})
	}
	a.say(wire.Message{Kind: wire.Lost, Why: "the sandbox died"})
	b := g.next()
	if len(b.Saved) != 3 || b.Saved[0].Work != "4" || b.Saved[2].Work != "2" {
		t.Fatalf("it is to continue from %+v", b.Saved)
	}
	b.run()
	b.end(0)
	if v := g.until(id, core.Done); v.Migrations != 0 || v.Checkpoints != 5 {
		t.Errorf("it is %+v", v.Job)
	}
}

func TestAnAgentOfAnAttemptThatIsPastIsToldToLeave(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Retries: 3})
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Lost, Why: "gone"})
	b := g.next()
	b.run()
	a.connect()
	a.order(t, wire.Kill)
	b.end(0)
	g.until(id, core.Done)
}

func TestACancelledJobLeavesNothing(t *testing.T) {
	g := newGrid(t)
	var ids []core.JobID
	for range 6 { // two more than fit
		ids = append(ids, g.submit(jobfile.Job{}))
	}
	for range 4 {
		g.next().run()
	}
	for _, id := range ids {
		v, err := g.broker().CancelJob(t.Context(), fmt.Sprint(id))
		if err != nil || v.State != core.Cancelled {
			t.Errorf("job %d is %v, %v", id, v, err)
		}
	}
	if n := g.a.running() + g.b.running(); n > 2 { // whoever waited may be starting still
		t.Errorf("%d attempts are left", n)
	}
}

func TestOfAnArrayNoMoreRunAtOnceThanItsUserWants(t *testing.T) {
	g := newGrid(t)
	ids, err := g.broker().SubmitJob(t.Context(),
		complete(jobfile.Job{Array: jobfile.ArrayRange{First: 1, Last: 9, Step: 2, AtOnce: 2}}), "")
	if err != nil || len(ids) != 5 {
		t.Fatalf("submitted %v, %v", ids, err)
	}
	a, b := g.next(), g.next()
	if a.Index > b.Index {
		a, b = b, a
	}
	g.kill()
	g.up()
	if n := g.a.running() + g.b.running(); n != 2 {
		t.Fatalf("%d run", n)
	}
	a.run()
	a.end(0)
	c := g.next()
	if a.Index != 1 || b.Index != 3 || c.Index != 5 {
		t.Errorf("indices %d, %d, %d run", a.Index, b.Index, c.Index)
	}
	for _, x := range []*attempt{b, c} {
		x.run()
		x.end(0)
		y := g.next()
		y.run()
		y.end(0)
	}
	for _, id := range ids {
		g.until(id, core.Done)
	}
}

func TestAClusterThatCannotStartAnythingIsNotTriedForEver(t *testing.T) {
	g := newGrid(t)
	g.a.fail, g.b.fail = errors.New("no space left"), errors.New("no space left")
	id := g.submit(jobfile.Job{})
	waitUntil(t, func() bool { return len(g.explained(id, "lost")) > 0 },
		func() string { return "nobody says that it cannot be started" })
	g.a.mu.Lock()
	g.a.fail = nil
	g.a.mu.Unlock()
	g.b.mu.Lock()
	g.b.fail = nil
	g.b.mu.Unlock()
	a := g.next()
	a.run()
	a.end(0)
	g.until(id, core.Done)
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	g := newGrid(t)
	for name, spec := range map[string]jobfile.Job{
		"too large":       {Min: 3, Max: 3},
		"unknown cluster": {On: []string{"c"}},
		"unreliable":      {Reliability: 0.999},
	} {
		if ids, err := g.broker().SubmitJob(t.Context(), complete(spec), ""); !badinput.Is(err) {
			t.Errorf("%s: submitted %v, %v", name, ids, err)
		}
	}
	if _, err := g.broker().GetJob(t.Context(), "99"); !badinput.Is(err) {
		t.Errorf("job 99: %v", err)
	}
}

func TestTheLastWordOfAnAttemptCountsOnce(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Retries: 3})
	other := g.submit(jobfile.Job{})
	a, b := g.next(), g.next()
	if a.Job != id {
		a, b = b, a
	}
	b.run() // keeps the broker busy with something
	a.run()
	a.say(wire.Message{Kind: wire.Ended, Code: 3})
	a.mu.Lock()
	a.seq += 1 << 32 // as an agent that took over numbers what it says
	a.mu.Unlock()
	a.say(wire.Message{Kind: wire.Ended, Code: 3})
	a.say(wire.Message{Kind: wire.Lost, Why: "no"})
	if v := g.until(id, core.Failed); v.Code != 3 {
		t.Errorf("it is %+v", v.Job)
	}
	b.end(0)
	g.until(other, core.Done)
	if n := len(g.explained(id, "end")); n != 1 {
		t.Errorf("it ended %d times", n)
	}
	if n := len(g.explained(id, "lost")); n != 0 {
		t.Errorf("after its end it was lost %d times", n)
	}
}
