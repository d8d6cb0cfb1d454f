package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ending is a job that runs in a folder, and the cancelling of it.
type ending struct {
	*grid
	home string
	id   core.JobID
	a    *attempt
	done chan *broker.View
}

func newEnding(t *testing.T, spec jobfile.Job) *ending {
	t.Helper()
	e := &ending{grid: newDepotGrid(t), home: t.TempDir(), done: make(chan *broker.View, 2)}
	e.id = e.submitIn(e.home, pushed(t, e.depot, "in"), complete(spec))[0]
	e.a = e.next()
	e.a.setStubborn()
	e.a.run()
	e.until(e.id, core.Running)
	return e
}

func (e *ending) cancel(how func(*broker.Broker, context.Context, string) (*broker.View, error)) {
	b := e.broker()
	e.serving.Go(func() {
		v, err := how(b, context.Background(), fmt.Sprint(e.id))
		if err != nil {
			e.t.Error(err)
		}
		e.done <- v
	})
}

func (e *ending) cancelled() *broker.View {
	e.t.Helper()
	select {
	case v := <-e.done:
		if v.State != core.Cancelled {
			e.t.Errorf("it is %+v", v)
		}
		return v
	case <-time.After(3 * time.Minute):
		e.t.Fatal("it is not over")
		return nil
	}
}

func TestACancelledProgramHasTimeToEndAndItsFilesComeHome(t *testing.T) {
	grace := 7 * time.Minute // of which the test needs next to nothing, on any machine
	e := newEnding(t, jobfile.Job{Grace: &grace, Retries: 3, RetryOn: []string{jobfile.RetryFailed}})
	e.cancel((*broker.Broker).CancelJob)
	if o := e.a.order(t, wire.Cancel); o.Within <= 0 || o.Within > grace {
		t.Errorf("it is given %s, of %s", o.Within, grace)
	}
	if v := e.view(e.id); v.State != core.Stopping {
		t.Errorf("it is %v before its program has ended", v.State)
	}
	e.a.say(wire.Message{Kind: wire.Ended, Code: 143, Result: pushed(t, e.depot, "in", "partial.txt")})
	v := e.cancelled()
	if !v.Partial || v.Code != 130 || !v.Over {
		t.Errorf("it is %+v", v)
	}
	if text, err := os.ReadFile(filepath.Join(e.home, "partial.txt")); err != nil || string(text) != "partial.txt" {
		t.Errorf("home: %q, %v", text, err)
	}
	if said := e.explained(e.id, "results"); len(said) != 1 ||
		!strings.Contains(said[0].Choice, "partial results copied back") {
		t.Errorf("said: %+v", said)
	}
}

func TestABrokerThatWasKilledWhileAJobIsCancelledGoesOnWithIt(t *testing.T) {
	e := newEnding(t, jobfile.Job{})
	b := e.broker()
	e.serving.Go(func() { _, _ = b.CancelJob(context.Background(), fmt.Sprint(e.id)) }) // it is cut off
	e.a.order(t, wire.Cancel)
	e.a.cut()
	e.kill()
	e.up()
	e.a.connect()
	if o := e.a.order(t, wire.Cancel); o.Within <= 0 || o.Within > broker.DefaultGrace {
		t.Errorf("it is given %s", o.Within)
	}
	e.a.say(wire.Message{Kind: wire.Ended, Code: 143, Result: pushed(t, e.depot, "in", "partial.txt")})
	e.until(e.id, core.Cancelled)
	e.untilOver(e.id)
	if _, err := os.Stat(filepath.Join(e.home, "partial.txt")); err != nil {
		t.Error(err)
	}
}

func TestWhoCancelsAgainAtOnceDoesNotWaitForTheFiles(t *testing.T) {
	e := newEnding(t, jobfile.Job{})
	e.cancel((*broker.Broker).CancelJob)
	e.a.order(t, wire.Cancel)
	e.cancel((*broker.Broker).CancelNow)
	if o := e.a.order(t, wire.Cancel); o.Within != 0 {
		t.Errorf("it is given %s", o.Within)
	}
	e.cancel((*broker.Broker).CancelNow)
	if v := e.cancelled(); !v.Lost || v.Partial {
		t.Errorf("it is %+v", v)
	}
	e.cancelled()
	e.cancelled()
}

func TestTheFilesOfTheNewestCheckpointComeHomeIfThereAreNoOthers(t *testing.T) {
	e := newEnding(t, jobfile.Job{Retries: 5})
	e.a.say(wire.Message{Kind: wire.Checkpoint,
		Saved: &wire.Saved{Method: "sandbox", Work: pushed(t, e.depot, "in", "early.txt")}})
	e.cancel((*broker.Broker).CancelJob)
	e.a.order(t, wire.Cancel)
	e.a.say(wire.Message{Kind: wire.Lost, Why: "its host died"})
	if v := e.cancelled(); !v.Partial || v.FromCheckpoint != 1 {
		t.Errorf("it is %+v", v)
	}
	if _, err := os.Stat(filepath.Join(e.home, "early.txt")); err != nil {
		t.Error(err)
	}
}

func TestAnOutputThatWasNeverMadeIsSaid(t *testing.T) {
	e := newEnding(t, jobfile.Job{Outputs: []string{"made.txt", "nope*.txt", "in"}})
	e.a.say(wire.Message{Kind: wire.Ended, Result: pushed(t, e.depot, "in", "made.txt")})
	e.until(e.id, core.Done)
	e.untilOver(e.id)
	if v := e.view(e.id); len(v.Missing) != 1 || v.Missing[0] != "nope*.txt" {
		t.Errorf("missing: %q", v.Missing)
	}
	if said := e.explained(e.id, "results"); len(said) != 1 || !strings.Contains(said[0].Choice, "nope*.txt") {
		t.Errorf("said: %+v", said)
	}
}

// Its program may have begun and written something: nobody has told yet.
func TestAJobThatIsCancelledBeforeItsAgentSpokeSaysThatItsFilesAreLost(t *testing.T) {
	g := newDepotGrid(t)
	id := g.submitIn(t.TempDir(), pushed(t, g.depot, "in"), complete(jobfile.Job{}))[0]
	g.next()
	v, err := g.broker().CancelJob(t.Context(), fmt.Sprint(id))
	if err != nil || v.State != core.Cancelled || !v.Lost {
		t.Errorf("it is %+v, %v", v, err)
	}
}
