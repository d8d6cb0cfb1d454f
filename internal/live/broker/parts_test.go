package broker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// twoParts is a job of two parts, each as large as a cluster.
func twoParts() jobfile.Job {
	return jobfile.Job{Min: 4, Max: 4, Retries: 3, Checkpoint: jobfile.Checkpoint{Method: "auto"},
		Components: []jobfile.Component{{Procs: 2}, {Procs: 2, Argv: []string{"other"}}}}
}

// nextParts are the attempts that were started next, by their part.
func (g *grid) nextParts() [2]*attempt {
	g.t.Helper()
	var list [2]*attempt
	for range list {
		a := g.next()
		list[a.Part] = a
	}
	if list[0] == nil || list[1] == nil || list[0].Epoch != list[1].Epoch || list[0].Cluster == list[1].Cluster {
		g.t.Fatalf("the parts are %+v and %+v", list[0], list[1])
	}
	return list
}

func (a *attempt) ready() {
	a.beConnected()
	a.say(wire.Message{Kind: wire.Ready, Hosts: []string{"host-of-" + a.Cluster}})
}

func (a *attempt) begin() {
	a.say(wire.Message{Kind: wire.Running, Method: "restart", Hosts: []string{"host-of-" + a.Cluster}})
}

// noOrder fails if an agent was told to begin.
func (a *attempt) noOrder(t *testing.T) {
	t.Helper()
	select {
	case o := <-a.orders:
		t.Fatalf("part %d gets %+v", a.Part, o)
	case <-time.After(50 * time.Millisecond):
	}
}

// freed waits until neither cluster knows an attempt.
func (g *grid) freed() {
	g.t.Helper()
	waitUntil(g.t, func() bool { return g.a.running()+g.b.running() == 0 },
		func() string { return fmt.Sprintf("%d and %d attempts are held", g.a.running(), g.b.running()) })
}

func (g *grid) partLog(id core.JobID, part int) string {
	g.t.Helper()
	var b strings.Builder
	if err := g.broker().CopyPartLogs(g.t.Context(), fmt.Sprint(id), part, 1, 0, false,
		func(p []byte) error { b.Write(p); return nil }); err != nil {
		g.t.Fatal(err)
	}
	return b.String()
}

func TestPartsBeginWhenAllAreReadyAndTheJobEndsWithTheLast(t *testing.T) {
	g := newGrid(t)
	id := g.submit(twoParts())
	p := g.nextParts()
	if p[0].Spec.Argv[0] != "prog" || p[1].Spec.Argv[0] != "other" || p[0].Procs != 2 || p[1].Parts != 2 ||
		p[1].Mark != p[0].Mark+".1" {
		t.Fatalf("the parts are told %+v and %+v", p[0].Attempt, p[1].Attempt)
	}
	p[0].ready()
	p[0].noOrder(t)
	p[1].ready()
	for part, a := range p {
		o := a.order(t, wire.Begin)
		if len(o.Contacts) != 2 || o.Contacts[1].First != 2 || o.Contacts[1].Ranks != 2 ||
			o.Contacts[part].Cluster != a.Cluster || o.Contacts[part].Hosts[0] != "host-of-"+a.Cluster {
			t.Errorf("part %d is told of %+v", part, o.Contacts)
		}
	}
	p[0].begin()
	if v := g.view(id); v.State != core.Queued {
		t.Errorf("it is %s while one part runs", v.State)
	}
	p[1].begin()
	g.until(id, core.Running)
	for part, a := range p {
		a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte(fmt.Sprintf("of part %d", part))})
	}
	p[0].end(0)
	waitUntil(t, func() bool { return g.view(id).Parts[0].Ended != 0 }, func() string { return "part 0 does not end" })
	if v := g.view(id); v.State != core.Running {
		t.Errorf("it is %s (%s) while part 1 runs", v.State, v.Reason)
	}
	p[1].end(0)
	v := g.until(id, core.Done)
	if v.Code != 0 || v.Epoch != 1 || v.CPU != 2 {
		t.Errorf("it is %+v", v.Job)
	}
	for part := range p {
		if got, want := g.partLog(id, part), fmt.Sprintf("of part %d", part); got != want {
			t.Errorf("part %d wrote %q, want %q", part, got, want)
		}
	}
	g.freed()
}

