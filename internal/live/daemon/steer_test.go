package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const oneCore = `
clusters:
  - {name: a, cpus: [0], slots: 1}
  - {name: b, cpus: [1], slots: 1}
intervals: {sample: 200ms}
`

// did wants a request to have been carried out.
func (b *bed) did(done api.Done, err error) string {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	return done.Text
}

// look is a job as it is now.
func (b *bed) look(id string) api.Job {
	b.Helper()
	j, err := b.client.GetJob(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	return j
}

// restart ends the broker and starts another on what it left.
func (b *bed) restart() {
	b.Helper()
	b.down()
	b.start()
	b.reached()
}

// What is held does not start, whoever ends and whatever broker there is, before it is released. Its name, labels and
// clusters are those that it was given last.
func TestAHeldJobStartsWhenItIsReleased(t *testing.T) {
	b := up(t, oneCore)
	ctx := context.Background()
	spec := job("sh", "-c", "echo began; sleep 1000")
	spec.On, spec.Labels = []string{"a"}, map[string]string{"sweep": "3", "by": "me"}
	first := b.submit(spec)
	b.until(first, running)
	second := b.submit(spec)
	spec.Hold = true
	third := b.submit(spec)
	b.did(b.client.HoldJob(ctx, second))
	if text := b.did(b.client.HoldJob(ctx, third)); !strings.Contains(text, "already") {
		t.Errorf("holding a held job says %q", text)
	}
	if _, err := b.client.HoldJob(ctx, first); err == nil || !strings.Contains(err.Error(), "running") {
		t.Errorf("holding a job that runs: %v", err)
	}
	b.did(b.client.UpdateJob(ctx, third, &api.Update{Name: "renamed", Labels: map[string]string{"sweep": "4", "by": ""},
		Anywhere: true}))
	b.restart()
	b.did(b.client.RequeueJob(ctx, first, api.Requeue{Hold: true}))
	b.until(first, func(j *api.Job) bool { return j.State == core.Resuming && j.Held && strings.Contains(j.Why, "held") })
	for _, id := range []string{second, third} {
		if j := b.look(id); !j.Held || j.Started != nil || !strings.Contains(j.Why, "held by the user") {
			t.Errorf("job %s is %+v", id, j)
		}
	}
	j := b.look(third)
	if j.Name != "renamed" || fmt.Sprint(j.Labels) != "map[sweep:4]" || len(j.On) != 0 {
		t.Errorf("job %s is called %q, with labels %v, on %v", third, j.Name, j.Labels, j.On)
	}
	if found, err := b.client.SelectJobs(ctx, []string{"renamed"}, false); err != nil || len(found) != 1 {
		t.Errorf("by its new name are found %v, %v", found, err)
	}
	b.did(b.client.ReleaseJob(ctx, second))
	b.did(b.client.ReleaseJob(ctx, third))
	b.until(second, running)
	if j := b.until(third, running); j.Cluster != "b" {
		t.Errorf("job %s runs on %s", third, j.Cluster)
	}
	b.did(b.client.UpdateJob(ctx, first, &api.Update{On: []string{"b"}}))
	b.did(b.client.ReleaseJob(ctx, first))
	for _, id := range []string{second, third} {
		if _, err := b.client.CancelNow(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if j := b.until(first, running); j.Cluster != "b" || j.Attempts != 2 {
		t.Errorf("job %s runs on %s, attempt %d", first, j.Cluster, j.Attempts)
	}
	if _, err := b.client.CancelNow(ctx, first); err != nil {
		t.Fatal(err)
	}
}

// counted is how far a program that counts has come.
func counted(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// A suspended program stands still, with its children, and keeps its core; the broker may end meanwhile. It goes on where
// it was. If its agent is killed it waits for its user.
func TestASuspendedJobStandsStillAndGoesOn(t *testing.T) {
	b := up(t, oneCore)
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "count")
	spec := job("sh", "-c", "(n=0; while :; do n=$((n+1)); echo $n > "+file+".new; mv "+file+".new "+file+"; sleep 0.02; done) & wait")
	spec.On, spec.Checkpoint.Method = []string{"a"}, "restart"
	id := b.submit(spec)
	b.until(id, running)
	moves := func(what string) {
		t.Helper()
		from := counted(t, file)
		clocktest.WaitFor(t, what, func() bool { n := counted(t, file); return n > 0 && n != from })
	}
	moves("the program to count")
	if text := b.did(b.client.SuspendJob(ctx, id)); !strings.HasSuffix(text, "suspended") {
		t.Fatalf("suspended: %q", text)
	}
	still := counted(t, file)
	b.restart()
	waiting := b.submit(spec)
	if _, err := b.client.MigrateJob(ctx, id, "b"); err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("a suspended job is moved: %v", err)
	}
	time.Sleep(time.Second) // what stands still is seen by nothing happening
	if n := counted(t, file); n != still {
		t.Errorf("it counted from %d to %d while it was suspended", still, n)
	}
	if j := b.look(id); j.State != core.Running || j.Suspended == nil || j.Cluster != "a" {
		t.Errorf("it is %+v", j)
	}
	if j := b.look(waiting); j.Started != nil {
		t.Errorf("another job has its core")
	}
	b.did(b.client.ResumeJob(ctx, id))
	moves("the program to go on")
	b.did(b.client.SuspendJob(ctx, id))
	b.killAgent(id)
	b.until(id, func(j *api.Job) bool { return j.State == core.Resuming && strings.Contains(j.Why, "suspended") })
	if _, err := b.client.CancelNow(ctx, waiting); err != nil {
		t.Fatal(err)
	}
	b.did(b.client.ResumeJob(ctx, id))
	if j := b.until(id, running); j.Attempts != 2 || j.Suspended != nil {
		t.Errorf("it is %+v", j)
	}
	moves("the next attempt")
	b.did(b.client.SuspendJob(ctx, id))
	if j, err := b.client.CancelJob(ctx, id); err != nil || j.State != core.Cancelled {
		t.Errorf("a suspended job is cancelled: %+v, %v", j, err)
	}
}

// A job that runs gets another deadline, which it can meet nowhere: its agent asks at once.
func TestAnotherDeadlineIsDecidedOnAtOnce(t *testing.T) {
	b := up(t, oneCore)
	spec := job("sh", "-c", "while :; do :; done")
	spec.Estimate, spec.Deadline, spec.Checkpoint.Method = time.Hour, 100*time.Hour, "restart"
	id := b.submit(spec)
	b.until(id, func(j *api.Job) bool { return j.PDeadline != nil && *j.PDeadline > 0.99 && j.PredictedEnd != nil })
	if asked := b.explained(id, "decide", ""); len(asked) > 0 {
		t.Fatalf("it was decided before: %v", asked)
	}
	soon := api.Time{Time: time.Now().Add(10 * time.Minute)}
	text := b.did(b.client.UpdateJob(context.Background(), id, &api.Update{Deadline: &soon}))
	if !strings.Contains(text, "deadline") {
		t.Errorf("it says %q", text)
	}
	clocktest.WaitFor(t, "a decision", func() bool { return len(b.explained(id, "decide", "")) > 0 })
	if j := b.look(id); j.Deadline == nil || j.Deadline.Sub(soon.Time).Abs() > time.Second {
		t.Errorf("its deadline is %v, not %v", j.Deadline, soon)
	}
	if _, err := b.client.CancelNow(context.Background(), id); err != nil {
		t.Fatal(err)
	}
}

// In the sandbox it is the sandbox that stands still. A program that is cancelled meanwhile can still end by itself.
func TestASuspendedSandboxStandsStillAndGoesOn(t *testing.T) {
	b := up(t, oneCore)
	ctx := context.Background()
	spec := job("sh", "-c", "trap 'echo ended; exit 3' TERM; n=0; while :; do n=$((n+1)); echo $n; sleep 0.02; done")
	spec.Checkpoint.Method = "sandbox"
	id := b.submit(spec)
	b.until(id, running)
	grows := func(what string) {
		t.Helper()
		from := len(b.output(id, 1))
		clocktest.WaitFor(t, what, func() bool { return len(b.output(id, 1)) > from+20 })
	}
	grows("the program to write")
	b.did(b.client.SuspendJob(ctx, id))
	before := -1
	clocktest.PollLoop{Limit: time.Minute, Pause: time.Second}.WaitFor(t, "the program to stand still", func() bool {
		was := before // what it wrote before may still be on its way
		before = len(b.output(id, 1))
		return before == was
	})
	b.did(b.client.ResumeJob(ctx, id))
	grows("the program to go on")
	b.did(b.client.SuspendJob(ctx, id))
	if j, err := b.client.CancelJob(ctx, id); err != nil || j.State != core.Cancelled {
		t.Errorf("it is %+v, %v", j, err)
	}
	if out := b.output(id, 1); !strings.HasSuffix(out, "ended\n") {
		t.Errorf("it did not end by itself: %.40q", out[max(0, len(out)-40):])
	}
}
