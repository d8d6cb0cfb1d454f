package engine_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/engine"
	"github.com/godwit-hpc/godwit/internal/policy/place"
	"github.com/godwit-hpc/godwit/internal/world"
)

// ringOfThree needs two processors on each of three hosts.
func ringOfThree(id core.JobID) *core.Job {
	return &core.Job{ID: id, Components: []core.Component{{Min: 6, Max: 6, Pattern: &core.Pattern{Name: "ring", Nodes: 3,
		Pairs: []core.Talk{{A: 0, B: 1, Weight: 1}, {A: 1, B: 2, Weight: 1}, {A: 2, B: 0, Weight: 1}}}}}}
}

func TestHostsAreChosenByWhoTalksToWhom(t *testing.T) {
	hosts := make([]world.HostSpec, 6)
	for i := range hosts {
		hosts[i] = world.HostSpec{Procs: 2, Speed: 1}
	}
	spec := world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: hosts}}}
	e := engine.New(engine.DefaultConfig(), world.New(spec))
	held := func(in *core.Input) (procs string) {
		for _, c := range e.Step(1, in).Commands {
			if c.Kind == core.Start {
				procs = c.Procs.String()
			}
		}
		return procs
	}
	if got := held(&core.Input{Kind: core.Submit, Spec: ringOfThree(1)}); got != "0-5" {
		t.Errorf("with nothing known of the network it got %q, want the first", got)
	}
	e.Step(2, &core.Input{Kind: core.Cancel, Job: 1})

	net := &core.Network{Mbps: []float64{
		10,
		10, 10,
		10, 10, 10,
		10, 80, 10, 80, // host 4 with 1 and 3
		10, 10, 10, 10, 10}}
	net.Mbps[3*2/2+1] = 80 // host 3 with 1
	if got := held(&core.Input{Kind: core.Weather, Cluster: 0, Net: net}); got != "" {
		t.Errorf("news of the network started something: %q", got)
	}
	if got := held(&core.Input{Kind: core.Submit, Spec: ringOfThree(2)}); got != "2-3,6-9" {
		t.Errorf("it got %q, want hosts 1, 3 and 4", got)
	}
	order, mbps := place.Hosts(e.World().Cluster(0), ringOfThree(2).Components[0].Pattern, core.ProcSet{{Lo: 2, Hi: 4}, {Lo: 6, Hi: 10}})
	if len(order) != 3 || mbps != 80 {
		t.Errorf("its nodes go on %v with %g Mbit/s", order, mbps)
	}
	if got := held(&core.Input{Kind: core.Submit, Spec: ringOfThree(3)}); got != "0-1,4-5,10-11" {
		t.Errorf("the next got %q, want the three hosts that are left", got)
	}
	again, err := fromShot(spec, e.World())
	if err != nil || again.Cluster(0).Network().Pair(4, 1) != 80 {
		t.Errorf("the network is forgotten: %v", err)
	}
}

func fromShot(spec world.Spec, w *world.World) (*world.World, error) {
	shot, err := w.Snapshot()
	if err != nil {
		return nil, err
	}
	return world.Restore(spec, shot)
}

func TestNewsOfNetworksThatCannotBeChangesNothing(t *testing.T) {
	e := engine.New(engine.DefaultConfig(), world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: make([]world.HostSpec, 3)}}}))
	for _, in := range []core.Input{
		{Cluster: 1, Net: &core.Network{Mbps: []float64{1, 1, 1}}}, {Cluster: -1}, {},
		{Net: &core.Network{}}, {Net: &core.Network{Mbps: []float64{1, 1}}}, {Net: &core.Network{Mbps: []float64{1, 1, -1}}},
	} {
		in.Kind = core.Weather
		if out := e.Step(1, &in); len(out.Events) > 0 {
			t.Errorf("%+v: %v", in, out.Events)
		}
	}
}

func TestWhereATrialWasFastestAJobRuns(t *testing.T) {
	hosts := make([]world.HostSpec, 6)
	for i := range hosts {
		hosts[i] = world.HostSpec{Procs: 2, Speed: 1}
	}
	e := engine.New(engine.DefaultConfig(), world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: hosts}}}))
	if got := submitTried(t, e, 1); got != "4-5,8-11" {
		t.Errorf("it got %q, want hosts 2, 4 and 5, where it was fastest", got)
	}
	if got := submitTried(t, e, 2); got != "0-3,6-7" {
		t.Errorf("the next got %q, want the hosts of the other trial", got)
	}
	bad := ringOfThree(3)
	bad.Components[0].Trials = []core.Trial{{Hosts: []int{0, 1}, Seconds: 1}}
	if bad.Check() == nil {
		t.Error("a trial on two hosts is one of a pattern of three nodes")
	}
}

// submitTried submits a job that was tried on two groups of hosts, and on one that
// is not there, and says which processors it got.
func submitTried(t *testing.T, e *engine.Engine, id core.JobID) string {
	t.Helper()
	j := ringOfThree(id)
	j.Components[0].Trials = []core.Trial{{Hosts: []int{7, 8, 9}, Seconds: 1}, {Hosts: []int{5, 2, 4}, Seconds: 2}, {Hosts: []int{0, 1, 3}, Seconds: 3}}
	for _, c := range e.Step(core.Time(id), &core.Input{Kind: core.Submit, Spec: j}).Commands {
		if c.Kind == core.Start {
			return c.Procs.String()
		}
	}
	return ""
}
