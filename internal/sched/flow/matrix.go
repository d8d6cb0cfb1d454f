package flow

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// Weights are w1 and w2 of rank(c, r) = w1·eCost(c, r) + w2·dCost(c, r): how
// much the time to run counts, and the time to move data.
type Weights struct{ Run, Move float64 }

// A rule says which of the ready tasks is placed next: that of the greatest
// value. best and second are completion times, on the best group and on the
// best other one.
type rule func(best, second float64) float64

// The three heuristics of the matrix (GrADS, section 3.1). The third
// takes the task that loses most if it does not get its best place. It compares
// groups of like hosts, not single hosts: among alike hosts the second best is
// as good as the best, and nobody would ever suffer (Casanova et al.).
func minMin(best, _ float64) float64 { return -best }
func maxMin(best, _ float64) float64 { return best }

func sufferageOf(best, second float64) float64 {
	if math.IsInf(second, 1) {
		return math.MaxFloat64 // it can go nowhere else
	}
	return second - best
}

// looksPerTask is how many ready tasks are looked at again for each one that is
// placed; with up to this many ready, the choice is exact. Above, values may be
// a little old: completion times only grow, and slowly, as the grid fills. So
// the whole heuristic takes a bounded number of looks beyond a few a task.
func looksPerTask(tasks, groups int) int {
	const all, huge = 100_000, 4 << 20
	if tasks*groups > huge {
		return 1
	}
	return max(2, min(64, all/(tasks*groups)))
}

// keepSites is up to how many sites a ready task keeps when its data is where.
// With more it is worked out each time, so that memory stays linear in edges
// and hosts.
const keepSites = 64

// A candidate is a task whose parents are all placed, with its row of the
// matrix: what is known of data, and its value when it was last looked at.
type candidate struct {
	task  int32
	value float64
	pick  choice
	data  arrival
}

// IsBefore orders candidates by value, the highest first.
func (c *candidate) IsBefore(o *candidate) bool {
	return c.value > o.value || c.value == o.value && c.task < o.task
}

// SetPosition is not needed: after a change all candidates are put in order again.
func (c *candidate) SetPosition(int) {}

// A matrix runs one heuristic. The ready tasks form a heap by value.
type matrix struct {
	b       *board
	w       Weights
	rule    rule
	ready   heap.Heap[*candidate]
	spare   []*candidate
	waits   []int32
	looks   int
	placed  int // since all were looked at
	rejects []*candidate
}

func byMatrix(d *DAG, g *Grid, w Weights, r rule, from *State) *Schedule {
	m := newMatrix(d, g, w, r, from)
	for len(m.ready) > 0 {
		m.placeCandidate(m.nextCandidate())
	}
	return m.b.toSchedule()
}

func newMatrix(d *DAG, g *Grid, w Weights, r rule, from *State) *matrix {
	m := &matrix{b: newBoard(d, g, from), w: w, rule: r, waits: d.parentCounts(),
		looks: looksPerTask(len(d.Tasks), len(g.groups))}
	for _, t := range d.topo {
		if m.b.isFixed(t) {
			m.releaseChildren(t, func(int32) {})
		}
	}
	for _, t := range d.topo {
		if m.waits[t] == 0 {
			m.enterTask(t)
		}
	}
	return m
}

// placeCandidate puts a task where it was found to be best, and makes ready who waited
// for it alone.
func (m *matrix) placeCandidate(c *candidate) {
	m.b.placeTask(c.task, c.pick)
	m.spare = append(m.spare, c)
	m.placed++
	m.releaseChildren(c.task, m.enterTask)
}

// releaseChildren lets those go on who waited for a task alone.
func (m *matrix) releaseChildren(t int32, ready func(int32)) {
	for _, s := range m.b.d.succ.linksOf(t) {
		if m.waits[s.task]--; m.waits[s.task] == 0 {
			ready(s.task)
		}
	}
}

// enterTask adds a task whose last parent has just been placed.
func (m *matrix) enterTask(t int32) {
	if m.b.isFixed(t) {
		return
	}
	var c *candidate
	if n := len(m.spare); n > 0 {
		c, m.spare = m.spare[n-1], m.spare[:n-1]
	} else {
		c = &candidate{}
	}
	c.task = t
	if m.b.g.sites <= keepSites {
		if c.data.at == nil {
			c.data = newArrival(m.b.g.sites)
		}
		m.b.computeArrival(t, &c.data)
	}
	m.evaluateCandidate(c)
	m.ready.Push(c)
}

