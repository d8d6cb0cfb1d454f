package transfer

import (
	"context"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker/replica"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// fakeGrid is clusters of which nothing is known but what is said here.
type fakeGrid struct {
	Grid
	clusters []*Cluster
}

func (g *fakeGrid) EveryCluster() []*Cluster               { return g.clusters }
func (g *fakeGrid) UserID(context.Context) (uint32, error) { return 0, nil }
func (g *fakeGrid) CurrentTime() core.Time                 { return core.AtSecond(1e9) }
func (g *fakeGrid) ForecastWay(string, string) (way weather.PathForecast, known bool) {
	return way, false
}
func (g *fakeGrid) ClusterNamed(name string) *Cluster {
	for _, c := range g.clusters {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// sites has three clusters, two of which see the same files.
func sites() *Mover {
	g := &fakeGrid{}
	for i, c := range []Cluster{{Name: "near"}, {Name: "leeds", Site: "leeds"}, {Name: "leeds-long", Site: "leeds"}} {
		c.ID, c.Files = core.ClusterID(i), func(context.Context) driver.Stager { return nil }
		g.clusters = append(g.clusters, &c)
	}
	return NewMover(g, nil, nil)
}

func TestWhatBringingAnInputTakes(t *testing.T) {
	m := sites()
	const mb = 1 << 20
	rows := []history.Transfer{
		{What: history.StageIn, From: "leeds", Sent: 40 * mb, Seconds: 2}, // 20 MB/s
		{What: history.StageIn, To: "leeds", Sent: 50 * mb, Seconds: 1},
		{What: history.StageIn, To: "leeds", Sent: 10, Seconds: 1}, // tells of nothing but delays
	}
	m.replicas.NoteUse(replica.Record{Site: "leeds", Path: "/b", Size: 100 * mb, Tree: "known"})
	m.replicas.NoteUse(replica.Record{Path: "/c", Size: 100 * mb, Tree: "kept", At: []string{"leeds"}})
	at := func(site, tree string, size int64) *store.Input {
		return &store.Input{Input: wire.Input{Path: "/x", Tree: tree}, Site: site, Size: size}
	}
	for _, c := range []struct {
		what string
		in   *store.Input
		want [3]float64 // near, leeds, leeds-long
	}{
		{"a new file", at("leeds", "", 100*mb), [3]float64{0.05 + 5 + 0.5, 0, 0}},
		{"one that is in the depot", at("leeds", "known", 100*mb), [3]float64{0.05 + 0.5, 0, 0}},
		{"one of this machine", at("near", "", 100*mb), [3]float64{0, 0.05 + 0.5 + 2, 0.05 + 0.5 + 10}},
		{"one that is kept there", at("near", "kept", 100*mb), [3]float64{0, 0.05, 0.05 + 10}},
		{"of the depot", at(jobfile.InDepot, "some", 100*mb), [3]float64{0.05 + 0.5, 0.05 + 2, 0.05 + 10}},
		{"one that nobody has seen", at("leeds", "", -1), [3]float64{0.05 + 51.2 + 5.12, 0, 0}},
	} {
		for i, cl := range m.grid.EveryCluster() {
			if got := m.bringTime(t.Context(), rows, c.in, cl).Seconds(); got < c.want[i]-1e-6 || got > c.want[i]+1e-6 {
				t.Errorf("%s to %s takes %.3f s, want %.3f", c.what, cl.Name, got, c.want[i])
			}
		}
	}
}

// fakePeer is a site of which nothing is known but that it can speak to others.
type fakePeer struct{ driver.Peer }

func TestAnInputComesFromWhereItIsFastest(t *testing.T) {
	g := &fakeGrid{}
	for i, name := range []string{"near", "leeds", "york", "hull"} {
		c := &Cluster{ID: core.ClusterID(i), Name: name, Site: name,
			Files: func(context.Context) driver.Stager { return fakePeer{} }}
		if name == "near" {
			c.Site, c.Files = "", func(context.Context) driver.Stager { return nil }
		}
		g.clusters = append(g.clusters, c)
	}
	m := NewMover(g, nil, nil)
	const mb = 1 << 20
	york := m.grid.ClusterNamed("york")
	in := &store.Input{Input: wire.Input{Path: "/x"}, Site: "leeds", Size: 100 * mb}
	first := func(rows ...history.Transfer) (string, float64) {
		s := m.inputSources(t.Context(), rows, in, york)[0]
		if s.from == nil {
			return "broker", s.seconds
		}
		return s.from.Name + s.want.Path + s.want.Tree, s.seconds
	}
	want := func(what, from string, seconds float64, rows ...history.Transfer) {
		t.Helper()
		if got, took := first(rows...); got != from || took < seconds-1e-6 || took > seconds+1e-6 {
			t.Errorf("%s comes from %s in %.3f s, want %s in %.3f", what, got, took, from, seconds)
		}
	}
	want("a new file", "leeds/x", 10)
	slow := history.Transfer{What: history.StageIn, From: "leeds", To: "york", Sent: 20 * mb, Seconds: 7}
	want("one behind a slow line", "broker", 20, slow)
	slow.Seconds = 5
	want("one behind a line that seems a little slow", "leeds/x", 25, slow)
	slow.Sent, slow.Seconds = 2*mb, 1
	want("one of which only a short transfer is known", "leeds/x", 10, slow)
	want("one of which only the way to the broker is known", "leeds/x", 10,
		history.Transfer{What: history.StageIn, From: "leeds", Sent: 100 * mb, Seconds: 1})
	m.routes.NoteResult("leeds", york.Site, false, m.grid.CurrentTime())
	want("one behind a wall", "broker", 20)
	m.routes.LoadJSON("rubbish")
	want("the same later", "leeds/x", 10)
	york.Indirect = true
	want("one for somebody who does not want that", "broker", 20)
	york.Indirect = false

	in.Tree = "t"
	m.replicas.NoteUse(replica.Record{Site: "leeds", Path: "/x", Size: in.Size, Tree: "t", At: []string{"hull"},
		Elsewhere: true})
	fast := history.Transfer{What: history.StageIn, From: "hull", To: "york", Sent: 50 * mb, Seconds: 1}
	want("one that another has", "hullt", 2, fast)
	want("one that another has, as far as is known", "leeds/x", 10)
	m.replicas.ForgetCopy("t", "hull")
	want("one that it had", "leeds/x", 10, fast)
	if len(m.replicas.DepotTrees()) != 0 ||
		m.replicas.RecentContent("leeds", &driver.File{Path: "/x", Size: in.Size}, 1) != "" {
		t.Error("what the depot does not have is taken to be there")
	}
	m.replicas.NoteUse(replica.Record{Site: "leeds", Path: "/x", Size: in.Size, Tree: "t"})
	want("one that the depot has too", "broker", 10)
	m.replicas.NoteUse(replica.Record{Site: "leeds", Path: "/x", Size: in.Size, Tree: "t", Elsewhere: true})
	if m.replicas.OnlyElsewhere("t") {
		t.Error("what the depot has is forgotten")
	}
}
