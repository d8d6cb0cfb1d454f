package broker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAProgramThatFailsIsStartedAgainIfItsUserWants(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Retries: 2, RetryOn: []string{jobfile.RetryFailed}})
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Checkpoint, Saved: &wire.Saved{Method: "signal", Work: "w"}})
	a.end(137)
	b := g.next()
	if len(b.Saved) != 1 {
		t.Errorf("it is to continue from %+v", b.Saved)
	}
	b.run()
	b.end(1)
	c := g.next()
	c.run()
	c.end(3) // often enough
	if v := g.until(id, core.Failed); v.Code != 3 {
		t.Errorf("it is %+v", v.Job)
	}
	said := g.explained(id, "lost")
	if len(said) < 2 || !strings.Contains(said[0].Why, "retry 1 of 2, from checkpoint 1") {
		t.Errorf("explained by %+v", said)
	}
	if last := g.explained(id, "end"); len(last) == 0 ||
		!strings.Contains(last[0].Why, "retry limit reached (requeued 2 times)") {
		t.Errorf("explained by %+v", last)
	}
	clusters, err := g.broker().ListClusters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clusters {
		if c.Reliability.Requested != 0 {
			t.Errorf("that it failed is held against %s: %+v", c.Name, c.Reliability)
		}
	}
}

// Each case is a job's wishes and how its attempts are lost, one after the other,
// until it gets no more.
func TestOnlyLossesThatTheUserNamesAreMadeUpFor(t *testing.T) {
	lost := func(cause string) wire.Message { return wire.Message{Kind: wire.Lost, Why: "gone", Cause: cause} }
	left := func(cause string, saved *wire.Saved) wire.Message {
		return wire.Message{Kind: wire.Left, Why: "told to go", Cause: cause, Saved: saved}
	}
	for name, c := range map[string]struct {
		max    int
		on     []string
		lost   []wire.Message
		reason string
	}{
		"nothing is named": {max: 2, lost: []wire.Message{lost(jobfile.NodeFail), lost(jobfile.Preempted), lost("")},
			reason: "requeued 2 time"},
		"none at all": {lost: []wire.Message{lost(jobfile.NodeFail)}, reason: "requeued 0 time"},
		"a host dies": {max: 5, on: []string{jobfile.NodeFail},
			lost: []wire.Message{lost(jobfile.NodeFail), lost(jobfile.Preempted)}, reason: "not retried"},
		"it is preempted": {max: 1, on: []string{jobfile.Preempted},
			lost: []wire.Message{lost(jobfile.Preempted), lost(jobfile.Preempted)}, reason: "requeued 1 time"},
		"both, and nobody knows which": {max: 2, on: []string{jobfile.NodeFail, jobfile.Preempted},
			lost: []wire.Message{lost(""), lost(""), lost("")}, reason: "2 times"},
		"its own failures as well": {max: 2, on: []string{jobfile.RetryFailed},
			lost:   []wire.Message{lost(jobfile.NodeFail), {Kind: wire.Ended, Code: 3}, {Kind: wire.Ended, Code: 4}},
			reason: "code 4"},
		"not its own": {max: 2, on: []string{jobfile.NodeFail}, lost: []wire.Message{{Kind: wire.Ended, Code: 3}},
			reason: "code 3"},
		"told to go, unsaved": {max: 1, lost: []wire.Message{left(jobfile.Preempted, nil), left(jobfile.Preempted, nil)},
			reason: "requeued 1 time"},
		"told to go, saved": {max: 1, lost: []wire.Message{left(jobfile.Preempted, &wire.Saved{Method: "signal", Work: "w"}),
			left(jobfile.Preempted, &wire.Saved{Method: "signal", Work: "w"}),
			{Kind: wire.Ended, Code: 9}}, reason: "code 9"},
		"told to go, not wanted": {max: 1, on: []string{jobfile.NodeFail},
			lost: []wire.Message{left(jobfile.Preempted, &wire.Saved{Method: "signal", Work: "w"})}, reason: "not retried"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrid(t)
			id := g.submit(jobfile.Job{Retries: c.max, RetryOn: c.on})
			for _, m := range c.lost {
				a := g.next()
				a.run()
				a.say(m)
			}
			if v := g.until(id, core.Failed); !strings.Contains(v.Reason, c.reason) {
				t.Errorf("it failed because: %s", v.Reason)
			}
			select {
			case a := <-g.started:
				t.Errorf("attempt %d is started all the same", a.Epoch)
			default:
			}
		})
	}
}

func TestAJobThatIsLostAtOnceIsStartedAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		g.retryPause = time.Second
		g.up()
		id := g.submit(jobfile.Job{Retries: 10})
		for _, pause := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			began := time.Now()
			a := g.next()
			if waited := time.Since(began); waited < pause-100*time.Millisecond || waited > pause+500*time.Millisecond {
				t.Errorf("attempt %d is started after %v, want %v", a.Epoch, waited, pause)
			}
			a.run()
			a.say(wire.Message{Kind: wire.Lost, Why: "the test says so"})
			a.untilAcknowledged(t)
		}
		said := g.explained(id, "wait")
		if len(said) != 4 || !strings.Contains(said[3].Why, "4 times in a row") ||
			!strings.Contains(said[3].Why, "starts again in 8 s") {
			t.Errorf("explained by %+v", said)
		}
	})
}

func TestAJobWhoseWorkFolderIsDamagedFailsAtOnce(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Retries: 10, RetryOn: []string{jobfile.NodeFail}})
	a := g.next()
	a.connect()
	a.say(wire.Message{Kind: wire.Lost, Cause: wire.WorkDamaged, Why: "its work folder is damaged"})
	if v := g.until(id, core.Failed); v.Reason != "its work folder is damaged" {
		t.Errorf("it failed because: %s", v.Reason)
	}
	if n := g.a.startCalls() + g.b.startCalls(); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	if said := g.explained(id, "lost"); len(said) != 1 ||
		!strings.Contains(said[0].Why, "every further attempt would end the same way") {
		t.Errorf("explained by %+v", said)
	}
}
