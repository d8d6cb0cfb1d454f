package flow

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

func steps(n int) func(float64, float64) Budget {
	return func(float64, float64) Budget { return Budget{Steps: n, Seed: 1} }
}

func TestEveryHeuristicMakesAPlanThatCanBeCarriedOut(t *testing.T) {
	for gridName, g := range grids() {
		for name, d := range shapes(t) {
			for _, h := range Heuristics() {
				p, err := New(d, g, Options{Heuristics: []string{h}})
				if h == Subset || (h == PEFT || h == Lookahead) && err != nil {
					continue // they do not apply everywhere
				}
				if err != nil {
					t.Fatalf("%s on %s by %s: %v", name, gridName, h, err)
				}
				if err := CheckSchedule(d, g, p.Schedule); err != nil {
					t.Errorf("%s on %s by %s: %v", name, gridName, h, err)
				}
				if p.Schedule.Makespan < p.Bound*(1-slack) {
					t.Errorf("%s on %s by %s: makespan %v below the bound %v", name, gridName, h, p.Schedule.Makespan, p.Bound)
				}
			}
		}
	}
}

func TestTheBestPlanIsAtMostThatOfHEFTAndImprovementKeepsItValid(t *testing.T) {
	for gridName, g := range grids() {
		for name, d := range shapes(t) {
			p, err := New(d, g, Options{Budget: steps(3000)})
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckSchedule(d, g, p.Schedule); err != nil {
				t.Errorf("%s on %s by %s: %v", name, gridName, p.Heuristic, err)
			}
			if h := planHEFT(d, g, nil); p.Schedule.Makespan > h.Makespan {
				t.Errorf("%s on %s: %v, HEFT has %v", name, gridName, p.Schedule.Makespan, h.Makespan)
			}
			if p.Schedule.Makespan < p.Bound*(1-slack) {
				t.Errorf("%s on %s: makespan %v below the bound %v", name, gridName, p.Schedule.Makespan, p.Bound)
			}
		}
	}
}

func TestTheSameSeedAndStepsGiveTheSamePlan(t *testing.T) {
	d, g := montage(t, 20), grid(4, 3)
	a, _ := New(d, g, Options{Budget: steps(5000)})
	b, _ := New(d, g, Options{Budget: steps(5000)})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("makespans %v and %v, or other slots", a.Schedule.Makespan, b.Schedule.Makespan)
	}
}

func TestMoreStepsNeverMakeAPlanWorse(t *testing.T) {
	d, g := tangle(t, 77, 90), grid(5, 3)
	last := 0.0
	for i, n := range []int{0, 1, 100, 3000, 20000} {
		p, err := New(d, g, Options{Budget: steps(n)})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && p.Schedule.Makespan > last {
			t.Errorf("%d steps: %v after %v", n, p.Schedule.Makespan, last)
		}
		last = p.Schedule.Makespan
	}
}

func TestImprovementStopsWhenTold(t *testing.T) {
	asked := 0
	b := Budget{Steps: 1 << 40, Stop: func(float64) bool { asked++; return asked > 3 }}
	d, g := tangle(t, 5, 60), grid(4, 2)
	if _, err := New(d, g, Options{Budget: func(float64, float64) Budget { return b }}); err != nil {
		t.Fatal(err)
	}
	if asked > 4 {
		t.Errorf("asked %d times", asked)
	}
}

func TestHeuristicsThatAreNotWorthTheirTimeAreLeftOutUnlessTheyAreNamed(t *testing.T) {
	d, g := montage(t, 20), grid(4, 3)
	asked := 0
	worth := func(best, bound, cost float64) bool {
		if asked++; best < bound || bound < LowerBound(d, g) || cost < 1 {
			t.Errorf("best %v, bound %v, cost %v", best, bound, cost)
		}
		return asked < 4 // twice before the third, when more is known of the bound
	}
	p, err := New(d, g, Options{Worth: worth})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Outcomes) != 3 || !slices.ContainsFunc(p.Outcomes, func(o Outcome) bool { return o.Heuristic == HEFT }) {
		t.Errorf("%v with a bound of %v", p.Outcomes, p.Bound)
	}
	if p, err = New(d, g, Options{Worth: worth, Heuristics: []string{MinMin, HEFT}}); err != nil || len(p.Outcomes) != 2 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestATaskThatNobodyCanRunIsNamed(t *testing.T) {
	d := build(t, []Task{{Name: "a"}, {Name: "b", Memory: 1 << 50}}, nil)
	_, err := New(d, grid(2, 2), Options{})
	var nobody *NobodyError
	if !errors.As(err, &nobody) || nobody.Task != 1 {
		t.Errorf("%v", err)
	}
}

func TestACycleIsNamed(t *testing.T) {
	_, err := NewDAG(make([]Task, 5), []Edge{{0, 1, 0, 1}, {1, 2, 0, 1}, {2, 3, 0, 1}, {3, 1, 0, 1}, {3, 4, 0, 1}})
	var cycle *CycleError
	if !errors.As(err, &cycle) || len(cycle.Tasks) != 3 {
		t.Errorf("%v", err)
	}
}

func TestWeightsChangeWhatTheMatrixPrefers(t *testing.T) {
	// A slow host has the data, a fast one would have to wait for it.
	hosts := []Host{{Name: "slow", Site: 0, Cores: 1, Speed: 1}, {Name: "fast", Site: 1, Cores: 1, Speed: 4, Memory: 1}}
	g := NewGrid(hosts, 2, func(int, int) Route { return Route{Latency: 1, PerByte: 1e-8} })
	d := build(t, []Task{{Name: "a", Work: 1, Memory: 2}, {Name: "b", Work: 8}}, []Edge{{0, 1, 3e8, 1}})
	for _, c := range []struct {
		w    Weights
		want int
	}{{Weights{1, 1}, 1}, {Weights{1, 3}, 0}, {Weights{0.1, 1}, 0}, {Weights{5, 1}, 1}} {
		if s := byMatrix(d, g, c.w, minMin, nil); s.Slots[1].Host != c.want {
			t.Errorf("weights %v: task b on host %d, want %d", c.w, s.Slots[1].Host, c.want)
		}
	}
}
