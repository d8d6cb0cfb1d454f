package place

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// papers/001, IV-A: "places each component of a job in the cluster with the
// largest number of idle processors".
func TestWorstFit(t *testing.T) {
	two := []bool{true, true}
	for _, c := range []placement{
		{"the cluster with most idle processors", grid{sizes: []int{5, 9, 7}}, rigid(4), "0b4",
			"most idle cores of all clusters where it fits: 9 (next best 7)"},
		{"idle counts, not size", grid{sizes: []int{5, 9, 7}, busy: []int{0, 6, 1}}, rigid(3), "0c3",
			"most idle cores of all clusters where it fits: 6 (next best 5)"},
		{"the first of equals", grid{sizes: []int{3, 8, 8}}, rigid(2), "0b2", ""},
		{"the only one where it fits", grid{sizes: []int{3, 8, 4}}, rigid(8), "0b8", ""},
		{"nowhere", grid{sizes: []int{3, 8, 4}, busy: []int{0, 1, 0}}, rigid(8), "",
			"waiting for 8 cores (at most 7 free in one cluster)"},
		{"each component for itself", grid{sizes: []int{9, 7}}, rigid(4, 4), "0a4 1b4", ""},
		{"two on one cluster if it still has most idle", grid{sizes: []int{12, 7}}, rigid(4, 4), "0a4 1a4", ""},
		{"the largest component first", grid{sizes: []int{5, 9}}, rigid(3, 8), "1b8 0a3", ""},
		{"all or none", grid{sizes: []int{5, 9}}, rigid(8, 5, 2), "",
			"waiting for 2 cores (at most 1 free in one cluster)"},
		{"processors are kept for local users", grid{sizes: []int{10, 6}, keep: []int{7}}, rigid(4), "0b4", ""},
		{"what local users took of theirs is not taken from ours twice",
			grid{sizes: []int{10}, keep: []int{4}, busy: []int{5}}, rigid(2), "",
			"waiting for 2 cores (at most 1 free in one cluster)"},
		{"free at once before any queue", grid{sizes: []int{4, 90}, managed: two[:1]}, rigid(4), "0b4", ""},
		{"free in a managed cluster", grid{sizes: []int{4, 90}, managed: []bool{false, true}}, rigid(4), "0b4", ""},
		{"the queue with least ahead of it", grid{sizes: []int{8, 8}, managed: two, inQueues: []int{20, 12}}, rigid(4), "0b4",
			"no cluster is free now; shortest queue here: 4 cores to spare"},
		{"no queue takes what its cluster never has", grid{sizes: []int{8, 8}, managed: two, keep: []int{1, 2}}, rigid(8), "",
			""},
		{"room in one cluster is better than a short queue", grid{sizes: []int{8, 8, 4}, managed: two, inQueues: []int{9, 9}},
			rigid(4), "0c4", ""},
	} {
		c.run(t, core.WorstFit)
	}
}

func TestRequirementsRuleClustersOut(t *testing.T) {
	only := func(clusters ...core.ClusterID) *core.Job {
		j := rigid(2)
		j.Components[0].Clusters = clusters
		return j
	}
	needs := func(memory int64) *core.Job {
		j := rigid(2)
		j.Components[0].Memory = memory
		return j
	}
	mixed := rigid(2, 2)
	mixed.Components[0].Clusters = []core.ClusterID{1}
	g := grid{sizes: []int{9, 4, 5}, memory: []int64{8, 0, 64}}
	for _, policy := range []core.PlacePolicy{core.WorstFit, core.CloseToFiles, core.ClusterMin, core.FlexibleMin,
		core.DeadlineFirst} {
		for _, c := range []placement{
			{"a list of clusters", g, only(1, 2), "0c2", ""},
			{"a single one", g, only(1), "0b2", ""},
			{"one that is not there", g, only(9), "", ""},
			{"memory", g, needs(16), "0c2", ""},
			{"unknown memory passes", grid{sizes: g.sizes, memory: g.memory, busy: []int{0, 0, 5}}, needs(16), "0b2", ""},
			{"too much memory", grid{sizes: []int{9}, memory: []int64{8}}, needs(16), "", ""},
		} {
			c.name = policy.String() + ": " + c.name
			c.run(t, policy)
		}
	}
	placement{"each component has its own", g, mixed, "0b2 1a2", ""}.run(t, core.WorstFit)
}

