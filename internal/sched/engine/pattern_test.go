package engine_test

import (
	"math"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// ringOfThree needs two processors on each of three hosts.
func ringOfThree(id core.JobID) *core.Job {
	return &core.Job{ID: id, Components: []core.Component{{Min: 6, Max: 6, Pattern: &core.Pattern{Name: "ring", Nodes: 3,
		Edges: []core.Edge{{A: 0, B: 1, Weight: 1}, {A: 1, B: 2, Weight: 1}, {A: 2, B: 0, Weight: 1}}}}}}
}

func TestHostsAreChosenByWhoTalksToWhom(t *testing.T) {
	hosts := make([]world.HostSpec, 6)
	for i := range hosts {
		hosts[i] = world.HostSpec{Procs: 2, Speed: 1}
	}
	spec := world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: hosts}}}
	e := engine.New(engine.DefaultConfig(), world.New(spec))
	var ordered core.Event
	held := func(in *core.Input) (procs string) {
		out := e.Step(1, in)
		for i := range out.Events {
			if out.Events[i].Kind == core.RanksOrdered {
				ordered = out.Events[i]
			}
		}
		for _, c := range out.Commands {
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
	if ranks := e.World().Job(2).Part(0).Ranks(); !slices.Equal(slices.Sorted(slices.Values(ranks)), []int{1, 3, 4}) {
		t.Errorf("its nodes are on hosts %v", ranks)
	}
	if why := ordered.Why; why.Code != core.RanksSuit || why.A != 80 || why.B != 1 {
		t.Errorf("they are in their order because: %s", why)
	}
	if got := held(&core.Input{Kind: core.Submit, Spec: ringOfThree(3)}); got != "0-1,4-5,10-11" {
		t.Errorf("the next got %q, want the three hosts that are left", got)
	}
	again, err := fromShot(spec, e.World())
	if err != nil || again.Cluster(0).Network().PairBandwidth(4, 1) != 80 {
		t.Errorf("the network is forgotten: %v", err)
	}
	if got, want := again.Job(2).Part(0).Ranks(), e.World().Job(2).Part(0).Ranks(); !slices.Equal(got, want) {
		t.Errorf("its nodes are on %v after a restart, and were on %v", got, want)
	}
}

func fromShot(spec world.Spec, w *world.World) (*world.World, error) {
	shot, err := w.EncodeSnapshot()
	if err != nil {
		return nil, err
	}
	return world.RestoreSnapshot(spec, shot)
}

func TestNewsOfNetworksThatCannotBeChangesNothing(t *testing.T) {
	e := engine.New(engine.DefaultConfig(),
		world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: make([]world.HostSpec, 3)}}}))
	for _, in := range []core.Input{
		{Cluster: 1, Net: &core.Network{Mbps: []float64{1, 1, 1}}}, {Cluster: -1}, {},
		{Net: &core.Network{}}, {Net: &core.Network{Mbps: []float64{1, 1}}}, {Net: &core.Network{Mbps: []float64{1, 1, -1}}},
		{Net: &core.Network{Mbps: []float64{1, 1, 1}, Free: []float64{1, 1}}},
		{Net: &core.Network{Mbps: []float64{1, 1, 1}, Free: []float64{1, 0, 1}}},
		{Net: &core.Network{Mbps: []float64{1, 1, 1}, Free: []float64{1, 2, 1}}},
	} {
		in.Kind = core.Weather
		if out := e.Step(1, &in); len(out.Events) > 0 {
			t.Errorf("%+v: %v", in, out.Events)
		}
	}
}

// sixHosts is an engine with a cluster of six hosts with two processors each.
func sixHosts() *engine.Engine {
	hosts := make([]world.HostSpec, 6)
	for i := range hosts {
		hosts[i] = world.HostSpec{Procs: 2, Speed: 1}
	}
	return engine.New(engine.DefaultConfig(),
		world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: hosts}}}))
}

// submitAll submits a job and says which processors it got, at once.
func submitAll(e *engine.Engine, now core.Time, j *core.Job) string {
	for _, c := range e.Step(now, &core.Input{Kind: core.Submit, Spec: j}).Commands {
		if c.Kind == core.Start {
			return c.Procs.String()
		}
	}
	return ""
}

