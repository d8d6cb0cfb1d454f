package sim

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// A user suspends the first job from 10 s to 60 s, and holds the second. Other clusters are drained then, so that
// something happens at these moments.
func TestASuspendedJobStandsStillAndKeepsItsProcessors(t *testing.T) {
	var sim *Simulator
	cfg := Config{Platform: clustersOf(t, 2, 1), Engine: engine.DefaultConfig(),
		Disturb: &Disturbances{Drains: inTurn(DrainChange{At: core.AtSecond(10), Cluster: 1, Drained: true},
			DrainChange{At: core.AtSecond(60), Cluster: 1})}}
	cfg.Observe = func(_ core.Time, in *core.Input, _ *engine.Output) {
		switch in.Kind {
		case core.DrainCluster:
			sim.tellEngine(core.Input{Kind: core.SuspendJob, Job: 1})
			sim.tellEngine(core.Input{Kind: core.HoldJob, Job: 2})
		case core.UndrainCluster:
			sim.tellEngine(core.Input{Kind: core.ContinueJob, Job: 1})
			sim.tellEngine(core.Input{Kind: core.ReleaseJob, Job: 2})
		}
	}
	p := playSim(t, cfg, &sim, rigid(0, 2, 100), rigid(5, 2, 10))
	p.same("states", p.states(1), "0 SUBMITTED, 0 SELECTED, 0 QUEUED, 0 RUNNING, 150 DONE")
	p.same("states", p.states(2), "5 SUBMITTED, 150 SELECTED, 150 QUEUED, 150 RUNNING, 160 DONE")
}