func TestTheFailureOfOnePartEndsTheOthersAndIsTheJobs(t *testing.T) {
	g := newGrid(t)
	id := g.submit(twoParts())
	p := g.nextParts()
	for _, a := range p {
		a.ready()
	}
	for _, a := range p {
		a.order(t, wire.Begin)
		a.begin()
	}
	g.until(id, core.Running)
	p[1].end(5)
	p[0].order(t, wire.Cancel)
	v := g.until(id, core.Failed)
	if v.Code != 5 || !strings.Contains(v.Reason, "part 1 ("+p[1].Cluster+")") {
		t.Errorf("it ended with %d: %s", v.Code, v.Reason)
	}
	g.freed()
}

func TestAPartThatCannotBeClaimedGivesBackTheOthers(t *testing.T) {
	g := newGrid(t)
	g.b.setFail(errors.New("not now"))
	id := g.submit(twoParts())
	first := g.next()
	first.ready()
	waitUntil(t, func() bool { return g.a.running() == 0 && g.view(id).State == core.Submitted },
		func() string { return fmt.Sprintf("%d are held in a, it is %s", g.a.running(), g.view(id).State) })
	if first.Cluster != "a" || len(g.explained(id, "lost")) == 0 {
		t.Errorf("part %d was started on %s", first.Part, first.Cluster)
	}
	g.b.setFail(nil)
	var p [2]*attempt
	for p[0] == nil || p[1] == nil || p[0].Epoch != p[1].Epoch { // tries of before may come
		a := g.next()
		p[a.Part] = a
	}
	for _, a := range p {
		a.ready()
	}
	for _, a := range p {
		a.order(t, wire.Begin)
		a.begin()
		a.end(0)
	}
	if v := g.until(id, core.Done); v.Epoch < 2 {
		t.Errorf("it ended in attempt %d", v.Epoch)
	}
	g.freed()
}

func TestAClusterThatRefusesAPartEndsAJobThatFitsNowhereElse(t *testing.T) {
	g := newGrid(t)
	g.b.setFail(fmt.Errorf("%w: no such account", driver.ErrRefused))
	id := g.submit(twoParts())
	v := g.until(id, core.Failed)
	if !strings.Contains(v.Reason, "no such account") {
		t.Errorf("it failed because %s", v.Reason)
	}
	g.freed()
}

func TestPartsWhoseClaimsDoNotComeTogetherAreGivenBack(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.claimGrace = 200 * time.Millisecond
	g.up()
	id := g.submit(twoParts())
	p := g.nextParts()
	p[0].ready()
	again := g.nextParts()
	if again[0].Epoch != 2 {
		t.Errorf("the next attempt is %d", again[0].Epoch)
	}
	p[0].noOrder(t)
	// All claimed, but one agent is away when it would have to begin.
	again[0].ready()
	again[1].ready()
	again[0].order(t, wire.Begin)
	again[1].order(t, wire.Begin)
	again[0].begin()
	third := g.nextParts()
	if v := g.view(id); third[0].Epoch != 3 || v.Losses != 0 {
		t.Errorf("the next attempt is %d, after %d losses", third[0].Epoch, v.Losses)
	}
}

func TestAnAgentThatIsLostBeforeAllBeginGivesBackTheOthers(t *testing.T) {
	g := newGrid(t)
	id := g.submit(twoParts())
	p := g.nextParts()
	p[0].ready()
	p[1].connect()
	p[1].say(wire.Message{Kind: wire.Lost, Why: "its host died", Cause: jobfile.NodeFail})
	again := g.nextParts()
	if again[0].Epoch != 2 || g.view(id).Runs != 0 {
		t.Errorf("attempt %d after %d runs", again[0].Epoch, g.view(id).Runs)
	}
	// An agent of the attempt before may come back, or not be gone yet, while the next one begins.
	p[0].connect()
	again[0].ready()
	again[0].noOrder(t)
	if g.view(id).State != core.Queued {
		t.Errorf("it is %s", g.view(id).State)
	}
}

