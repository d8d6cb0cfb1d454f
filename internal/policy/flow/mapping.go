package flow

import (
	"math"
	"slices"
)

// A mapping is a schedule as a search changes it: an order and a host for every
// task. Each task starts when its data is there and a core of its host has
// done all tasks before it in the order. Nothing is inserted, so times follow
// from the two in O(edges), and those before a change stay as they are.
type mapping struct {
	d     *DAG
	g     *Grid
	order []int32
	place []int32 // of each task, its position in the order
	host  []int32
	slots []Slot
	free  []float64   // of each core
	tail  []float64   // at least how long it takes from the end of each task to the end of all
	step  int         // distance of the marks
	marks [][]float64 // states of the cores at every step-th position, so that a change need not begin at the beginning
	valid int         // so many marks are of the present order
}

// newMapping is the order and the hosts of a schedule. Its makespan is at most
// that of the schedule.
func newMapping(d *DAG, g *Grid, s *Schedule) *mapping {
	m := &mapping{d: d, g: g, order: s.order(d), place: make([]int32, len(d.Tasks)), host: make([]int32, len(d.Tasks)),
		slots: make([]Slot, len(d.Tasks)), free: make([]float64, g.Cores())}
	m.tail = longest(d.reversed(), leastTimes(d, g))
	for t := range s.Slots {
		m.host[t] = int32(s.Slots[t].Host)
	}
	m.number(0, len(m.order))
	m.step = max(16, int(math.Sqrt(float64(len(m.order)))), len(m.order)*g.Cores()>>22)
	m.marks = make([][]float64, len(m.order)/m.step+1)
	m.attempt(0, math.Inf(1), nil)
	return m
}

// number tells tasks their positions.
func (m *mapping) number(from, to int) {
	for i := from; i < to; i++ {
		m.place[m.order[i]] = int32(i)
	}
}

// rewind brings the cores to their state at a position, from the last mark
// before it, and makes the marks on the way that are missing.
func (m *mapping) rewind(to int) {
	mark := min(to/m.step, m.valid-1)
	at := 0
	if mark >= 0 {
		copy(m.free, m.marks[mark])
		at = mark * m.step
	} else {
		clear(m.free)
	}
	for i := at; ; i++ {
		if i == m.valid*m.step {
			m.marks[m.valid] = append(m.marks[m.valid][:0], m.free...)
			m.valid++
		}
		if i == to {
			return
		}
		t := m.order[i]
		m.free[m.core(t)] = m.slots[t].End
	}
}

func (m *mapping) core(t int32) int32 { return m.g.core[m.host[t]] + int32(m.slots[t].Core) }

// slot is when and on which core of its host t runs after all before it.
func (m *mapping) slot(t int32) Slot {
	h := m.host[t]
	start := 0.0
	for _, p := range m.d.pred.of(t) {
		parent := &m.slots[p.task]
		start = max(start, parent.End+m.g.transfer(m.host[p.task], h, p.bytes))
	}
	first, end := m.g.core[h], m.g.core[h+1]
	best := first
	for c := first + 1; c < end && m.free[best] > start; c++ {
		if m.free[c] < m.free[best] {
			best = c
		}
	}
	start = max(start, m.free[best])
	return Slot{int(h), int(best - first), start, start + m.g.takes(&m.d.Tasks[t], m.g.in[h])}
}

// attempt works out all times from a position on, and gives up as soon as the
// makespan must exceed the limit. The times before the attempt are in was.
func (m *mapping) attempt(from int, limit float64, was []Slot) bool {
	m.rewind(from)
	for i := from; i < len(m.order); i++ {
		t := m.order[i]
		m.slots[t] = m.slot(t)
		if m.slots[t].End+m.tail[t] > limit {
			for ; i >= from; i-- {
				m.slots[m.order[i]] = was[m.order[i]]
			}
			return false
		}
		m.free[m.core(t)] = m.slots[t].End
	}
	return true
}

// changed says that everything from a position on is different now.
func (m *mapping) changed(from int) { m.valid = min(m.valid, from/m.step+1) }

func (m *mapping) makespan() float64 {
	last := 0.0
	for t := range m.slots {
		last = max(last, m.slots[t].End)
	}
	return last
}

func (m *mapping) schedule() *Schedule { return newSchedule(slices.Clone(m.slots)) }