func TestHostsThatOthersKeepBusyAreAvoided(t *testing.T) {
	e, net := sixHosts(), core.NewNetwork(6)
	for u := range 6 {
		for v := range u {
			net.SetBandwidth(u, v, 100)
		}
	}
	for _, u := range []int{0, 3, 5} { // a little better connected than the others
		for _, v := range []int{0, 3, 5} {
			if u != v {
				net.SetBandwidth(u, v, 110)
			}
		}
	}
	net.Free = []float64{1, 1, 1, 0.5, 1, 1}
	e.Step(1, &core.Input{Kind: core.Weather, Cluster: 0, Net: net})
	if got := submitAll(e, 2, ringOfThree(1)); got == "" ||
		e.World().Job(1).Part(0).Procs().Intersects(core.ProcSet{{Lo: 6, Hi: 8}}) {
		t.Errorf("it got %q, with host 3 that others use half of", got)
	}
	again, err := fromShot(world.Spec{Clusters: []world.ClusterSpec{{Name: "a",
		Hosts: []world.HostSpec{{Procs: 2, Speed: 1}, {Procs: 2, Speed: 1}, {Procs: 2, Speed: 1}, {Procs: 2, Speed: 1},
			{Procs: 2, Speed: 1}, {Procs: 2, Speed: 1}}}}}, e.World())
	if err != nil || again.Cluster(0).Network().FreeOn(3) != 0.5 {
		t.Errorf("it is forgotten how busy they are: %v", err)
	}
}

// A node for which no processor is held would run on one that others hold.
func TestEachNodeOfAPatternHoldsProcessorsOfItsOwnHost(t *testing.T) {
	e := sixHosts()
	path := func(id core.JobID, nodes int) *core.Job {
		p := &core.Pattern{Name: "path", Nodes: nodes}
		for i := range nodes - 1 {
			p.Edges = append(p.Edges, core.Edge{A: i, B: i + 1, Weight: 1})
		}
		return &core.Job{ID: id, Components: []core.Component{{Min: nodes, Max: nodes, Pattern: p}}}
	}
	if got := submitAll(e, 1, path(1, 3)); got != "0,2,4" {
		t.Errorf("with nothing known of the network it got %q, want one processor on each of three hosts", got)
	}
	if got := submitAll(e, 2, &core.Job{ID: 2, Components: []core.Component{{Min: 4, Max: 4}}}); got != "1,3,5-6" {
		t.Fatalf("the one without a pattern got %q", got)
	}
	if got := submitAll(e, 3, path(3, 4)); got != "" {
		t.Errorf("there are three hosts with room, and for four nodes it got %q", got)
	}
	if got := e.World().Job(3).State(); !got.IsWaiting() {
		t.Fatalf("it is %s", got)
	}
	e.Step(4, &core.Input{Kind: core.Cancel, Job: 1})
	e.Step(core.AtSecond(3600), &core.Input{Kind: core.Tick})
	if got := e.World().Job(3); len(got.Parts()) != 1 || got.Part(0).Procs().String() != "0,2,4,7" {
		t.Errorf("with room on six it is %s", got.State())
	}
	quiet := path(5, 3)
	quiet.Components[0].Pattern.Edges = nil
	if got := submitAll(sixHosts(), 1, quiet); got != "0,2,4" {
		t.Errorf("three nodes that do not talk got %q, want one processor on each of three hosts", got)
	}
	if got := submitAll(sixHosts(), 1, path(4, 7)); got != "0-6" {
		t.Errorf("there will never be seven hosts, and it got %q: the cluster should refuse it", got)
	}
}

func TestWhereATrialWasFastestAJobRuns(t *testing.T) {
	hosts := make([]world.HostSpec, 6)
	for i := range hosts {
		hosts[i] = world.HostSpec{Procs: 2, Speed: 1}
	}
	e := engine.New(engine.DefaultConfig(),
		world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: hosts}}}))
	if got := submitTried(t, e, 1); got != "4-5,8-11" {
		t.Errorf("it got %q, want hosts 2, 4 and 5, where it was fastest", got)
	}
	if got := submitTried(t, e, 2); got != "0-3,6-7" {
		t.Errorf("the next got %q, want the hosts of the other trial", got)
	}
	bad := ringOfThree(3)
	bad.Components[0].Trials = []core.Trial{{Hosts: []int{0, 1}, Seconds: 1}}
	if bad.CheckSpec() == nil {
		t.Error("a trial on two hosts is one of a pattern of three nodes")
	}
}

