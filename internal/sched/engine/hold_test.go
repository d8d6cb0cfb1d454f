package engine_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// crowd is jobs that wait for the first one, and for a moment in some cases.
type crowd struct {
	spec    world.Spec
	cfg     engine.Config
	waiting []core.Job
	code    int // with which the first one ends
}

func fourProcs() world.Spec {
	return world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: []world.HostSpec{{Procs: 4, Speed: 1}}}}}
}

func drawCrowd(t *rapid.T) *crowd {
	c := &crowd{spec: fourProcs(), cfg: engine.Config{Approach: engine.PWA, ResultsAtEnd: true},
		code: rapid.IntRange(0, 1).Draw(t, "code")}
	each := rapid.IntRange(1, 60).Draw(t, "elements of an array")
	mixed := rapid.Bool().Draw(t, "mixed")
	when := rapid.Custom(func(t *rapid.T) core.Condition { return core.Condition(rapid.IntRange(0, 3).Draw(t, "when")) })
	one := when.Draw(t, "condition")
	for i := range rapid.IntRange(1, 150).Draw(t, "jobs") {
		id := core.JobID(i + 2)
		j := core.Job{ID: id, Components: []core.Component{{Min: 1, Max: 1}}}
		d := core.Dependency{Job: 1, When: one, Target: core.Target{Unfinished: 1}}
		if mixed {
			d.When = when.Draw(t, "condition")
			if rapid.IntRange(0, 3).Draw(t, "later") == 0 {
				j.Begin = core.AtSecond(float64(rapid.IntRange(5, 7).Draw(t, "begin")))
			}
		}
		j.After = []core.Dependency{d}
		if i/each%2 == 1 {
			j.Array, j.ArrayLimit = core.JobID(i/each*each+2), 3
		}
		c.waiting = append(c.waiting, j)
	}
	return c
}

// letGo has the first job end and gives what becomes of the others. With again the engine
// is lost after each of some steps of which something is left, and made anew.
func (c *crowd) letGo(t *rapid.T, perStep int, again func(w *world.World, log []core.Event) *world.World) []string {
	w := world.New(c.spec)
	eng := engine.New(c.cfg, w)
	eng.LimitHolds(perStep)
	var log []core.Event
	now := core.AtSecond(1)
	step := func(in core.Input) core.Time {
		out := eng.Step(now, &in)
		log = append(log, slices.Clone(out.Events)...)
		touched := map[core.JobID]bool{}
		for i := range out.Events {
			touched[out.Events[i].Job] = true
		}
		if len(touched) > 2*perStep+6 {
			t.Fatalf("a step touched %d jobs, may look at %d", len(touched), perStep)
		}
		return out.WakeAt
	}
	step(core.Input{Kind: core.Submit, Spec: &core.Job{ID: 1, Components: []core.Component{{Min: 4, Max: 4}}}})
	step(core.Input{Kind: core.Started, Job: 1, Epoch: 1})
	for i := range c.waiting {
		step(core.Input{Kind: core.Submit, Spec: &c.waiting[i]})
	}
	wake := step(core.Input{Kind: core.Ended, Job: 1, Epoch: 1, ExitCode: c.code})
	for n := 0; wake != core.Never; n++ {
		if n > 100*(len(c.waiting)+10) {
			t.Fatal("it never comes to rest")
		}
		if again != nil && wake == now && n < 10 {
			eng = engine.New(c.cfg, again(eng.World(), log))
			eng.LimitHolds(perStep)
		}
		now = max(now, wake)
		wake = step(core.Input{Kind: core.Tick})
		if err := eng.World().CheckInvariants(); err != nil {
			t.Fatal(err)
		}
	}
	var list []string
	for i := range c.waiting {
		fate := "over"
		if j := eng.World().Job(c.waiting[i].ID); j != nil {
			fate = j.CurrentHold().String()
		}
		list = append(list, fate)
	}
	return list
}

func TestWhoWaitsIsReleasedHoweverFewAStepLooksAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCrowd(t)
		want := c.letGo(t, 1_000_000, nil)
		perStep := rapid.IntRange(1, 40).Draw(t, "jobs per step")
		for how, again := range map[string]func(*world.World, []core.Event) *world.World{
			"without a restart": nil,
			"from the log": func(_ *world.World, log []core.Event) *world.World {
				w, err := replay(c.spec, log)
				if err != nil {
					t.Fatal(err)
				}
				return w
			},
			"from a snapshot": func(w *world.World, _ []core.Event) *world.World {
				shot, err := w.EncodeSnapshot()
				if err != nil {
					t.Fatal(err)
				}
				if w, err = world.RestoreSnapshot(c.spec, shot); err != nil {
					t.Fatal(err)
				}
				return w
			},
		} {
			if got := c.letGo(t, perStep, again); !slices.Equal(got, want) {
				t.Fatalf("%s, %d in a step:\n%v, want\n%v", how, perStep, got, want)
			}
		}
	})
}

func TestALargeArrayIsReleasedInSteps(t *testing.T) {
	const size = 10_000
	eng := engine.New(engine.Config{Approach: engine.PWA, Describes: true, DescribeEvery: time.Hour},
		world.New(fourProcs()))
	eng.Step(0, &core.Input{Kind: core.Submit, Spec: &core.Job{ID: 1, Components: []core.Component{{Min: 1, Max: 1}}}})
	after := func(job core.JobID) []core.Dependency {
		return []core.Dependency{{Job: job, When: core.AfterAny, Target: core.Target{Unfinished: 1}}}
	}
	for id := core.JobID(10); id < 10+size; id++ {
		eng.Step(0, &core.Input{Kind: core.Submit, Spec: &core.Job{ID: id, Array: 10, After: after(1),
			Components: []core.Component{{Min: 1, Max: 1}}}})
	}
	asked := map[core.JobID]int{}
	in := core.Input{Kind: core.Returned, Job: 1, Outcome: core.Done}
	eng.Step(0, &core.Input{Kind: core.Started, Job: 1, Epoch: 1})
	eng.Step(0, &core.Input{Kind: core.Ended, Job: 1, Epoch: 1})
	for steps := 0; ; steps++ {
		out := eng.Step(0, &in)
		if len(out.Events) > 300 || steps > size {
			t.Fatalf("step %d has %d events", steps, len(out.Events))
		}
		for _, c := range out.Commands {
			asked[c.Job]++
		}
		if out.WakeAt != 0 {
			break
		}
		// Other inputs of the same moment, which may be many, leave the rest to the next tick.
		more := eng.Step(0, &core.Input{Kind: core.Felt, Cluster: 0, Reachable: true, Share: 1})
		if len(more.Commands) > 0 || more.WakeAt != 0 {
			t.Fatalf("after step %d another input has %d commands, and a tick is asked for at %v", steps,
				len(more.Commands), more.WakeAt)
		}
		in = core.Input{Kind: core.Tick}
	}
	if counts := slices.Collect(maps.Values(asked)); len(asked) != size || slices.Max(counts) != 1 {
		t.Errorf("%d jobs of %d are released, one %d times", len(asked), size, slices.Max(counts))
	}
}