// evaluateCandidate works out a candidate's row of the matrix and its value. What stands in
// the row is the completion time with the rank in place of what run and
// transfer take; with both weights 1 it is the completion time itself.
func (m *matrix) evaluateCandidate(c *candidate) {
	data := &c.data
	if data.at == nil {
		data = &m.b.data
		m.b.computeArrival(c.task, data)
	}
	task := &m.b.d.Tasks[c.task]
	if task.coreCount() > 1 {
		var second float64
		c.pick, second = m.b.bestWide(c.task, data)
		c.value = m.rule(c.pick.end, second)
		return
	}
	r := row{best: math.Inf(1), second: math.Inf(1)}
	if m.b.rates == nil || m.w != (Weights{1, 1}) {
		m.lookAtAll(c, &r, data)
	} else {
		first := m.b.rateBlocks(task, data)
		m.lookAt(c, &r, first, data)
		for i, rate := range m.b.rates {
			if i != first && rate <= r.second {
				m.lookAt(c, &r, i, data)
			}
		}
	}
	c.value = m.rule(r.best, r.second)
}

// A row is what a candidate's row of the matrix comes to: the best value and the
// best other one.
type row struct{ best, second float64 }

func (r *row) noteChoice(c *candidate, e float64, p choice) {
	if e < r.best || e == r.best && p.group < c.pick.group {
		r.second, r.best, c.pick = r.best, e, p
	} else {
		r.second = min(r.second, e)
	}
}

// lookAtAll goes through all groups.
func (m *matrix) lookAtAll(c *candidate, r *row, data *arrival) {
	prune, work := m.w == (Weights{1, 1}), m.b.d.Tasks[c.task].Work
	slow, where, low := m.b.g.taskPace(&m.b.d.Tasks[c.task]), m.b.g.where, data.low
	for gr, idle := range m.b.idle.idle {
		// The test of board.atBest, written out: it is most of the work.
		takes, start := work*slow[gr], low[where[gr]]
		if prune && (max(start, idle)+takes)*(1-slack) > r.second && m.b.atBest(takes, gr, data) > r.second {
			continue
		}
		if p, ok := m.b.bestInGroup(c.task, int32(gr), data); ok {
			r.noteChoice(c, p.end+(m.w.Run-1)*(p.end-p.start)+(m.w.Move-1)*p.moved, p)
		}
	}
}

// lookAt goes through the groups of a block.
func (m *matrix) lookAt(c *candidate, r *row, block int, data *arrival) {
	work, slow := m.b.d.Tasks[c.task].Work, m.b.g.taskPace(&m.b.d.Tasks[c.task])
	for _, gr := range m.b.g.blocks.groupsOf(block) {
		if m.b.atBest(work*slow[gr], int(gr), data) > r.second {
			continue
		}
		if p, ok := m.b.bestInGroup(c.task, gr, data); ok {
			r.noteChoice(c, p.end, p)
		}
	}
}

// nextCandidate takes the task to place now out of the heap. Its place is up to date.
func (m *matrix) nextCandidate() *candidate {
	if m.placed*m.looks >= len(m.ready) {
		m.refreshAll()
		return m.ready.Pop()
	}
	best := m.ready.Pop()
	m.evaluateCandidate(best)
	m.rejects = m.rejects[:0]
	for i := 1; i < m.looks && len(m.ready) > 0 && m.ready[0].value > best.value; i++ {
		c := m.ready.Pop()
		m.evaluateCandidate(c)
		if c.value > best.value {
			best, c = c, best
		}
		m.rejects = append(m.rejects, c)
	}
	for _, c := range m.rejects {
		m.ready.Push(c)
	}
	return best
}

// refreshAll looks at all ready tasks again. It is done so rarely that it costs
// looks tasks for each one placed.
func (m *matrix) refreshAll() {
	for _, c := range m.ready {
		m.evaluateCandidate(c)
	}
	m.ready.FixAll()
	m.placed = 0
}