// submitTried submits a job that was tried on two groups of hosts, and on one that
// is not there, and says which processors it got.
func submitTried(t *testing.T, e *engine.Engine, id core.JobID) string {
	t.Helper()
	j := ringOfThree(id)
	j.Components[0].Trials = []core.Trial{{Hosts: []int{7, 8, 9}, Seconds: 1}, {Hosts: []int{5, 2, 4}, Seconds: 2},
		{Hosts: []int{0, 1, 3}, Seconds: 3}}
	for _, c := range e.Step(core.Time(id), &core.Input{Kind: core.Submit, Spec: j}).Commands {
		if c.Kind == core.Start {
			return c.Procs.String()
		}
	}
	return ""
}

func TestATrialOfAnotherTimeDoesNotCount(t *testing.T) {
	hosts := make([]world.HostSpec, 6)
	for i := range hosts {
		hosts[i] = world.HostSpec{Procs: 2, Speed: 1}
	}
	for _, c := range []struct {
		until core.Time
		want  string
	}{{0, "4-5,8-11"}, {11, "4-5,8-11"}, {10, "0-5"}} {
		e := engine.New(engine.DefaultConfig(),
			world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a", Hosts: hosts}}}))
		j := ringOfThree(1)
		j.Components[0].Trials = []core.Trial{{Hosts: []int{5, 2, 4}, Seconds: 1, Until: c.until}}
		got := ""
		for _, cmd := range e.Step(10, &core.Input{Kind: core.Submit, Spec: j}).Commands {
			if cmd.Kind == core.Start {
				got = cmd.Procs.String()
			}
		}
		if got != c.want {
			t.Errorf("with a trial until %d it got %q, want %q", c.until, got, c.want)
		}
	}
}

// The order of ranks is decided once, when it is known which hosts a job has, and says why.
func TestRanksAreOrderedByTrialsThenByTheNetwork(t *testing.T) {
	path := &core.Pattern{Name: "path", Nodes: 3, Edges: []core.Edge{{A: 0, B: 1, Weight: 1}, {A: 1, B: 2, Weight: 1}}}
	net := func(mbps, free []float64) *core.Network { return &core.Network{Mbps: mbps, Free: free} }
	known := []float64{70, 50, 10} // 0-1, 0-2, 1-2
	trial := func(seconds float64, hosts ...int) core.Trial { return core.Trial{Hosts: hosts, Seconds: seconds} }
	for _, c := range []struct {
		what    string
		managed bool
		net     *core.Network
		trials  []core.Trial
		procs   int
		ranks   []int
		why     core.Reason
	}{
		{"a manager chooses", true, nil, nil, 3, nil, core.Reason{Code: core.RanksByBatchSystem}},
		{"nothing is known", false, nil, nil, 3, nil, core.Reason{Code: core.RanksNoNetwork}},
		{"too little is known", false, net([]float64{0, 50, 0}, nil), nil, 3, nil, core.Reason{Code: core.RanksNotConnected}},
		{"all is known", false, net(known, nil), nil, 3, []int{1, 0, 2}, core.Reason{Code: core.RanksSuit, A: 50, B: 1}},
		{"one is busy", false, net(known, []float64{1, 1, 0.6}), nil, 3, []int{1, 0, 2},
			core.Reason{Code: core.RanksSuit, A: 50, B: 0.6}},
		{"it was tried", false, net(known, nil), []core.Trial{trial(2, 2, 1, 0), trial(3, 0, 1, 2)}, 3, []int{2, 1, 0},
			core.Reason{Code: core.RanksAsTried, A: 2, B: 2}},
		{"it was faster elsewhere", false, nil, []core.Trial{trial(1, 7, 8, 9), trial(2, 2, 0, 1)}, 3, []int{2, 0, 1},
			core.Reason{Code: core.RanksAsTriedLess, A: 2}},
	} {
		hosts := []world.HostSpec{{Procs: 1, Speed: 1}, {Procs: 1, Speed: 1}, {Procs: 1, Speed: 1}}
		e := engine.New(engine.DefaultConfig(),
			world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "n", Managed: c.managed, Hosts: hosts}}}))
		if c.net != nil {
			e.Step(1, &core.Input{Kind: core.Weather, Net: c.net})
		}
		out := e.Step(2, &core.Input{Kind: core.Submit, Spec: &core.Job{ID: 1,
			Components: []core.Component{{Min: c.procs, Max: c.procs, Pattern: path, Trials: c.trials}}}})
		i := slices.IndexFunc(out.Events, func(ev core.Event) bool { return ev.Kind == core.RanksOrdered })
		if i < 0 || !slices.Equal(out.Events[i].Ranks, c.ranks) || out.Events[i].Why != c.why {
			t.Errorf("%s: %+v, want %v, %+v", c.what, out.Events, c.ranks, c.why)
		}
	}
}