func TestACancelledJobEndsInAllItsParts(t *testing.T) {
	g := newGrid(t)
	id := g.submit(twoParts())
	p := g.nextParts()
	for _, a := range p {
		a.ready()
	}
	for _, a := range p {
		a.order(t, wire.Begin)
		a.begin()
	}
	g.until(id, core.Running)
	if v, err := g.broker().CancelJob(t.Context(), fmt.Sprint(id)); err != nil || v.State != core.Cancelled {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, a := range p {
		a.order(t, wire.Cancel)
	}
	g.freed()
}

// Wherever the broker is killed on the way of a job of two parts, each part is started once and
// the job ends once.
func TestABrokerKilledAtAnyStepFindsBothParts(t *testing.T) {
	const steps = 8
	for killAt := range steps {
		t.Run(fmt.Sprint(killAt), func(t *testing.T) {
			g := newGrid(t)
			id := g.submit(twoParts())
			var p [2]*attempt
			n := 0
			step := func(f func()) {
				f()
				if n++; n-1 != killAt {
					return
				}
				g.kill()
				g.up()
				for _, a := range p {
					if a != nil && !a.isDead() {
						a.cut()
						a.connect()
					}
				}
			}
			step(func() {})
			step(func() { p = g.nextParts() })
			step(func() { p[0].ready() })
			step(func() { p[1].ready() })
			step(func() {
				for _, a := range p {
					a.order(t, wire.Begin)
				}
				p[0].begin()
			})
			step(func() { p[1].begin(); g.until(id, core.Running) })
			step(func() { p[0].end(0) })
			step(func() { p[1].end(0) })
			v := g.until(id, core.Done)
			if v.Epoch != 1 || v.Losses != 0 || len(g.explained(id, "end")) != 1 {
				t.Errorf("it ended in attempt %d after %d losses, %d times", v.Epoch, v.Losses, len(g.explained(id, "end")))
			}
			if len(g.started) != 0 {
				t.Errorf("%d more attempts were started", len(g.started))
			}
			g.freed()
		})
	}
}

func TestAJobOfOneComponentIsAnOrdinaryJob(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Min: 2, Max: 2, Checkpoint: jobfile.Checkpoint{Method: "auto"},
		Components: []jobfile.Component{{Procs: 2, Argv: []string{"own"}, On: []string{"b"}}}})
	a := g.next()
	if a.Cluster != "b" || a.Spec.Argv[0] != "own" || a.Parts != 0 || a.Mark == "" {
		t.Errorf("it is started as %+v", a.Attempt)
	}
	a.run()
	a.end(0)
	g.until(id, core.Done)
}

// A job that is larger than any cluster is split over both if its user wants that.
func TestFlexibleClusterMinimisationSplitsAJob(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Min: 3, Max: 3, Place: core.FlexibleMin})
	p := g.nextParts()
	if p[0].Procs+p[1].Procs != 3 || p[0].Spec.Min != p[0].Procs {
		t.Errorf("the parts have %d and %d cores", p[0].Procs, p[1].Procs)
	}
	for _, a := range p {
		a.ready()
	}
	for _, a := range p {
		a.order(t, wire.Begin)
		a.begin()
		a.end(0)
	}
	g.until(id, core.Done)
	g.freed()
	id = g.submit(jobfile.Job{Min: 2, Max: 2, Place: core.FlexibleMin})
	if a := g.next(); a.Job != id || a.Procs != 2 || a.Parts != 0 {
		t.Errorf("a job that fits into one cluster is started with %d cores as one of %d parts", a.Procs, a.Parts)
	}
}

// What a part made is kept while the others run, however long that takes, and comes home with
// what they made.
func TestTheResultOfAPartIsKeptUntilTheOthersEnd(t *testing.T) {
	g := newDepotGrid(t)
	push := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		id, _, _, err := depot.PushFolder(t.Context(), dir, g.depot, depot.PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(id)
	}
	home := t.TempDir()
	work := push(map[string]string{"in": "input"})
	spec := twoParts()
	id := g.submitIn(home, work, complete(spec))[0]
	p := g.nextParts()
	for _, a := range p {
		a.ready()
	}
	for _, a := range p {
		a.order(t, wire.Begin)
		a.begin()
	}
	g.until(id, core.Running)
	p[1].say(wire.Message{Kind: wire.Ended, Result: push(map[string]string{"in": "input", "both": "1", "one": "1"}),
		State: &wire.Vitals{Chance: -1}})
	waitUntil(t, func() bool { return g.view(id).Parts[1].Ended != 0 }, func() string { return "part 1 does not end" })
	if _, err := g.broker().PruneDepot(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	p[0].say(wire.Message{Kind: wire.Ended, Result: push(map[string]string{"in": "input", "both": "0"}),
		State: &wire.Vitals{Chance: -1}})
	g.until(id, core.Done)
	waitUntil(t, func() bool { return g.view(id).Over }, func() string { return "it is " + g.view(id).Unreturned })
	for name, want := range map[string]string{"both": "0", "one": "1"} {
		if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
		}
	}
}
