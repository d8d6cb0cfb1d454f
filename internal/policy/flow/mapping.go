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
	d      *DAG
	g      *Grid
	order  []int32
	place  []int32 // of each task, its position in the order
	host   []int32
	slots  []Slot
	was    []Slot      // before the present attempt
	free   []float64   // of each core
	tail   []float64   // at least how long it takes from the end of each task to the end of all
	behind *optimistic // the same for each group, with what must be moved; nil: not known
	step   int         // distance of the marks
	marks  [][]float64 // states of the cores at every step-th position, so that a change need not begin at the beginning
	valid  int         // so many marks are of the present order
	ripple ripple
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
	for _, t := range m.order {
		m.slots[t] = m.slot(t)
		m.free[m.core(t)] = m.slots[t].End
	}
	m.was = slices.Clone(m.slots)
	m.ripple = ripple{stale: make([]bool, len(d.Tasks)), other: make([]bool, len(g.Hosts)), free: make([]float64, g.Cores())}
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

// attempt works out what a change of the order or of hosts from a position on
// does, and gives up as soon as the makespan must exceed the limit. The order
// differs up to a position too; moved are the tasks that have another host than
// before. Only what the change reaches is worked out again: tasks whose parents'
// data comes at another time, and those on hosts whose cores are free at other
// times than they were. If it gives up, times are as before.
func (m *mapping) attempt(from, until int, moved []turn, limit float64) bool {
	m.rewind(from)
	r := &m.ripple
	for _, x := range moved {
		r.touch(x.task)
	}
	if until > from {
		m.disturb(m.host[m.order[from]])
	}
	ok := true
	for i := from; i < len(m.order) && (i <= until || r.touched > 0 || r.uneasy > 0); i++ {
		t := m.order[i]
		if h := m.host[t]; !r.stale[t] && !r.other[h] {
			m.free[m.core(t)] = m.slots[t].End
		} else if ok = m.again(t, limit); !ok {
			break
		} else if r.other[h] && i >= until {
			m.settle(h)
		}
	}
	if !ok {
		for _, t := range r.changed {
			m.slots[t] = m.was[t]
		}
		r.changed = r.changed[:0]
	}
	r.clear()
	return ok
}

// again works out the times of a task once more.
func (m *mapping) again(t int32, limit float64) bool {
	r, old, s := &m.ripple, m.was[t], m.slot(t)
	if r.stale[t] {
		r.stale[t] = false
		r.touched--
	}
	if s != old {
		m.slots[t] = s
		r.changed = append(r.changed, t)
		if s.End+m.rest(t) > limit {
			return false
		}
		if s.End != old.End || s.Host != old.Host {
			for _, c := range m.d.succ.of(t) {
				r.touch(c.task)
			}
		}
		m.disturb(int32(s.Host))
		m.disturb(int32(old.Host))
	}
	if r.other[old.Host] {
		c := m.g.core[old.Host] + int32(old.Core)
		r.free[c] = max(r.free[c], old.End)
	}
	m.free[m.core(t)] = s.End
	return true
}

// rest is at least how long it takes from the end of a task to the end of all.
func (m *mapping) rest(t int32) float64 {
	if m.behind == nil {
		return m.tail[t]
	}
	return max(m.tail[t], m.behind.of(t)[m.g.in[m.host[t]]]*(1-slack))
}

// A ripple is how far a change has got in the order.
type ripple struct {
	stale   []bool    // tasks to work out again
	other   []bool    // hosts whose cores are free at other times than they were
	free    []float64 // when the cores of these hosts were free
	touched int       // stale tasks
	uneasy  int       // such hosts
	tasks   []int32   // that were stale
	hosts   []int32   // that were other
	changed []int32   // tasks with other slots
}

func (r *ripple) touch(t int32) {
	if !r.stale[t] {
		r.stale[t] = true
		r.touched++
		r.tasks = append(r.tasks, t)
	}
}

func (r *ripple) clear() {
	for _, t := range r.tasks {
		r.stale[t] = false
	}
	for _, h := range r.hosts {
		r.other[h] = false
	}
	r.tasks, r.hosts, r.touched, r.uneasy = r.tasks[:0], r.hosts[:0], 0, 0
}

// disturb says that the cores of a host will be free at other times from here on.
func (m *mapping) disturb(h int32) {
	r := &m.ripple
	if r.other[h] {
		return
	}
	r.other[h] = true
	r.uneasy++
	r.hosts = append(r.hosts, h)
	copy(r.free[m.g.core[h]:m.g.core[h+1]], m.free[m.g.core[h]:m.g.core[h+1]])
}

// settle looks whether the cores of a host are free again when they were.
func (m *mapping) settle(h int32) {
	r := &m.ripple
	for c := m.g.core[h]; c < m.g.core[h+1]; c++ {
		if m.free[c] != r.free[c] {
			return
		}
	}
	r.other[h] = false
	r.uneasy--
}

// keep takes the times after an attempt for the present ones.
func (m *mapping) keep() {
	for _, t := range m.ripple.changed {
		m.was[t] = m.slots[t]
	}
	m.ripple.changed = m.ripple.changed[:0]
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
