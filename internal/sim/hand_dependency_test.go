package sim

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Dependencies, begin times and limits of arrays are simulated by the engine of the
// live broker.
func TestSimulatedJobsWaitForOthersForATimeAndForTheirArray(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 8), Engine: engine.DefaultConfig()}
	cfg.Engine.ResultsAtEnd = true
	unfinished := core.Target{Unfinished: 1, NotStarted: 1}
	p := play(t, cfg, rigid(0, 2, 100),
		with(rigid(1, 1, 10), func(j *workload.Job) {
			j.Spec.After = []core.Dependency{{Job: 1, When: core.AfterOK, Target: unfinished}}
		}),
		with(rigid(1, 1, 10), func(j *workload.Job) { j.Spec.Begin = core.AtSecond(30) }),
		with(rigid(2, 1, 10), func(j *workload.Job) { j.Spec.Array, j.Spec.ArrayLimit = 4, 1 }),
		with(rigid(2, 1, 10), func(j *workload.Job) { j.Spec.Array, j.Spec.ArrayLimit = 4, 1 }),
		with(rigid(3, 1, 10), func(j *workload.Job) {
			j.Spec.After = []core.Dependency{{Job: 1, When: core.AfterNotOK, Target: unfinished}}
		}))
	p.same("the one that waits for the first", p.states(2), "1 SUBMITTED, 100 SELECTED, 100 QUEUED, 100 RUNNING, 110 DONE")
	p.same("the one that begins later", p.states(3), "1 SUBMITTED, 30 SELECTED, 30 QUEUED, 30 RUNNING, 40 DONE")
	p.same("the second of the array", p.states(5), "2 SUBMITTED, 12 SELECTED, 12 QUEUED, 12 RUNNING, 22 DONE")
	p.same("the one that waits for a failure", p.states(6), "3 SUBMITTED, 100 CANCELLED")
}
