package engine_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// A program that shares memory is offered processors of its own host alone, and those of another host go to whoever runs
// there, whatever the policy.
func TestAProgramThatSharesMemoryGrowsOnItsHost(t *testing.T) {
	for _, policy := range malleable.PolicyNames() {
		cfg := engine.DefaultConfig()
		cfg.Malleable = malleable.ByName(policy)
		e := engine.New(cfg, world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a",
			Hosts: []world.HostSpec{{Procs: 4, Speed: 1}, {Procs: 8, Speed: 1}}}}}))
		now, offered := core.Time(1), map[core.JobID]core.ProcSet{}
		step := func(in core.Input) {
			now++
			for _, c := range e.Step(now, &in).Commands {
				if c.Kind == core.Offer {
					offered[c.Job] = c.Procs
				}
			}
		}
		for i, size := range []int{2, 4} {
			step(core.Input{Kind: core.Submit, Spec: &core.Job{ID: core.JobID(i + 1), Kind: core.Malleable, Estimate: 1000,
				Components: []core.Component{{Min: size, Max: 12, Initial: size, OneHost: true}}}})
		}
		for id := range core.JobID(2) {
			step(core.Input{Kind: core.Started, Job: id + 1, Epoch: 1})
		}
		for round := 0; len(offered) > 0 && round < 10; round++ {
			for id := range core.JobID(2) {
				n := offered[id+1].CountProcs()
				delete(offered, id+1)
				step(core.Input{Kind: core.Answer, Job: id + 1, Epoch: 1, N: n})
			}
		}
		w := e.World()
		for id := range core.JobID(2) {
			p := w.Job(id + 1).Part(0)
			if on := p.Cluster().HostsOf(p.Procs()); len(on) != 1 {
				t.Errorf("%s: job %d has %v, on hosts %v", policy, id+1, p.Procs(), on)
			}
		}
		if free := w.Cluster(0).IdleProcs(); free > 0 {
			t.Errorf("%s: %d stay idle: %v and %v", policy, free, w.Job(1).Part(0).Procs(), w.Job(2).Part(0).Procs())
		}
	}
}
