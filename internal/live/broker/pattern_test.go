package broker

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/fake"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

func TestTrialsOnOurHostsAreToldToTheEngineInTheirOrder(t *testing.T) {
	b := new(Broker)
	b.putCluster(newCluster(Cluster{Name: "batch", HostNames: []string{"n1", "n2", "n3"}, Managed: true}, 0))
	b.putCluster(newCluster(Cluster{Name: "n", HostNames: []string{"n1", "n2", "n3"}}, 1))
	now := time.Date(2026, 11, 15, 20, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	spec := &jobfile.Job{Pattern: &core.Pattern{Name: "x", Nodes: 2}, Trials: []netgraph.Trial{
		{Hosts: []string{"n3", "n1"}, Seconds: 3, At: ago(time.Minute)},
		{Hosts: []string{"n1", "elsewhere"}, Seconds: 1, At: now},
		{Hosts: []string{"n2", "n3"}, Seconds: 2, At: ago(-time.Hour)}, // by a clock that is fast
		{Hosts: []string{"n1", "n2"}, Seconds: 1, At: ago(netgraph.TrialsLast)}, {Hosts: []string{"n2", "n1"}, Seconds: 1}}}
	until := core.Time(now.Add(netgraph.TrialsLast).UnixNano())
	want := []core.Trial{{Cluster: 1, Hosts: []int{2, 0}, Seconds: 3, Until: until.Add(-time.Minute)},
		{Cluster: 1, Hosts: []int{1, 2}, Seconds: 2, Until: until}}
	if got := b.clusterTrials(spec, core.Time(now.UnixNano())); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestItIsSaidWhyAJobDoesNotRunWhereItWasTried(t *testing.T) {
	now := time.Date(2026, 11, 15, 20, 0, 0, 0, time.UTC)
	old := netgraph.Trial{Hosts: []string{"n1"}, Seconds: 1, At: now.Add(-2*time.Hour - 10*time.Minute)}
	unknown := netgraph.Trial{Hosts: []string{"n1"}, Seconds: 1}
	here, there := netgraph.Trial{Hosts: []string{"n2"}, Seconds: 2, At: now.Add(-time.Minute)},
		netgraph.Trial{Hosts: []string{"m"}, Seconds: 1, At: now}
	n, batch := Cluster{Name: "n", HostNames: []string{"n1", "n2"}},
		Cluster{Name: "batch", Managed: true, HostNames: []string{"n1", "n2"}}
	for _, c := range []struct {
		cluster Cluster
		trials  []netgraph.Trial
		want    string
	}{
		{n, nil, ""},
		{n, []netgraph.Trial{there, old, here}, "; where it was tried in n there was no room"},
		{n, []netgraph.Trial{there}, "; it was tried on hosts that cannot be chosen in n"},
		{batch, []netgraph.Trial{here}, "; it was tried on hosts that cannot be chosen in batch"},
		{n, []netgraph.Trial{unknown, old},
			"; its trial runs were made 2.2 h ago and count for 15 min: since then the network may have changed"},
		{n, []netgraph.Trial{unknown}, "; its trial runs do not say when they were made, so they do not count"},
	} {
		got := untriedReason(&jobfile.Job{Trials: c.trials}, &cluster{Cluster: c.cluster}, core.Time(now.UnixNano()))
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.trials, got, c.want)
		}
	}
}

func TestItIsSaidWhyRanksAreInTheirOrder(t *testing.T) {
	b, _ := measuring(t, "", Cluster{Name: "n", Site: "n", HostNames: names("n", 3)},
		Cluster{Name: "batch", Site: "b", Managed: true})
	for _, c := range []struct {
		ev          core.Event
		choice, why string
	}{
		{core.Event{Cluster: 1, Why: core.Reason{Code: core.RanksByBatchSystem}}, "chosen by the batch system",
			"batch: the batch system of the cluster chooses the hosts"},
		{core.Event{Why: core.Reason{Code: core.RanksNoNetwork}}, "in the order of the cluster",
			"n: the network between the hosts has not been measured"},
		{core.Event{Ranks: []int{1, 0, 2}, Why: core.Reason{Code: core.RanksSuit, A: 50, B: 0.6}}, "n1 n0 n2",
			"best hosts for its pattern: the slowest pair has 50 Mbit/s, the busiest host 60 % of a core free"},
		{core.Event{Ranks: []int{1, 0, 2}, Why: core.Reason{Code: core.RanksAsTried, A: 2, B: 3}}, "n1 n0 n2",
			"its skeleton took 2 s there, the best of 3 trial runs"},
		{core.Event{Ranks: []int{1, 0, 3}, Why: core.Reason{Code: core.RanksNoNetwork}}, "in the order of the cluster",
			"n: the network between the hosts has not been measured"},
	} {
		turn := &turn{b: b, now: b.brokerTime()}
		turn.recordRanks(&job{spec: &jobfile.Job{}}, &c.ev)
		if e := turn.batch.Entries; len(e) != 1 || e[0].Choice != c.choice || e[0].Why != c.why {
			t.Errorf("%+v: %+v, want %q and %q", c.ev, e, c.choice, c.why)
		}
	}
}

func TestTheEngineIsToldOfNetworksThatDiffer(t *testing.T) {
	free := func(mbps float64, of ...float64) *core.Network { return &core.Network{Mbps: []float64{mbps}, Free: of} }
	for _, c := range []struct {
		was, now *core.Network
		want     bool
	}{
		{nil, free(0), true}, {free(0), free(0), false}, {free(100), free(95), false}, {free(100), free(80), true},
		{free(100), free(0), true}, {free(100), free(100, 1, 0.9), false}, {free(100), free(100, 1, 0.8), true},
		{free(100, 1, 0.5), free(100), true}, {free(100, 0.4, 0.5), free(100, 0.5, 0.5), false},
	} {
		if got := networksDiffer(c.now, c.was); got != c.want {
			t.Errorf("%+v after %+v: %v", c.now, c.was, got)
		}
	}
}

// What the last broker knew of the network may be long ago: it is told again.
func TestNetworksMatterAsLongAsAJobWithAPatternLives(t *testing.T) {
	runs := fake.New(func(r *fake.Run) { <-r.Done() }, func(wire.Message) {})
	t.Cleanup(runs.Close)
	opt := Options{State: t.TempDir(), Socket: "none", User: "u", Store: memory.New(), Engine: engine.DefaultConfig(),
		Clusters: []Cluster{{Name: "n", Driver: runs, HostNames: names("n", 2),
			Hosts: []world.HostSpec{{Procs: 1, Speed: 1}, {Procs: 1, Speed: 1}}}}}
	spec := &jobfile.Job{Argv: []string{"prog"}, Min: 2, Max: 2, Nodes: 2,
		Pattern: &core.Pattern{Name: "path", Nodes: 2, Edges: []core.Edge{{A: 0, B: 1, Weight: 1}}}}
	for _, submit := range []bool{true, false} {
		b, err := Open(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if b.patterns.Load() == submit {
			t.Errorf("with %d jobs it is %v that networks matter", len(b.jobs), b.patterns.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		if submit {
			if _, err := b.SubmitJob(ctx, spec, ""); err != nil {
				t.Error(err)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
