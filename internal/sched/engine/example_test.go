package engine_test

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// A caller tells the engine what happened, one input at a time, and carries out the
// commands that come back. Two jobs want the one host of a cluster.
func ExampleEngine_Step() {
	hosts := []world.HostSpec{{Procs: 2, Speed: 1}}
	w := world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "leeds", Hosts: hosts}}})
	e := engine.New(engine.DefaultConfig(), w)
	tell := func(second float64, in core.Input) {
		out := e.Step(core.AtSecond(second), &in)
		for _, ev := range out.Events {
			if ev.Kind == core.JobBecame {
				fmt.Printf("%.0f s: job %d is %s\n", second, ev.Job, ev.To)
			}
		}
		for _, c := range out.Commands { // durable first, in a real caller
			fmt.Printf("%.0f s: to do: %s job %d, attempt %d\n", second, c.Kind, c.Job, c.Epoch)
		}
	}
	both := []core.Component{{Min: 2, Max: 2}}
	tell(0, core.Input{Kind: core.Submit, Spec: &core.Job{ID: 1, Components: both}})
	tell(1, core.Input{Kind: core.Submit, Spec: &core.Job{ID: 2, Components: both}})
	tell(2, core.Input{Kind: core.Started, Job: 1, Epoch: 1})
	tell(9, core.Input{Kind: core.Ended, Job: 1, Epoch: 1})
	// Output:
	// 0 s: job 1 is SELECTED
	// 0 s: job 1 is QUEUED
	// 0 s: to do: start job 1, attempt 1
	// 2 s: job 1 is RUNNING
	// 9 s: job 1 is DONE
	// 9 s: job 2 is SELECTED
	// 9 s: job 2 is QUEUED
	// 9 s: to do: start job 2, attempt 1
}
