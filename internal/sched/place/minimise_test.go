package place

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestClusterMinimisation(t *testing.T) {
	comp := core.Component{Min: 2, Max: 9}
	for _, c := range []placement{
		{"all in one if they fit", grid{sizes: []int{9, 10, 5}}, rigid(4, 3, 3), "0b4 1b3 2b3",
			"fits in 1 cluster, the fewest possible; 3 components"},
		{"in two if they must", grid{sizes: []int{9, 8, 5}}, rigid(4, 3, 3), "0a4 1a3 2b3",
			"fits in 2 clusters, the fewest possible; 3 components"},
		{"where largest first would need three", grid{sizes: []int{10, 9, 9}, busy: []int{0, 1}}, rigid(6, 5, 4, 3),
			"0a6 1c5 2a4 3c3", "fits in 2 clusters"},
		{"nowhere", grid{sizes: []int{5, 5}}, rigid(4, 4, 4), "", "waiting for 4 cores (at most 5 free in one cluster)"},
		{"what is left in a cluster is shared", grid{sizes: []int{12}}, flexible(core.Malleable, comp, comp), "0a6 1a6", ""},
		{"into queues where nothing is free", grid{sizes: []int{8}, managed: []bool{true}, inQueues: []int{9}}, rigid(4),
			"0a4", "no cluster is free now; shortest queue here: 1 core to spare"},
	} {
		c.run(t, core.ClusterMin)
	}
}

// fewest tries every way of putting components into clusters.
func fewest(room, comps []int, used uint, best int) int {
	if bits.OnesCount(used) >= best {
		return best
	}
	if len(comps) == 0 {
		return bits.OnesCount(used)
	}
	for k := range room {
		if room[k] >= comps[0] {
			room[k] -= comps[0]
			best = fewest(room, comps[1:], used|1<<k, best)
			room[k] += comps[0]
		}
	}
	return best
}

func TestClusterMinimisationIsTrulyMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 12)
		room := rapid.SliceOfN(size, 1, 5).Draw(t, "room")
		comps := rapid.SliceOfN(size, 1, 6).Draw(t, "components")
		want := fewest(append([]int(nil), room...), comps, 0, 99)
		got, why, ok := Place(grid{sizes: room}.view(t), rigid(comps...), core.ClusterMin, nil)
		if ok != (want < 99) {
			t.Fatalf("placed %v, brute force finds %d clusters", ok, want)
		}
		if !ok {
			return
		}
		clusters := map[core.ClusterID]bool{}
		for _, c := range got {
			clusters[c.Cluster] = true
		}
		if len(clusters) != want || why.A != float64(want) {
			t.Fatalf("takes %d clusters and says %v, brute force finds %d", len(clusters), why, want)
		}
	})
}

func TestManyEqualComponentsDoNotBlowUpTheSearch(t *testing.T) {
	sizes := make([]int, 24)
	for i := range sizes {
		sizes[i] = 3
	}
	g := grid{sizes: []int{17, 17, 17, 17, 17}} // five of three fit into each
	_, why, ok := Place(g.view(t), rigid(sizes...), core.ClusterMin, nil)
	if want := (core.Reason{Code: core.FewestClusters, A: 5, B: 24}); !ok || why != want {
		t.Errorf("placed %v: %v, want %v", ok, why, want)
	}
}

func TestFlexibleClusterMinimisation(t *testing.T) {
	elastic := func(least, most, initial int) *core.Job {
		return flexible(core.Malleable, core.Component{Min: least, Max: most, Initial: initial})
	}
	for _, c := range []placement{
		{"in one cluster if it fits", grid{sizes: []int{5, 9}}, rigid(8), "0b8",
			"split over 1 cluster by what is idle, to start now on 8 cores"},
		{"split by what is idle", grid{sizes: []int{5, 9}}, rigid(12), "0b9 0a3",
			"split over 2 clusters by what is idle, to start now on 12 cores"},
		{"components are one pool", grid{sizes: []int{5, 9}}, rigid(6, 6), "0b9 0a3", ""},
		{"nowhere", grid{sizes: []int{5, 9}, busy: []int{0, 2}}, rigid(13), "",
			"waiting for 13 cores (12 free in all clusters together)"},
		{"malleable takes what is idle", grid{sizes: []int{5, 9}}, elastic(2, 99, 0), "0b9 0a5", ""},
		{"or what it asks for", grid{sizes: []int{5, 9}}, elastic(2, 99, 4), "0b4", ""},
		{"or its share", grid{sizes: []int{5, 9}, waiting: 1}, elastic(2, 99, 0), "0b7", ""},
	} {
		c.run(t, core.FlexibleMin)
	}
}

func TestPiecesOfAFlexibleJobAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 5).Draw(t, "sizes")
		least := rapid.IntRange(1, 40).Draw(t, "least")
		most := least + rapid.IntRange(0, 40).Draw(t, "more")
		kind := core.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))
		initial := rapid.IntRange(0, 50).Draw(t, "initial")
		total := 0
		for _, n := range sizes {
			total += n
		}
		job := flexible(kind, core.Component{Min: least, Max: most, Initial: initial})
		got, _, ok := Place(grid{sizes: sizes}.view(t), job, core.FlexibleMin, nil)
		if ok != (total >= least) {
			t.Fatalf("placed %v with %d idle for %d", ok, total, least)
		}
		if ok {
			checkPieces(t, got, sizes, kind, least, most)
		}
	})
}

func checkPieces(t *rapid.T, got []Choice, sizes []int, kind core.Kind, least, most int) {
	size, mins, maxs := 0, 0, 0
	used := map[core.ClusterID]bool{}
	for _, c := range got {
		if c.Min < 1 || c.Size < c.Min || c.Max < c.Size || c.Max > sizes[c.Cluster] || used[c.Cluster] {
			t.Fatalf("piece %+v in a cluster of %d", c, sizes[c.Cluster])
		}
		used[c.Cluster] = true
		size, mins, maxs = size+c.Size, mins+c.Min, maxs+c.Max
	}
	if size < least || size > most || kind == core.Rigid && size != least {
		t.Fatalf("starts with %d, wants [%d, %d]", size, least, most)
	}
	if mins != max(least, len(got)) || maxs > most {
		t.Fatalf("the pieces may have [%d, %d], the job [%d, %d] over %d clusters", mins, maxs, least, most, len(got))
	}
}
