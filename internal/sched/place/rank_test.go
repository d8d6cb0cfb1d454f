package place

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// triangle has file 0 (125 MB) in a and file 1 (250 MB) in b. A gigabit joins
// a and b, a tenth of that c with both; nothing leads to d.
func triangle() grid {
	fast, slow := world.Path{Mbps: 1000}, world.Path{Mbps: 100}
	return grid{
		sizes: []int{4, 6, 9, 99},
		files: []world.FileSpec{{Bytes: 125e6, At: []core.ClusterID{0}}, {Bytes: 250e6, At: []core.ClusterID{1}}},
		paths: [][]world.Path{{{}, fast, slow, {}}, {fast, {}, slow, {}}, {slow, slow, {}, {}}, {{}, {}, {}, {}}},
	}
}

func reading(n int, files ...core.FileID) *core.Job {
	j := rigid(n)
	j.Components[0].Inputs = files
	return j
}

// papers/001, IV-A: "clusters with the necessary input files already present
// are favoured …, followed by clusters for which transfer of those files take
// the least amount of time".
func TestCloseToFiles(t *testing.T) {
	full := triangle()
	full.busy = []int{1, 6}
	for _, c := range []placement{
		{"where the file is", triangle(), reading(4, 0), "0a4", "all its input files are already there; 4 idle cores"},
		{"least to bring: 125 MB to b before 250 MB to a", triangle(), reading(4, 0, 1), "0b4",
			"shortest stage-in of its missing files: 1 s"},
		{"next best when that is full", full, reading(4, 0, 1), "0c4", "shortest stage-in of its missing files: 30 s"},
		{"where it fits first of all", triangle(), reading(7, 0), "0c7", "shortest stage-in of its missing files: 10 s"},
		{"never where a file cannot come", triangle(), reading(10, 0), "", ""},
		{"worst fit among equals", triangle(), reading(4), "0d4", "all its input files are already there; 99 idle cores"},
		{"a file that nobody listed is everywhere", triangle(), reading(4, 7), "0d4", ""},
	} {
		c.run(t, core.CloseToFiles)
	}
	placement{"nor does worst fit place it there", triangle(), reading(4, 0), "0c4", ""}.run(t, core.WorstFit)
	for _, policy := range []core.PlacePolicy{core.WorstFit, core.ClusterMin, core.FlexibleMin, core.DeadlineFirst} {
		placement{policy.String() + " either", triangle(), reading(50, 0), "", ""}.run(t, policy)
	}
	if why, ok := EverFits(triangle().view(t), reading(50, 0), core.WorstFit); ok {
		t.Errorf("it fits once the grid is empty: %v", why)
	}
}

func due(n int, estimate, deadline float64) *core.Job {
	j := rigid(n)
	j.Estimate, j.Deadline = core.DurationFromSeconds(estimate), core.AtSecond(deadline)
	return j
}

func TestDeadline(t *testing.T) {
	speeds := grid{sizes: []int{8, 8}, speed: []float64{1, 2}}
	far := triangle()
	far.speed = []float64{1, 1, 4, 1}
	reads := due(4, 100, 120)
	reads.Components[0].Inputs = []core.FileID{0}
	both := due(4, 100, 60)
	both.Components = append(both.Components, core.Component{Min: 8, Max: 8})
	for _, c := range []placement{
		{"the fast cluster if only that is in time", speeds, due(4, 100, 60), "0b4",
			"best chance of meeting its deadline: 70 %; expected to end after 50 s"},
		{"an even chance when the time is just the estimate", grid{sizes: []int{8}}, due(4, 100, 100), "0a4",
			"best chance of meeting its deadline: 50 %; expected to end after 100 s"},
		{"the cheaper where both are safe", speeds, due(4, 100, 100000), "0b4",
			"best chance of meeting its deadline: 100 %; expected to end after 50 s"},
		{"hopeless is still placed", speeds, due(4, 100, 1), "0b4",
			"best chance of meeting its deadline: below 1 %; expected to end after 50 s"},
		{"the time to bring files counts", far, reads, "0c4",
			"best chance of meeting its deadline: above 99 %; expected to end after 35 s"},
		{"without a deadline the earliest end", speeds, due(4, 100, 0), "0b4", "expected to end soonest here: after 50 s"},
		{"every component has its place", speeds, both, "1b8 0a4", ""},
		{"not where there is no room", grid{sizes: []int{8, 8}, speed: []float64{1, 2}, busy: []int{0, 6}}, due(4, 100, 60),
			"0a4", ""},
		{"nowhere", grid{sizes: []int{8}, busy: []int{6}}, due(4, 100, 60), "",
			"waiting for 4 cores (at most 2 free in one cluster)"},
	} {
		c.run(t, core.DeadlineFirst)
	}
}

func TestTheShorterQueueHasTheBetterChance(t *testing.T) {
	g := grid{sizes: []int{8, 8}, managed: []bool{true, true}, inQueues: []int{40, 16}}
	placement{"least ahead", g, due(4, 100, 200), "0b4", "best chance of meeting its deadline: "}.run(t,
		core.DeadlineFirst)
}

func TestTheChanceFallsWithTheTimeLeft(t *testing.T) {
	last := 1.0
	for limit := 400.0; limit >= -50; limit -= 10 {
		p := chanceWithin(limit, 100, 0)
		if p > last || p < 0 {
			t.Fatalf("the chance within %g s is %g, with 10 s more it was %g", limit, p, last)
		}
		last = p
	}
	if last != 0 || chanceWithin(1, 0, 0) != 1 {
		t.Errorf("too late has chance %g, nothing to do %g", last, chanceWithin(1, 0, 0))
	}
}

func TestASpeedThatNobodyKnowsIsTakenAsOne(t *testing.T) {
	g := grid{sizes: []int{8}, speed: []float64{0}}
	_, why, ok := Place(g.view(t), due(4, 100, 0), core.DeadlineFirst, nil)
	if want := (core.Reason{Code: core.EarliestEnd, A: (100 * time.Second).Seconds()}); !ok || why != want {
		t.Errorf("placed %v because %v", ok, why)
	}
}