// papers/001, V-B: a malleable job is placed "if the number of available
// processors is at least equal to the minimum processor requirement".
func TestFirstSizeOfAJobThatMayChoose(t *testing.T) {
	comp := func(least, most, initial int) core.Component {
		return core.Component{Min: least, Max: most, Initial: initial}
	}
	for _, c := range []placement{
		{"all that is idle", grid{sizes: []int{10}}, flexible(core.Malleable, comp(2, 46, 0)), "0a10", ""},
		{"not more than its maximum", grid{sizes: []int{10}}, flexible(core.Moldable, comp(2, 6, 0)), "0a6", ""},
		{"an equal share with those who wait", grid{sizes: []int{10}, waiting: 2}, flexible(core.Malleable, comp(2, 46, 0)),
			"0a3", ""},
		{"its minimum at least", grid{sizes: []int{10}, waiting: 9}, flexible(core.Malleable, comp(2, 46, 0)), "0a2", ""},
		{"what it asks for", grid{sizes: []int{10}}, flexible(core.Malleable, comp(2, 46, 4)), "0a4", ""},
		{"less than it asks for if there is not more", grid{sizes: []int{3}}, flexible(core.Malleable, comp(2, 46, 4)), "0a3",
			""},
		{"nothing below its minimum", grid{sizes: []int{3}}, flexible(core.Malleable, comp(4, 46, 0)), "", ""},
		{"less what is kept for local users", grid{sizes: []int{10}, keep: []int{3}},
			flexible(core.Malleable, comp(2, 46, 0)), "0a7", ""},
		{"two components share a cluster", grid{sizes: []int{10}}, flexible(core.Malleable, comp(2, 9, 0), comp(2, 9, 0)),
			"0a5 1a5", ""},
		{"one that wants little leaves more to the other", grid{sizes: []int{10}},
			flexible(core.Malleable, comp(2, 3, 0), comp(2, 9, 0)), "0a3 1a7", ""},
		{"a rigid job has no choice", grid{sizes: []int{10}}, rigid(4), "0a4", ""},
		{"a queue takes the minimum", grid{sizes: []int{10}, managed: []bool{true}, inQueues: []int{12}},
			flexible(core.Moldable, comp(2, 9, 5)), "0a2", ""},
	} {
		c.run(t, core.WorstFit)
	}
}

func TestAJobDoesNotShareWithItself(t *testing.T) {
	w := grid{sizes: []int{10}}.world(t)
	job := flexible(core.Malleable, core.Component{Min: 2, Max: 46})
	for _, ev := range []core.Event{{Kind: core.JobSubmitted, Job: 1, Spec: job}, {Kind: core.JobEnqueued, Job: 1}} {
		if err := w.ApplyEvent(&ev); err != nil {
			t.Fatal(err)
		}
	}
	got, _, _ := Place(w.ViewFor(0, 1), job, core.WorstFit, nil)
	if spots(got) != "0a10" {
		t.Errorf("the only job that waits is placed at %q, want all of it", spots(got))
	}
}

func TestGrowthStopsAtWhatAClusterCanEverGive(t *testing.T) {
	g := grid{sizes: []int{10}, keep: []int{3}}
	job := flexible(core.Malleable, core.Component{Min: 2, Max: 46, Initial: 2})
	for _, policy := range []core.PlacePolicy{core.WorstFit, core.ClusterMin, core.FlexibleMin} {
		got, _, ok := Place(g.view(t), job, policy, nil)
		if !ok || got[0].Min != 2 || got[0].Max != 7 {
			t.Errorf("%v: placed %v within [%d, %d], want [2, 7]", policy, ok, got[0].Min, got[0].Max)
		}
	}
}

