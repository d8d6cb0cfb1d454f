package world

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// testWorld has clusters of these sizes, a, b, c and so on, of one-processor
// hosts.
func testWorld(sizes ...int) *World { return New(testSpec(sizes...)) }

func testSpec(sizes ...int) Spec {
	var spec Spec
	for i, n := range sizes {
		c := ClusterSpec{Name: string(rune('a' + i))}
		for range n {
			c.Hosts = append(c.Hosts, HostSpec{Procs: 1, Speed: 1})
		}
		spec.Clusters = append(spec.Clusters, c)
	}
	return spec
}

// mustApply applies events one after the other, and checks the world after
// each.
func mustApply(t testing.TB, w *World, events ...core.Event) {
	t.Helper()
	for i := range events {
		if err := w.ApplyEvent(&events[i]); err != nil {
			t.Fatal(err)
		}
		if err := w.CheckInvariants(); err != nil {
			t.Fatalf("after %v: %v", events[i], err)
		}
	}
}

func submitted(id core.JobID, kind core.Kind, comps ...core.Component) core.Event {
	return core.Event{Kind: core.JobSubmitted, Job: id, Spec: &core.Job{ID: id, Kind: kind, Components: comps}}
}

func became(id core.JobID, from, to core.State) core.Event {
	return core.Event{Kind: core.JobBecame, Job: id, Epoch: 1, From: from, To: to}
}

// started are the events that bring a job of one part to running on the first
// free processors of a cluster.
func started(w *World, id core.JobID, kind core.Kind, c core.ClusterID, size, least, most int) []core.Event {
	return []core.Event{
		submitted(id, kind, core.Component{Min: least, Max: most}),
		{Kind: core.PartPlanned, Job: id, Epoch: 1, Cluster: c, N: size, Min: least, Max: most,
			Procs: w.Cluster(c).ChooseProcs(size, nil)},
		became(id, core.Submitted, core.Selected),
		became(id, core.Selected, core.Queued),
		became(id, core.Queued, core.Running),
	}
}

func TestAProcessorIsFreeOnlyIfNobodyHasIt(t *testing.T) {
	w := testWorld(10)
	c := w.Cluster(0)
	mustApply(t, w, started(w, 1, core.Rigid, 0, 4, 4, 4)...)
	mustApply(t, w,
		core.Event{Kind: core.OthersPolled, Procs: core.ProcSet{{Lo: 2, Hi: 6}}}, // 2 and 3 are ours: an old poll
		core.Event{Kind: core.HostsFailed, Procs: core.ProcSet{{Lo: 9, Hi: 10}}},
	)
	if got := c.ChooseProcs(99, nil).String(); got != "6-8" || c.IdleProcs() != 3 {
		t.Errorf("free are %s, %d idle", got, c.IdleProcs())
	}
	mustApply(t, w, became(1, core.Running, core.Done))
	if got := c.ChooseProcs(99, nil).String(); got != "0-1,6-8" {
		t.Errorf("after the job ended free are %s: what others took meanwhile is not", got)
	}
	mustApply(t, w, core.Event{Kind: core.OthersPolled},
		core.Event{Kind: core.HostsJoined, Procs: core.ProcSet{{Lo: 9, Hi: 10}}})
	if c.IdleProcs() != 10 || w.LiveCount() != 0 {
		t.Errorf("%d idle, %d live at the end", c.IdleProcs(), w.LiveCount())
	}
}

func TestAManagedClusterCountsWhatWaitsInItsQueue(t *testing.T) {
	spec := testSpec(10)
	spec.Clusters[0].Managed, spec.Clusters[0].KeepFree = true, 1
	w := New(spec)
	c := w.Cluster(0)
	for id := core.JobID(1); id <= 2; id++ {
		mustApply(t, w, submitted(id, core.Rigid, core.Component{Min: 6, Max: 6}),
			core.Event{Kind: core.PartPlanned, Job: id, Epoch: 1, N: 6, Min: 6, Max: 6},
			became(id, core.Submitted, core.Selected), became(id, core.Selected, core.Queued))
	}
	if c.IdleProcs() != -2 || c.AvailableProcs() != 0 || c.SurplusProcs() != -3 {
		t.Errorf("idle %d, room %d, surplus %d", c.IdleProcs(), c.AvailableProcs(), c.SurplusProcs())
	}
	mustApply(t, w, became(1, core.Queued, core.Running), became(2, core.Queued, core.Cancelled))
	if c.IdleProcs() != 4 || c.AvailableProcs() != 3 {
		t.Errorf("idle %d, room %d with one running", c.IdleProcs(), c.AvailableProcs())
	}
	mustApply(t, w, became(1, core.Running, core.Stopped), became(1, core.Stopped, core.Resuming))
	if c.IdleProcs() != 10 || w.Job(1).AttemptCount() != 1 {
		t.Errorf("idle %d, attempts %d after it left", c.IdleProcs(), w.Job(1).AttemptCount())
	}
}

