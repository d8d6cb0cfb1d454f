package engine_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// treadmill keeps an engine in a steady state: jobs come, run and end, and
// every command is answered at once in the way that needs least thought.
type treadmill struct {
	eng     *engine.Engine
	now     core.Time
	specs   []core.Job
	next    int
	running []core.Input // Ended messages of running jobs, oldest first
	inbox   []core.Input
	steps   int
}

func newTreadmill(cfg engine.Config, spec world.Spec, live int, job core.Job) *treadmill {
	t := &treadmill{eng: engine.New(cfg, world.New(spec)), specs: make([]core.Job, 2*live)}
	for i := range t.specs {
		t.specs[i] = job
	}
	for range live {
		t.submit()
	}
	return t
}

// life brings one job and takes the oldest running one away.
func (t *treadmill) life() {
	t.now += core.AtSecond(1)
	if len(t.running) > 0 {
		ended := t.running[0]
		t.running = t.running[:copy(t.running, t.running[1:])]
		t.tell(ended)
	}
	t.submit()
}

func (t *treadmill) submit() {
	spec := &t.specs[t.next%len(t.specs)]
	t.next++
	spec.ID = core.JobID(t.next)
	t.tell(core.Input{Kind: core.Submit, Job: spec.ID, Spec: spec})
}

func (t *treadmill) tell(in core.Input) {
	t.inbox = append(t.inbox[:0], in)
	for i := 0; i < len(t.inbox); i++ {
		t.steps++
		out := t.eng.Step(t.now, &t.inbox[i])
		for _, c := range out.Commands {
			switch c.Kind {
			case core.Start:
				t.inbox = append(t.inbox, core.Input{Kind: core.Started, Job: c.Job, Epoch: c.Epoch})
				t.running = append(t.running, core.Input{Kind: core.Ended, Job: c.Job, Epoch: c.Epoch})
			case core.Offer:
				t.inbox = append(t.inbox, core.Input{Kind: core.Answer, Job: c.Job, Epoch: c.Epoch, Part: c.Part,
					N: max(c.N, -c.N)})
			}
		}
	}
}

func (t *treadmill) run(b *testing.B) {
	for range 1000 {
		t.life()
	}
	t.steps = 0
	b.ReportAllocs()
	for b.Loop() {
		t.life()
	}
	b.ReportMetric(float64(t.steps)/float64(b.N), "steps/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(t.steps), "ns/step")
	if err := t.eng.World().CheckInvariants(); err != nil {
		b.Fatal(err)
	}
}

// One operation is the whole life of one job, while 64 live.
func BenchmarkLifeRigidManaged(b *testing.B) {
	spec := world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Managed: true, Hosts: hosts(128)}}}
	job := core.Job{Kind: core.Rigid, Components: []core.Component{{Min: 4, Max: 4}}}
	newTreadmill(engine.Config{}, spec, 64, job).run(b)
}

// One operation is the whole life of one job, with all that others grow and
// shrink because of it, while 60 live.
func BenchmarkLifeMalleableFiveClusters(b *testing.B) {
	job := core.Job{Kind: core.Malleable, App: "gadget", Components: []core.Component{{Min: 2, Max: 46, Initial: 2}}}
	for _, approach := range []engine.Approach{engine.PRA, engine.PWA} {
		for _, name := range malleable.PolicyNames() {
			b.Run(approach.String()+"/"+name, func(b *testing.B) {
				cfg := engine.Config{Approach: approach, Malleable: malleable.ByName(name), ShrinkGrace: 60e9}
				newTreadmill(cfg, das3(), 60, job).run(b)
			})
		}
	}
}

// das3 is the testbed of papers/001, Table I.
func das3() world.Spec {
	var spec world.Spec
	for _, n := range []int{85, 41, 68, 46, 32} {
		spec.Clusters = append(spec.Clusters,
			world.ClusterSpec{Name: string(rune('a' + len(spec.Clusters))), Hosts: hosts(n)})
	}
	return spec
}

func hosts(n int) []world.HostSpec {
	list := make([]world.HostSpec, n)
	for i := range list {
		list[i] = world.HostSpec{Procs: 1, Speed: 1}
	}
	return list
}
