package flow

import (
	"math/rand/v2"

	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// passes improve a plan as a whole, by planning again: backward in the order of
// its ends, then forward in the order of the starts that come out
// (forward-backward improvement, as in project scheduling). Tasks that are not
// urgent move out of the way of those that are. Some noise in the order finds
// other plans; what it finds counts only if it is shorter.
type passes struct {
	d, rd *DAG
	g, rg *Grid
	ahead *optimistic // nil: none
	rng   *rand.Rand
	from  *Schedule
	best  *Schedule
	vain  int // passes since from was the best
	key   []float64
}

// passCells bounds tasks × groups, above which a pass takes too long.
const passCells = 1 << 18

func newPasses(d *DAG, g *Grid, s *Schedule, behind *optimistic, rng *rand.Rand) *passes {
	return &passes{d: d, rd: d.reversedEdges(), g: g, rg: g.reversedRoutes(), ahead: behind,
		rng: rng, from: s, best: s, key: make([]float64, len(d.Tasks))}
}

// runPass plans backward and forward once.
func (p *passes) runPass() {
	const patience = 12
	if p.vain > patience {
		p.from, p.vain = p.best, 0
	}
	noise := p.from.Makespan * [...]float64{0, 0.005, 0.02, 0.05}[p.rng.IntN(4)]
	for t := range p.key {
		p.key[t] = p.from.Slots[t].End + noise*(p.rng.Float64()-0.5)
	}
	back := inOrder(newBoard(p.rd, p.rg, nil), byPriority(p.rd, p.key)).mirroredInTime()
	p.noteBest(back)
	for t := range p.key {
		p.key[t] = -back.Slots[t].Start
	}
	order := byPriority(p.d, p.key)
	next := p.planForward(order)
	p.noteBest(next)
	p.from = next
	p.vain++
}

// planForward places the tasks in order, now and then with a look at what comes
// after them.
func (p *passes) planForward(order []int32) *Schedule {
	if p.ahead != nil && p.rng.IntN(3) == 0 {
		return aheadInOrder(newBoard(p.d, p.g, nil), order, p.ahead)
	}
	return inOrder(newBoard(p.d, p.g, nil), order)
}

func (p *passes) noteBest(s *Schedule) {
	if s.Makespan < p.best.Makespan {
		p.best, p.vain = s, 0
	}
}

// ranked is a task that could come next.
type ranked struct {
	task     int32
	priority float64
}

// IsBefore orders tasks by priority, the highest first.
func (r ranked) IsBefore(o ranked) bool {
	return r.priority > o.priority || r.priority == o.priority && r.task < o.task
}

// SetPosition is not needed: priorities do not change.
func (r ranked) SetPosition(int) {}

// byPriority is an order in which every task comes after its parents, and of
// those that could come next the one with the highest priority does.
func byPriority(d *DAG, priority []float64) []int32 {
	waits := d.parentCounts()
	var ready heap.Heap[ranked]
	for _, t := range d.topo {
		if waits[t] == 0 {
			ready.Push(ranked{t, priority[t]})
		}
	}
	order := make([]int32, 0, len(d.Tasks))
	for len(ready) > 0 {
		t := ready.Pop().task
		order = append(order, t)
		for _, c := range d.succ.linksOf(t) {
			if waits[c.task]--; waits[c.task] == 0 {
				ready.Push(ranked{c.task, priority[c.task]})
			}
		}
	}
	return order
}