func TestWhileRoomIsMadeForOneJobNobodyElseSeesIt(t *testing.T) {
	w := testWorld(10, 5)
	mustApply(t, w, core.Event{Kind: core.ReclaimBegan, Job: 7, Cluster: 0, N: 3})
	other, own := w.ViewFor(0, 8), w.ViewFor(0, 7)
	if other.RoomIn(w.Cluster(0)) != 0 || own.RoomIn(w.Cluster(0)) != 10 {
		t.Errorf("room is %d for another job, %d for its own", other.RoomIn(w.Cluster(0)), own.RoomIn(w.Cluster(0)))
	}
	if widest, total := other.WidestRoom(); widest != 5 || total != 5 {
		t.Errorf("another job sees %d in one cluster, %d in all", widest, total)
	}
	mustApply(t, w, core.Event{Kind: core.ReclaimEnded, Cluster: 0})
	if widest, total := other.WidestRoom(); widest != 10 || total != 15 {
		t.Errorf("afterwards it sees %d and %d", widest, total)
	}
}

func TestAViewShowsTheWorldAsItCouldBe(t *testing.T) {
	spec := testSpec(10)
	spec.Clusters[0].KeepFree = 2
	w := New(spec)
	c := w.Cluster(0)
	mustApply(t, w, started(w, 1, core.Malleable, 0, 7, 3, 9)...)
	v := w.ViewFor(0, 0)
	if v.RoomIn(c) != 1 || v.IdleIn(c) != 3 {
		t.Errorf("room %d, idle %d", v.RoomIn(c), v.IdleIn(c))
	}
	v.Reclaim = true
	if v.RoomIn(c) != 5 || v.IdleIn(c) != 7 {
		t.Errorf("with what could be reclaimed: room %d, idle %d", v.RoomIn(c), v.IdleIn(c))
	}
	v.Empty = true
	if v.RoomIn(c) != 8 || v.IdleIn(c) != 10 {
		t.Errorf("empty: room %d, idle %d", v.RoomIn(c), v.IdleIn(c))
	}
}

func TestFilesComeFromTheNearestReplica(t *testing.T) {
	spec := testSpec(4, 4, 4)
	spec.Files = []FileSpec{{Bytes: 125e6, At: []core.ClusterID{0, 1}}, {Bytes: 125e6, At: []core.ClusterID{2}}}
	slow, fast := Path{Mbps: 100}, Path{Mbps: 1000, Latency: 1e9}
	spec.Paths = [][]Path{{{}, fast, slow}, {fast, {}, fast}, {{}, fast, {}}} // nothing leads from c to a
	w := New(spec)
	for _, c := range []struct {
		file core.FileID
		to   core.ClusterID
		from core.ClusterID
		sec  float64
		ok   bool
	}{{0, 0, 0, 0, true}, {0, 2, 1, 2, true}, {1, 1, 2, 2, true}, {1, 0, 0, 0, false}, {9, 1, 1, 0, true}} {
		from, d, ok := w.NearestReplica(c.file, c.to)
		if ok != c.ok || ok && (from != c.from || d.Seconds() != c.sec) {
			t.Errorf("file %d reaches cluster %d from %d in %v, %v; want %+v", c.file, c.to, from, d, ok, c)
		}
	}
	both := &core.Component{Inputs: []core.FileID{0, 1}}
	if d, ok := w.TransferTime(both, 1); !ok || d.Seconds() != 2 {
		t.Errorf("both files reach cluster 1 in %v, %v", d, ok)
	}
	if _, ok := w.TransferTime(both, 0); ok {
		t.Error("a file that nothing leads to can be brought")
	}
}

func TestStagedFilesAreThereForTheNextJob(t *testing.T) {
	spec := testSpec(4, 4)
	spec.Files = []FileSpec{{Bytes: 8, At: []core.ClusterID{0}}}
	w := New(spec)
	mustApply(t, w, submitted(1, core.Rigid, core.Component{Min: 1, Max: 1, Inputs: []core.FileID{0, 5}}),
		core.Event{Kind: core.PartPlanned, Job: 1, Epoch: 1, Cluster: 1, N: 1, Min: 1, Max: 1, When: 9},
		became(1, core.Submitted, core.Selected), became(1, core.Selected, core.Staging),
		core.Event{Kind: core.PartStaged, Job: 1, Epoch: 1})
	if from, _, _ := w.NearestReplica(0, 1); from != 1 {
		t.Errorf("the file still comes from cluster %d", from)
	}
}
