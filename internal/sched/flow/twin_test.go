package flow

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// plainEarliest looks at every core of every host and every pause between its
// tasks: what the search trees and groups must agree with.
func plainEarliest(d *DAG, g *Grid, slots []Slot, placed []bool, t int32) Slot {
	best := Slot{End: math.Inf(1)}
	for h, host := range g.Hosts {
		k := g.groups[g.in[h]].kind
		if !k.meetsRequirements(&d.Tasks[t]) {
			continue
		}
		ready := 0.0
		for _, p := range d.pred.linksOf(t) {
			ready = max(ready, slots[p.task].End+g.transferSeconds(int32(slots[p.task].Host), int32(h), p))
		}
		takes := d.Tasks[t].Work / host.Speed
		for c := range host.Cores {
			if start := plainGap(slots, placed, h, c, ready, takes); start+takes < best.End {
				best = Slot{h, c, start, start + takes}
			}
		}
	}
	return best
}

// plainGap tries the ready time and the end of every task on the core.
func plainGap(slots []Slot, placed []bool, host, core int, ready, takes float64) float64 {
	best := math.Inf(1)
	try := func(start float64) {
		for t, s := range slots {
			if placed[t] && s.Host == host && s.Core == core && start < s.End && s.Start < start+takes {
				return
			}
			if placed[t] && s.Host == host && s.Core == core && s.Start == s.End && start < s.Start && s.Start < start+takes {
				return
			}
		}
		best = min(best, start)
	}
	try(ready)
	for t, s := range slots {
		if placed[t] && s.Host == host && s.Core == core && s.End > ready {
			try(s.End)
		}
	}
	return best
}

func TestPlacingByGroupsEndsTasksAsEarlyAsLookingAtEveryHost(t *testing.T) {
	for gridName, g := range grids() {
		for name, d := range shapes(t) {
			b := newBoard(d, g, nil)
			placed := make([]bool, len(d.Tasks))
			for _, task := range byRank(d, upwardRanks(d, g.meanCosts())) {
				b.computeArrival(task, &b.data)
				c := b.bestChoice(task, &b.data, nil)
				want := plainEarliest(d, g, b.slots, placed, task)
				if d.Tasks[task].Work > 0 && math.Abs(c.end-want.End) > slack*(1+want.End) {
					t.Fatalf("%s on %s: task %d ends at %v, could at %v", name, gridName, task, c.end, want.End)
				}
				b.placeTask(task, c)
				placed[task] = true
			}
		}
	}
}

// everyGroup plans without blocks: the grid is as if its groups were few.
func everyGroup(g *Grid) *Grid {
	plain := *g
	plain.blocks = nil
	return &plain
}

func TestBlocksOfGroupsChangeNoPlan(t *testing.T) {
	corrected := kinds(6, 9)
	corrected.CorrectSpeeds(1, func(_, class int) float64 { return 1 + float64(class%3)/4 })
	for gridName, g := range map[string]*Grid{"kinds": kinds(5, 20), "corrected": corrected} {
		if g.blocks == nil {
			t.Fatalf("%d groups on %s are not many", len(g.groups), gridName)
		}
		for name, d := range shapes(t) {
			for _, h := range []string{MinMin, MaxMin, Suffer, HEFT} {
				got, err := New(d, g, Options{Heuristics: []string{h}})
				if err != nil {
					t.Fatal(err)
				}
				want, err := New(d, everyGroup(g), Options{Heuristics: []string{h}})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s on %s by %s: %v with blocks, %v without, or other slots", name, gridName, h, got.Schedule.Makespan,
						want.Schedule.Makespan)
				}
			}
		}
	}
}

func TestMinMinAlwaysTakesTheReadyTaskThatCanEndFirst(t *testing.T) {
	g := grid(3, 2)
	for seed := range uint64(10) {
		d := tangle(t, 100+seed, 40)
		for i := range d.Tasks {
			d.Tasks[i].Work++ // none without time
		}
		m := newMatrix(d, g, Weights{1, 1}, minMin, nil)
		placed := make([]bool, len(d.Tasks))
		for len(m.ready) > 0 {
			least := math.Inf(1)
			for _, c := range m.ready {
				least = min(least, plainEarliest(d, g, m.b.slots, placed, c.task).End)
			}
			c := m.nextCandidate()
			if math.Abs(c.pick.end-least) > slack*(1+least) {
				t.Fatalf("seed %d: task %d that ends at %v, another could at %v", seed, c.task, c.pick.end, least)
			}
			placed[c.task] = true
			m.placeCandidate(c)
		}
	}
}

func TestNoPlanOfASmallWorkflowBeatsTheLowerBound(t *testing.T) {
	g := grid(2, 1)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 8))
		d := tangle(t, 200+seed, 3+r.IntN(3))
		best := optimum(newBoard(d, g, nil), d.parentCounts(), 0)
		for _, b := range []float64{LowerBound(d, g), wayBound(d, g, lookAhead(d, g))} {
			if b > best*(1+slack) {
				t.Errorf("seed %d: bound %v, optimum %v", seed, b, best)
			}
		}
	}
}

// optimum tries every order and every group for every task.
func optimum(b *board, waits []int32, done int) float64 {
	if done == len(b.slots) {
		return newSchedule(b.slots).Makespan
	}
	best := math.Inf(1)
	for t := range b.slots {
		if waits[t] != 0 {
			continue
		}
		b.computeArrival(int32(t), &b.data)
		for gr := range b.g.groups {
			b.computeArrival(int32(t), &b.data)
			c, ok := b.bestInGroup(int32(t), int32(gr), &b.data)
			if !ok {
				continue
			}
			next := newBoard(b.d, b.g, nil)
			replay(b, next)
			next.placeTask(int32(t), choiceAt(next, int32(t), c.group))
			left := append([]int32(nil), waits...)
			left[t] = -1
			for _, s := range b.d.succ.linksOf(int32(t)) {
				left[s.task]--
			}
			best = min(best, optimum(next, left, done+1))
		}
	}
	return best
}

// replay brings the tasks of one board onto another.
func replay(from, to *board) {
	order := newSchedule(from.slots).taskOrder(from.d)
	for _, t := range order {
		s := from.slots[t]
		if s.Host < 0 {
			continue
		}
		core := to.g.core[s.Host] + int32(s.Core)
		n, _ := to.idle.bestOf(core, core+1, s.Start, s.End-s.Start)
		to.placeTask(t, choice{to.g.in[s.Host], n, s.Start, s.End, 0})
	}
}

func choiceAt(b *board, t, group int32) choice {
	b.computeArrival(t, &b.data)
	c, _ := b.bestInGroup(t, group, &b.data)
	return c
}
