package place

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// apartView is a grid in which hosts of some pairs of clusters do not reach each other.
func apartView(t fatal, g grid, pairs [][2]int) world.View {
	w := g.world(t)
	for _, p := range pairs {
		ev := core.Event{Kind: core.ClustersApart, Cluster: core.ClusterID(p[0]), Aim: core.AimAt(core.ClusterID(p[1])),
			When: 100}
		if err := w.ApplyEvent(&ev); err != nil {
			t.Fatal(err)
		}
	}
	return w.ViewFor(1, 1)
}

// fitsTogether tries every way of putting components into clusters of which no two are apart.
func fitsTogether(room, comps []int, apart func(a, b int) bool, used []int) bool {
	if len(comps) == 0 {
		return true
	}
	for k := range room {
		if room[k] < comps[0] || slices.ContainsFunc(used, func(u int) bool { return apart(u, k) }) {
			continue
		}
		room[k] -= comps[0]
		ok := fitsTogether(room, comps[1:], apart, append(slices.Clip(used), k))
		room[k] += comps[0]
		if ok {
			return true
		}
	}
	return false
}

func TestAJointJobIsPlacedWhereverItsPartsReachEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 6)
		room := rapid.SliceOfN(size, 1, 5).Draw(t, "room")
		job := rigid(rapid.SliceOfN(size, 1, 4).Draw(t, "components")...)
		job.Joint = true
		var pairs [][2]int
		for a := range room {
			for b := range a {
				if rapid.IntRange(0, 2).Draw(t, "apart") == 0 {
					pairs = append(pairs, [2]int{a, b})
				}
			}
		}
		apart := func(a, b int) bool { return slices.Contains(pairs, [2]int{max(a, b), min(a, b)}) }
		v := apartView(t, grid{sizes: room}, pairs)
		var comps []int
		for i := range job.Components {
			comps = append(comps, job.Components[i].Min)
		}
		want := fitsTogether(slices.Clone(room), comps, apart, nil)
		for _, policy := range []core.PlacePolicy{core.ClusterMin, core.WorstFit, core.DeadlineFirst} {
			list, _, ok := Place(v, job, policy, nil)
			why, ever := EverFits(v, job, policy)
			if ok != want || ever != want {
				t.Fatalf("%v: placed %v, ever %v, brute force says %v", policy, ok, ever, want)
			}
			for i := range list {
				for k := range i {
					if apart(int(list[i].Cluster), int(list[k].Cluster)) {
						t.Fatalf("%v: %+v has two clusters that are apart", policy, list)
					}
				}
			}
			loose := fitsTogether(slices.Clone(room), comps, func(int, int) bool { return false }, nil)
			if !ever && loose &&
				(why.Code != core.HostsApart || !apart(int(why.A), int(why.B))) {
				t.Fatalf("%v: it never fits because: %v", policy, why)
			}
		}
	})
}

func TestAJobOfSeveralProgramsMayBeInClustersThatAreApart(t *testing.T) {
	v := apartView(t, grid{sizes: []int{2, 2}}, [][2]int{{0, 1}})
	if list, why, ok := Place(v, rigid(2, 2), core.WorstFit, nil); !ok || len(list) != 2 {
		t.Errorf("%+v, %v", list, why)
	}
}

func TestAJobThatIsSplitByWhatIsIdleIsNotSplitOverClustersThatAreApart(t *testing.T) {
	v := apartView(t, grid{sizes: []int{4, 3, 2}}, [][2]int{{0, 1}})
	job := rigid(6)
	job.Joint = true
	list, why, ok := Place(v, job, core.FlexibleMin, nil)
	if !ok || len(list) != 2 || list[0].Cluster != 0 || list[1].Cluster != 2 {
		t.Errorf("%+v, %v", list, why)
	}
	job.Components[0].Min, job.Components[0].Max = 7, 7
	if why, ok := EverFits(v, job, core.FlexibleMin); ok || why.Code != core.HostsApart {
		t.Errorf("%v, %v", why, ok)
	}
}