func TestRoomThatCouldBeReclaimedCountsWhereItIsAskedFor(t *testing.T) {
	w := grid{sizes: []int{10, 8}, busy: []int{0, 5}}.world(t)
	run := flexible(core.Malleable, core.Component{Min: 2, Max: 10})
	run.ID = 9
	for _, ev := range []core.Event{
		{Kind: core.JobSubmitted, Job: 9, Spec: run},
		{Kind: core.PartPlanned, Job: 9, Epoch: 1, N: 10, Min: 2, Max: 10, Procs: core.ProcSet{{Lo: 0, Hi: 10}}},
		{Kind: core.JobBecame, Job: 9, From: core.Submitted, To: core.Selected},
		{Kind: core.JobBecame, Job: 9, From: core.Selected, To: core.Queued},
		{Kind: core.JobBecame, Job: 9, From: core.Queued, To: core.Running},
	} {
		if err := w.ApplyEvent(&ev); err != nil {
			t.Fatal(err)
		}
	}
	v := w.ViewFor(0, 1)
	if got, _, _ := Place(v, rigid(3), core.WorstFit, nil); spots(got) != "0b3" {
		t.Errorf("as it is: %q", spots(got))
	}
	v.Reclaim = true
	if got, _, _ := Place(v, rigid(3), core.WorstFit, nil); spots(got) != "0a3" {
		t.Errorf("with what could be reclaimed: %q", spots(got))
	}
	greedy := flexible(core.Malleable, core.Component{Min: 3, Max: 9})
	if got, _, _ := Place(v, greedy, core.WorstFit, nil); spots(got) != "0a3" {
		t.Errorf("taking from others is for the minimum only: %q", spots(got))
	}
}

func TestAJobThatNeverFitsIsToldSo(t *testing.T) {
	for _, c := range []struct {
		name   string
		sizes  []int
		keep   []int
		job    *core.Job
		policy core.PlacePolicy
		want   string
	}{
		{"fits", []int{5, 9}, nil, rigid(9), core.WorstFit, ""},
		{"busy now is not never", []int{5, 9}, nil, rigid(9), core.WorstFit, ""},
		{"too large", []int{5, 9}, nil, rigid(10), core.WorstFit, "needs 10 cores, at most 9 can be allocated to it"},
		{"less what is kept", []int{5, 9}, []int{0, 3}, rigid(7), core.CloseToFiles,
			"needs 7 cores, at most 6 can be allocated to it"},
		{"split it fits", []int{5, 9}, nil, rigid(14), core.FlexibleMin, ""},
		{"too large even if split", []int{5, 9}, nil, rigid(15), core.FlexibleMin,
			"needs 15 cores, at most 14 can be allocated to it"},
		{"components one by one", []int{5, 9}, nil, rigid(9, 5), core.WorstFit, ""},
		{"components never together", []int{5, 9}, nil, rigid(9, 6), core.ClusterMin,
			"its 2 components, 15 cores in all, do not fit together even if the grid is empty"},
		{"components together", []int{5, 9}, nil, rigid(5, 4, 5), core.ClusterMin, ""},
	} {
		busy := []int{0, 2}
		why, ok := EverFits(grid{sizes: c.sizes, keep: c.keep, busy: busy}.view(t), c.job, c.policy)
		if ok != (c.want == "") || why.String() != c.want {
			t.Errorf("%s: fits %v because %q, want %q", c.name, ok, why, c.want)
		}
	}
}

func TestARefusalForMemoryNamesMemory(t *testing.T) {
	job := rigid(4)
	job.Components[0].Memory = 64 << 30
	g := grid{sizes: []int{5, 9, 2}, memory: []int64{16 << 30, 24 << 30, 128 << 30}}
	why, ok := EverFits(g.view(t), job, core.WorstFit)
	if want := "needs 64 GiB of memory on each host, the most that a host has is 24 GiB"; ok || why.String() != want {
		t.Errorf("fits %v because %q, want %q", ok, why, want)
	}
	job = rigid(10)
	job.Components[0].Memory = 64 << 30
	why, ok = EverFits(g.view(t), job, core.WorstFit)
	if ok || why.Code != core.NeverFits {
		t.Errorf("with too many processors as well: fits %v because %q", ok, why)
	}
}
