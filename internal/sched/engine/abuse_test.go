package engine_test

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// wild is a policy that proposes whatever it is told to.
type wild struct{ grow, shrink []malleable.Offer }

func (w *wild) Grow(_ world.View, _ *world.Cluster, _ int, dst []malleable.Offer) []malleable.Offer {
	return append(dst, w.grow...)
}

func (w *wild) Shrink(_ world.View, _ *world.Cluster, _ int, dst []malleable.Offer) []malleable.Offer {
	return append(dst, w.shrink...)
}

// wildEngine has job 1 (malleable, 4 of 2 to 8) and job 2 (rigid, 3) running in
// a cluster of ten.
func wildEngine(t *testing.T, p *wild) *engine.Engine {
	e := engine.New(engine.Config{Approach: engine.PWA, Malleable: p, ScanEvery: 30 * time.Second,
		ShrinkGrace: time.Minute},
		world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: hosts(10)}}}))
	for i, spec := range []*core.Job{
		{ID: 1, Kind: core.Malleable, Components: []core.Component{{Min: 2, Max: 8, Initial: 4}}},
		{ID: 2, Kind: core.Rigid, Components: []core.Component{{Min: 3, Max: 3}}},
	} {
		e.Step(0, &core.Input{Kind: core.Submit, Spec: spec})
		e.Step(0, &core.Input{Kind: core.Started, Job: core.JobID(i + 1), Epoch: 1})
	}
	return e
}

func TestEveryProposalOfAPolicyIsCheckedBeforeItBecomesAnEvent(t *testing.T) {
	p := &wild{}
	e := wildEngine(t, p)
	one, two := e.World().Job(1).Part(0), e.World().Job(2).Part(0)
	p.grow = []malleable.Offer{
		{Part: two, N: 1},  // rigid
		{Part: one, N: 4},  // three are free
		{Part: one, N: 0},  // nothing
		{Part: one, N: -3}, // below its minimum
		{Part: one, N: 2},
		{Part: one, N: 1}, // asked already
	}
	out := e.Step(1, &core.Input{Kind: core.HostsUp})
	if len(out.Commands) != 1 || out.Commands[0].Job != 1 || out.Commands[0].N != 2 {
		t.Errorf("commands %v, want the one offer that can be", out.Commands)
	}
	if err := e.World().CheckInvariants(); err != nil {
		t.Error(err)
	}
}

func TestAPolicyThatReclaimsNothingHoldsNobodyUp(t *testing.T) {
	p := &wild{}
	e := wildEngine(t, p)
	e.Step(1, &core.Input{Kind: core.Submit, Spec: &core.Job{ID: 3, Components: []core.Component{{Min: 5, Max: 5}}}})
	if id := e.World().Cluster(0).ReclaimFor(); id != 0 {
		t.Errorf("the cluster is kept for job %d, though nobody was asked", id)
	}
	// It can be placed by other means.
	out := e.Step(2, &core.Input{Kind: core.Ended, Job: 2, Epoch: 1})
	if len(out.Commands) != 1 || out.Commands[0].Kind != core.Start || out.Commands[0].Job != 3 {
		t.Errorf("commands %v, want job 3 to start", out.Commands)
	}
}

func TestAPolicyMayNotTakeFromTheJobItTakesFor(t *testing.T) {
	p := &wild{}
	e := wildEngine(t, p)
	p.shrink = []malleable.Offer{{Part: e.World().Job(1).Part(0), N: -2}}
	out := e.Step(1, &core.Input{Kind: core.Ask, Job: 1, Epoch: 1, N: 4, Mandatory: true})
	if len(out.Commands) != 1 || out.Commands[0].N != 3 {
		t.Errorf("commands %v, want an offer of the three that are free", out.Commands)
	}
}
