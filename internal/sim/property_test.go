package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// course is what is known of a run afterwards.
type course struct {
	records []outcome.Record
	hash    uint64 // of all events
	state   string // of the world at the end
	now     core.Time
	left    int
}

// Everything is over by then, and no instant of so small a grid needs more
// steps.
const (
	endlessTime  = core.Time(7 * 24 * time.Hour)
	endlessSteps = 5_000
)

// checked runs a situation step by step and verifies everything on the way.
func (s situation) checked(t *rapid.T) course {
	cfg := s.config()
	c := outcome.NewCollector(cfg.Platform.TotalProcs(), s.jobs, true)
	hash := fnv.New64a()
	var sim *Simulator
	var work *integrals
	var replay *world.World
	now, steps := core.Time(0), 0
	cfg.Observe = func(at core.Time, in *core.Input, out *engine.Output) {
		if at < now {
			t.Fatalf("a step at %d ns after one at %d ns", at, now)
		}
		if at > now {
			now, steps = at, 0
		}
		if at > endlessTime {
			t.Fatalf("at %g s there is no end in sight: %s of job %d, %v", at.Seconds(), in.Kind, in.Job, out.Events)
		}
		if steps++; steps > endlessSteps {
			t.Fatalf("at %g s it does not come to rest: %s of job %d, %v", at.Seconds(), in.Kind, in.Job, out.Events)
		}
		for i := range out.Events {
			ev := &out.Events[i]
			if ev.At != at {
				t.Fatalf("an event of %d ns in a step at %d ns", ev.At, at)
			}
			put(hash, *ev)
			c.Observe(ev)
			if err := work.observe(ev); err != nil {
				t.Fatalf("at %g s: %v", at.Seconds(), err)
			}
			if err := replay.ApplyEvent(ev); err != nil {
				t.Fatalf("at %g s: replay: %v", at.Seconds(), err)
			}
		}
		if err := sim.eng.World().CheckInvariants(); err != nil {
			t.Fatalf("at %g s, after %s: %v", at.Seconds(), in.Kind, err)
		}
	}
	sim, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	work, replay = newIntegrals(sim, cfg.Jobs.(*jobList).jobs), world.New(sim.spec)
	sim.beginRun()
	for at, more := sim.nextMoment(); more; at, more = sim.nextMoment() {
		if at < sim.now {
			t.Fatalf("time goes back from %d to %d", sim.now, at)
		}
		sim.runInstant(at)
		if err := sim.truth(); err != nil {
			t.Fatalf("at %g s: %v", at.Seconds(), err)
		}
	}
	if err := work.ended(sim.tasks); err != nil {
		t.Fatal(err)
	}
	state := string(sim.eng.World().AppendState(nil))
	if again := string(replay.AppendState(nil)); again != state {
		t.Fatalf("the events in the order in which they were observed give another world:\n%s\nand not\n%s", again, state)
	}
	return course{c.Records(), hash.Sum64(), state, sim.now, len(sim.tasks)}
}

// put adds an event to a hash; what was submitted is the same anyway.
func put(hash io.Writer, ev core.Event) {
	ev.Spec = nil
	fmt.Fprintf(hash, "%+v %v\n", ev, ev.Why)
}

// withoutCurves leaves out of a state what was learnt of programs.
func withoutCurves(state string) string {
	var kept []string
	for line := range strings.Lines(state) {
		if !strings.Contains(line, "scaling") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// bare runs a situation with nobody watching, or with the results only.
func (s situation) bare(t *rapid.T, watch bool) course {
	cfg := s.config()
	c := outcome.NewCollector(cfg.Platform.TotalProcs(), s.jobs, false)
	hash := fnv.New64a()
	if watch {
		cfg.Observe = func(_ core.Time, _ *core.Input, out *engine.Output) {
			for i := range out.Events {
				put(hash, out.Events[i])
				c.Observe(&out.Events[i])
			}
		}
	}
	sim, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	left, err := sim.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return course{c.Records(), hash.Sum64(), string(sim.eng.World().AppendState(nil)), sim.now, left}
}

func TestWhateverTheGridIsLikeARunIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 5 { // so that an ordinary test sees some hundreds
			if c := drawSituation(t).checked(t); c.left > 0 {
				t.Fatalf("%d jobs never end, although everything was repaired:\n%s", c.left, withoutCurves(c.state))
			}
		}
	})
}

func TestTheSameSeedGivesTheSameRunWhoeverWatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		checked, watched, alone := s.checked(t), s.bare(t, true), s.bare(t, false)
		switch {
		case checked.hash != watched.hash:
			t.Fatal("the same seed gives other events")
		case !slices.Equal(checked.records, watched.records):
			t.Fatal("the same run has other results when its course is not wanted")
		case checked.state != alone.state || checked.now != alone.now || checked.left != alone.left:
			t.Fatalf("with nobody watching the run ends otherwise: %d left at %d, and not %d at %d", alone.left, alone.now,
				checked.left, checked.now)
		}
	})
}
