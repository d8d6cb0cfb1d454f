package nodes

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
)

func TestEveryPairIsProbedOnceAndNobodyTwiceAtATime(t *testing.T) {
	for n := 2; n < 12; n++ {
		seen := map[[2]int]int{}
		for _, round := range pairRounds(n) {
			busy := map[int]bool{}
			for _, p := range round {
				if busy[p[0]] || busy[p[1]] || p[0] == p[1] {
					t.Errorf("%d hosts: %v", n, round)
				}
				busy[p[0]], busy[p[1]] = true, true
				seen[[2]int{min(p[0], p[1]), max(p[0], p[1])}]++
			}
		}
		if len(seen) != n*(n-1)/2 {
			t.Errorf("%d hosts: %d pairs are probed", n, len(seen))
		}
	}
}

func TestStreamsComeAndGoWithinTheirLimits(t *testing.T) {
	s := newStreams(10, 1)
	if len(s.on) != 45 {
		t.Fatalf("%d ways", len(s.on))
	}
	for range 10_000 {
		if pair, mbps := s.changeOne(); mbps < 10 || mbps > 100 || pair[0] >= pair[1] {
			t.Fatalf("%v has %g Mbit/s", pair, mbps)
		}
	}
}

func TestRanksAreInterchangeableIfAllPairsSendAlike(t *testing.T) {
	for _, c := range []struct {
		weights []float64 // of 0–1, 0–2, 1–2
		want    bool
	}{{[]float64{100, 102, 101}, true}, {[]float64{100, 110, 100}, false}, {[]float64{100, 100}, false}} {
		p := &nodesel.Pattern{Nodes: 3}
		for i, w := range c.weights {
			p.Edges = append(p.Edges, nodesel.Edge{A: i / 2, B: 1 + (i+1)/2, Weight: w})
		}
		if isInterchangeable(p) != c.want {
			t.Errorf("%v", p.Edges)
		}
	}
}

func TestChoicesAreTimed(t *testing.T) {
	costs, err := MeasureCosts(t.Context(), []int{10, 20}, 2, clock.RealClock())
	if err != nil || len(costs) != 2+2*4 { // of ten hosts all of 8 alone fits, of twenty all but the tree
		t.Fatalf("%d choices, %v", len(costs), err)
	}
	for _, c := range costs {
		if !c.Proven || c.Gap != 0 || c.Seconds <= 0 {
			t.Errorf("%+v", c)
		}
	}
}

// made are results of two rounds of one program, in which a method takes so many
// seconds; alone it takes one.
func made(seconds map[string][2]float64) *Results {
	r := &Results{Alone: map[string][]float64{"cg": {1}}}
	r.Plan.Programs = []Program{{"cg", nil}}
	for _, m := range methods {
		for i, s := range seconds[m] {
			r.Runs = append(r.Runs, Run{Round: i + 1, Program: "cg", Method: m, Seconds: s})
		}
	}
	return r
}

func TestMethodsAreComparedRoundByRound(t *testing.T) {
	r := made(map[string][2]float64{byChance: {3, 21}, byPairs: {2, 11}, byPattern: {1.5, 6}, byTrialRun: {1.2, 3}})
	if err := r.CheckComplete(); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.CheckStatements() {
		// Means of rounds that differ so much have wide intervals; in every round one is better.
		if want := s.Says != "the intervals of the means do not overlap"; s.Holds != want {
			t.Errorf("%s: %v, %s", s.Says, s.Holds, s.Saw)
		}
	}
	worse := made(map[string][2]float64{byChance: {3, 21}, byPairs: {2, 11}, byPattern: {1.5, 6}, byTrialRun: {1.6, 3}})
	for _, s := range worse.CheckStatements() {
		if s.Says == "pattern + skeleton is at most 5 points behind pattern for every program" && s.Holds {
			t.Error("worse by 10 points in one of two rounds: " + s.Saw)
		}
	}
}

func TestItIsCountedWhereMethodsDiffer(t *testing.T) {
	r := made(map[string][2]float64{byChance: {3, 21}, byPairs: {2, 11}, byPattern: {1.5, 6}, byTrialRun: {1.5, 3}})
	for i := range r.Runs {
		r.Runs[i].Hosts = []string{"n1", "n2"}
	}
	r.findRun(1, "cg", byPairs).Hosts = []string{"n2", "n1"}
	r.findRun(2, "cg", byTrialRun).Hosts = []string{"n2", "n3"}
	if same, other, gain := r.countDiffering("cg"); same != 2 || other != 1 || gain != 3 {
		t.Errorf("same %d, other %d, gain %g", same, other, gain)
	}
	r.findRun(2, "cg", byPairs).Hosts = []string{"n1", "n3"}
	if same, _, _ := r.countDiffering("cg"); same != 1 {
		t.Errorf("same %d", same)
	}
}

func TestResultsThatLackRunsAreRefused(t *testing.T) {
	whole := map[string][2]float64{byChance: {3, 21}, byPairs: {2, 11}, byPattern: {1.5, 6}, byTrialRun: {1.2, 3}}
	for name, spoil := range map[string]func(*Results){
		"a run less":        func(r *Results) { r.Runs = r.Runs[1:] },
		"no such program":   func(r *Results) { r.Runs[0].Program = "xx" },
		"no such method":    func(r *Results) { r.Runs[0].Method = "xx" },
		"a round too far":   func(r *Results) { r.Runs[0].Round = 100 },
		"no time":           func(r *Results) { r.Runs[0].Seconds = 0 },
		"never alone":       func(r *Results) { r.Alone = nil },
		"a program too few": func(r *Results) { r.Plan.Programs = append(r.Plan.Programs, Program{Name: "is"}) },
	} {
		r := made(whole)
		if spoil(r); r.CheckComplete() == nil {
			t.Error(name)
		}
	}
}

func TestRoundsAreContinuedWithTheSamePlanOnly(t *testing.T) {
	p := DefaultPlan()
	r := new(Results)
	if done, err := p.beginResults(r); done != 0 || err != nil || len(r.Plan.Programs) != 5 {
		t.Fatalf("%d, %v, %+v", done, err, r.Plan)
	}
	r.Runs = []Run{{Round: 1}, {Round: 2}}
	if done, err := p.beginResults(r); done != 2 || err != nil {
		t.Errorf("%d rounds, %v", done, err)
	}
	p.Seed++
	if _, err := p.beginResults(r); err == nil {
		t.Error("networks of another seed were taken for the same")
	}
}
