package broker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// recordedLine is a line of a recorded conversation.
type recordedLine struct {
	Message *wire.Message `json:"message"`
	Order   *wire.Order   `json:"order"`
}

func readRecorded(t *testing.T, name string) []recordedLine {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "agents", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var lines []recordedLine
	for in := bufio.NewScanner(f); in.Scan(); {
		var l recordedLine
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// speakRecorded says what the recorded agent said, as the agent of an attempt, and waits for what it was told.
func (a *attempt) speakRecorded(t *testing.T, lines []recordedLine) {
	t.Helper()
	mine, theirs := net.Pipe()
	b := a.grid.broker()
	a.grid.serving.Go(func() {
		_ = b.ServeAgent(context.Background(), &wire.Conn{Conn: theirs, R: bufio.NewReader(theirs)})
	})
	defer func() { _ = mine.Close() }()
	told := make(chan wire.Order, 100)
	a.grid.serving.Go(func() {
		defer close(told)
		for in := bufio.NewReader(mine); ; {
			var o wire.Order
			if wire.ReadFrame(in, &o) != nil {
				return
			}
			told <- o
		}
	})
	for _, l := range lines {
		if l.Order != nil {
			for o := range told {
				if o.Kind == l.Order.Kind && (o.Kind != wire.Ack || o.Seq >= l.Order.Seq) {
					break
				}
			}
			continue
		}
		m := *l.Message
		if m.Kind == wire.Hello {
			if m.Version != 0 {
				t.Fatalf("the recorded agent speaks version %d", m.Version)
			}
			m.Job, m.Epoch, m.Mark = a.Job, a.Epoch, a.Mark
		}
		if err := wire.WriteFrame(mine, &m); err != nil {
			t.Fatal(err)
		}
	}
}

// Agents outlive the broker that started them: after an upgrade the new broker hears agents of
// the release before.
func TestAnAgentOfTheLastReleaseIsHeard(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	g.next().speakRecorded(t, readRecorded(t, "run.jsonl"))
	v := g.until(id, core.Failed)
	if got := g.logs(id); v.Code != 3 || got != "hello\n" || v.Runs != 1 {
		t.Errorf("it ended with %d in run %d and wrote %q", v.Code, v.Runs, got)
	}
}

func TestAnAgentOfTheLastReleaseIsStopped(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	to := map[string]string{"a": "b", "b": "a"}[a.Cluster]
	moved := make(chan error, 1)
	go func() {
		g.until(id, core.Running)
		_, err := g.broker().MigrateJob(context.Background(), fmt.Sprint(id), to)
		moved <- err
	}()
	a.speakRecorded(t, readRecorded(t, "stop.jsonl"))
	b := g.next()
	b.run()
	if err := <-moved; err != nil || b.Cluster != to {
		t.Errorf("it runs on %s: %v", b.Cluster, err)
	}
	b.end(0)
	g.until(id, core.Done)
}

// greetAs has an agent say hello with a version.
func (a *attempt) greetAs(version int, release string) (refused bool) {
	mine, theirs := net.Pipe()
	b := a.grid.broker()
	a.grid.serving.Go(func() {
		_ = b.ServeAgent(context.Background(), &wire.Conn{Conn: theirs, R: bufio.NewReader(theirs)})
	})
	defer func() { _ = mine.Close() }()
	_ = wire.WriteFrame(mine, &wire.Message{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Mark: a.Mark, Version: version,
		Release: release})
	var o wire.Order
	return wire.ReadFrame(bufio.NewReader(mine), &o) != nil || o.Kind != wire.Ack
}

func TestAnAgentThatIsTooNewIsRefusedAndItsProgramRunsOn(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	a.cut()
	for range 3 {
		if !a.greetAs(wire.Version+1, "v9.1") {
			t.Error("an agent that nobody understands is heard")
		}
	}
	var said []string
	_, entries, err := g.broker().ExplainJob(t.Context(), fmt.Sprint(id))
	for _, e := range entries {
		if e.Kind == "agent" {
			said = append(said, e.Choice+": "+e.Why)
		}
	}
	if err != nil || len(said) != 1 || !strings.HasPrefix(said[0], fmt.Sprintf(
		"refused: the agent (release v9.1) speaks version %d of the protocol and is too new for this broker, which speaks "+
			"versions %d to %d;", wire.Version+1, wire.OldestVersion, wire.Version)) || strings.Contains(said[0], "\n") {
		t.Errorf("explained by %q, %v", said, err)
	}
	if v := g.view(id); v.State != core.Running || v.Epoch != 1 {
		t.Errorf("it is %s in attempt %d", v.State, v.Epoch)
	}
	if a.greetAs(wire.Version, "v1") {
		t.Error("an agent of this version is refused")
	}
	a.connect() // a broker that understands it
	a.end(0)
	g.until(id, core.Done)
}

// An order to save is given again to an agent that comes back, with its number, also by the next
// broker, until it is answered; the next attempt is not given it.
func TestAnOrderToSaveIsGivenAgainUntilItIsAnswered(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	go func() { _, _ = g.broker().CheckpointJob(context.Background(), fmt.Sprint(id)) }()
	first := a.order(t, wire.Save)
	if first.Serial == 0 || first.Epoch != a.Epoch {
		t.Errorf("the order is %+v", first)
	}
	a.cut()
	a.connect()
	if again := a.order(t, wire.Save); again.Serial != first.Serial {
		t.Errorf("given again as %+v", again)
	}
	g.kill()
	g.up()
	a.connect()
	if again := a.order(t, wire.Save); again.Serial != first.Serial || again.Epoch != a.Epoch {
		t.Errorf("given again by the next broker as %+v", again)
	}
	a.say(wire.Message{Kind: wire.Checkpoint, Saved: &wire.Saved{Method: "sandbox", Work: "w", Image: "i"}})
	a.untilAcknowledged(t)
	a.cut()
	a.connect()
	moved := make(chan error, 1)
	to := map[string]string{"a": "b", "b": "a"}[a.Cluster]
	go func() {
		_, err := g.broker().MigrateJob(context.Background(), fmt.Sprint(id), to)
		moved <- err
	}()
	for { // the order to stop is the next
		o := <-a.orders
		if o.Kind == wire.Save {
			t.Errorf("given again after it was answered: %+v", o)
		}
		if o.Kind == wire.Stop {
			if o.Serial <= first.Serial || o.Epoch != a.Epoch {
				t.Errorf("the order to stop is %+v", o)
			}
			break
		}
	}
	a.say(wire.Message{Kind: wire.Left, Saved: &wire.Saved{Method: "sandbox", Work: "w", Image: "i"}})
	b := g.next()
	b.run()
	if err := <-moved; err != nil {
		t.Error(err)
	}
	b.end(0)
	g.until(id, core.Done)
	for len(b.orders) > 0 {
		if o := <-b.orders; o.Kind == wire.Save {
			t.Errorf("the next attempt is told %+v", o)
		}
	}
}