// A job that shares memory gets its processors on one host, and waits for one with room
// if some host has so many.
func TestAJobOfOneHostIsNeverSpreadWhereOneIsLargeEnough(t *testing.T) {
	job := func(id core.JobID, n int, one bool) *core.Job {
		return &core.Job{ID: id, Components: []core.Component{{Min: n, Max: n, OneHost: one}}}
	}
	e := sixHosts()
	for _, c := range []struct {
		id   core.JobID
		n    int
		one  bool
		want string
	}{
		{1, 1, true, "0"},
		{2, 2, true, "2-3"},   // not 1 and 2
		{3, 1, true, "1"},     // fills the host that is begun
		{4, 3, true, "4-6"},   // no host has three: it may be spread
		{5, 4, false, "7-10"}, // nobody said that it must not
		{6, 2, true, ""},
	} {
		if got := submitAll(e, core.Time(c.id), job(c.id, c.n, c.one)); got != c.want {
			t.Errorf("job %d got %q, want %q", c.id, got, c.want)
		}
	}
	if got := submitAll(e, 7, job(7, 1, true)); got != "11" {
		t.Errorf("the last got %q", got)
	}
}

func TestAClusterThatIsNotReliableEnoughGetsNoJob(t *testing.T) {
	e := engine.New(engine.DefaultConfig(), world.New(world.Spec{Clusters: []world.ClusterSpec{
		{Name: "a", Hosts: []world.HostSpec{{Procs: 8, Speed: 1}}},
		{Name: "b", Hosts: []world.HostSpec{{Procs: 2, Speed: 1}}}}}))
	wants := func(id core.JobID, reliability float64) *core.Job {
		return &core.Job{ID: id, Components: []core.Component{{Min: 1, Max: 1, Reliability: reliability}}}
	}
	e.Step(1, &core.Input{Kind: core.Rated, Cluster: 0, Rating: 0.6})
	e.Step(1, &core.Input{Kind: core.Rated, Cluster: 1, Rating: 0.9})
	for _, bad := range []core.Input{{Cluster: 2, Rating: 1}, {Rating: 1.5}, {Rating: -1}, {Rating: math.NaN()}} {
		bad.Kind = core.Rated
		if out := e.Step(1, &bad); len(out.Events) > 0 {
			t.Errorf("%+v: %v", bad, out.Events)
		}
	}
	e.Step(2, &core.Input{Kind: core.Submit, Spec: wants(1, 0.8)})
	if j := e.World().Job(1); len(j.Parts()) != 1 || j.Part(0).Cluster().Name() != "b" {
		t.Errorf("job 1 is %s", j.State())
	}
	if why, ok := e.EverFits(wants(2, 0.95)); ok || why.Code != core.NotReliable || why.A != 0.95 || why.B != 0.9 {
		t.Errorf("job 2 fits: %v, %s", ok, why)
	}
	e.Step(3, &core.Input{Kind: core.Submit, Spec: wants(3, 0.8)})
	e.Step(3, &core.Input{Kind: core.Submit, Spec: wants(4, 0.8)}) // b is full
	e.Step(4, &core.Input{Kind: core.Rated, Cluster: 0, Rating: 0.85})
	if j := e.World().Job(4); len(j.Parts()) != 1 || j.Part(0).Cluster().Name() != "a" {
		t.Errorf("job 4 is %s", j.State())
	}
}
