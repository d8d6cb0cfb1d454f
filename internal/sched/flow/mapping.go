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
	ready  []float64   // when all data of each task is on its host
	free   []float64   // of each core
	sinks  []int32     // tasks that nothing waits for
	tail   []float64   // at least how long it takes from the end of each task to the end of all
	behind *optimistic // the same for each group, with what must be moved; nil: not known
	step   int         // distance of the marks
	marks  [][]float64 // states of the cores at every step-th position, so that a change need not begin at the beginning
	valid  int         // so many marks are of the present order
	at     int         // the position at which the cores are; -1: at none
	ripple ripple
}

// newMapping is the order and the hosts of a schedule. Its makespan is at most
// that of the schedule.
func newMapping(d *DAG, g *Grid, s *Schedule) *mapping {
	m := &mapping{d: d, g: g, order: s.taskOrder(d), place: make([]int32, len(d.Tasks)), host: make([]int32, len(d.Tasks)),
		slots: make([]Slot, len(d.Tasks)), ready: make([]float64, len(d.Tasks)), free: make([]float64, g.CoreCount())}
	m.tail = longestPaths(d.reversedEdges(), leastTimes(d, g))
	for t := range s.Slots {
		m.host[t] = int32(s.Slots[t].Host)
	}
	for t := range d.Tasks {
		if len(d.succ.linksOf(int32(t))) == 0 {
			m.sinks = append(m.sinks, int32(t))
		}
	}
	m.renumberTasks(0, len(m.order))
	m.step = max(16, int(math.Sqrt(float64(len(m.order)))), len(m.order)*g.CoreCount()>>22)
	m.marks = make([][]float64, len(m.order)/m.step+1)
	for _, t := range m.order {
		m.ready[t] = m.dataArrival(t)
		m.slots[t] = m.slotOf(t)
		m.free[m.coreOf(t)] = m.slots[t].End
	}
	m.at = -1
	m.was = slices.Clone(m.slots)
	m.ripple = ripple{touched: make([]touch, len(d.Tasks)), other: make([]bool, len(g.Hosts)),
		free: make([]float64, g.CoreCount())}
	return m
}

// renumberTasks tells tasks their positions.
func (m *mapping) renumberTasks(from, to int) {
	for i := from; i < to; i++ {
		m.place[m.order[i]] = int32(i)
	}
}

// rewindTo brings the cores to their state at a position, from the last mark
// before it, and makes the marks on the way that are missing.
func (m *mapping) rewindTo(to int) {
	if m.at == to {
		return
	}
	m.at = to
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
		m.free[m.coreOf(t)] = m.slots[t].End
	}
}

func (m *mapping) coreOf(t int32) int32 { return m.g.core[m.host[t]] + int32(m.slots[t].Core) }

// dataArrival is when all data of t is on its host, by the times of its parents.
func (m *mapping) dataArrival(t int32) float64 {
	h, last := m.host[t], 0.0
	for _, p := range m.d.pred.linksOf(t) {
		last = max(last, m.slots[p.task].End+m.g.transferSeconds(m.host[p.task], h, p))
	}
	return last
}

// slotOf is when and on which core of its host t runs after all before it.
func (m *mapping) slotOf(t int32) Slot {
	h, start := m.host[t], m.ready[t]
	first, end := m.g.core[h], m.g.core[h+1]
	best := first
	for c := first + 1; c < end && m.free[best] > start; c++ {
		if m.free[c] < m.free[best] {
			best = c
		}
	}
	start = max(start, m.free[best])
	return Slot{int(h), int(best - first), start, start + m.g.groupRuntime(&m.d.Tasks[t], m.g.in[h])}
}

// attemptChange works out what a change of the order or of hosts from a position on
// does, and gives up as soon as the makespan must exceed the limit. The order
// differs up to a position too; moved are the tasks that have another host than
// before. Only what the change reaches is worked out again: tasks whose parents'
// data comes at another time, and those on hosts whose cores are free at other
// times than they were. If it gives up, times are as before.
func (m *mapping) attemptChange(from, until int, moved []turn, limit float64) bool {
	m.rewindTo(from)
	m.at = -1
	r := &m.ripple
	for _, x := range moved {
		r.touchTask(x.task, unknown)
	}
	if until > from {
		m.disturbHost(m.host[m.order[from]])
	}
	ok := true
	for i := from; i < len(m.order) && (i <= until || r.waiting > 0 || r.uneasy > 0); i++ {
		t := m.order[i]
		if h := m.host[t]; r.touched[t] == no && !r.other[h] {
			m.free[m.coreOf(t)] = m.slots[t].End
		} else if ok = m.recomputeTask(t, limit); !ok {
			break
		} else if r.other[h] && i >= until {
			m.settleHost(h)
		}
	}
	if !ok {
		for _, t := range r.changed {
			m.slots[t] = m.was[t]
		}
		r.changed = r.changed[:0]
		for _, x := range slices.Backward(r.readied) {
			m.ready[x.task] = x.was
		}
	}
	r.clearTouched()
	return ok
}

// recomputeTask works out the times of a task once more.
func (m *mapping) recomputeTask(t int32, limit float64) bool {
	r, old := &m.ripple, m.was[t]
	if r.touched[t] != no {
		if r.touched[t] == unknown {
			m.setArrival(t, m.dataArrival(t))
		}
		r.touched[t] = no
		r.waiting--
	}
	s := m.slotOf(t)
	if s != old {
		m.slots[t] = s
		r.changed = append(r.changed, t)
		if s.End+m.remainingAfter(t) > limit {
			return false
		}
		if (s.End != old.End || s.Host != old.Host) && !m.notifyChildren(t, old, s, limit) {
			return false
		}
		m.disturbHost(int32(s.Host))
		m.disturbHost(int32(old.Host))
	}
	if r.other[old.Host] {
		c := m.g.core[old.Host] + int32(old.Core)
		r.free[c] = max(r.free[c], old.End)
	}
	m.free[m.coreOf(t)] = s.End
	return true
}

// notifyChildren lets the children of a task know that it ends at another time or elsewhere. Most
// of them wait for other data, and need not be looked at. It is false if one of them
// must end too late now.
func (m *mapping) notifyChildren(t int32, old, now Slot, limit float64) bool {
	r := &m.ripple
	for _, c := range m.d.succ.linksOf(t) {
		if r.touched[c.task] == unknown {
			continue
		}
		h := m.host[c.task]
		is := now.End + m.g.transferSeconds(int32(now.Host), h, c)
		if ready := m.ready[c.task]; is > ready {
			x := &m.was[c.task]
			if (is+(x.End-x.Start))*(1-slack)+m.remainingAfter(c.task) > limit {
				return false
			}
			m.setArrival(c.task, is)
			r.touchTask(c.task, later)
		} else if is < ready && old.End+m.g.transferSeconds(int32(old.Host), h, c) >= ready {
			r.touchTask(c.task, unknown)
		}
	}
	return true
}

// setArrival says when all data of a task is there now.
func (m *mapping) setArrival(t int32, when float64) {
	m.ripple.readied = append(m.ripple.readied, readied{t, m.ready[t]})
	m.ready[t] = when
}

// remainingAfter is at least how long it takes from the end of a task to the end of all.
func (m *mapping) remainingAfter(t int32) float64 {
	if m.behind == nil {
		return m.tail[t]
	}
	return max(m.tail[t], m.behind.costRow(t)[m.g.in[m.host[t]]]*(1-slack))
}

// A ripple is how far a change has got in the order.
type ripple struct {
	touched []touch   // tasks to work out again
	other   []bool    // hosts whose cores are free at other times than they were
	free    []float64 // when the cores of these hosts were free
	waiting int       // touched tasks that were not worked out yet
	uneasy  int       // such hosts
	tasks   []int32   // that were touched
	hosts   []int32   // that were other
	changed []int32   // tasks with other slots
	readied []readied // tasks whose data is there at another time
}

// touch is why a task is to be worked out again.
type touch uint8

const (
	no      touch = iota // it is not
	later                // its data comes later, it is known when
	unknown              // its data comes at another time, or it has another host
)

type readied struct {
	task int32
	was  float64
}

func (r *ripple) touchTask(t int32, why touch) {
	if r.touched[t] == no {
		r.waiting++
		r.tasks = append(r.tasks, t)
	}
	r.touched[t] = why
}

func (r *ripple) clearTouched() {
	for _, t := range r.tasks {
		r.touched[t] = no
	}
	for _, h := range r.hosts {
		r.other[h] = false
	}
	r.tasks, r.hosts, r.readied, r.waiting, r.uneasy = r.tasks[:0], r.hosts[:0], r.readied[:0], 0, 0
}

// disturbHost says that the cores of a host will be free at other times from here on.
func (m *mapping) disturbHost(h int32) {
	r := &m.ripple
	if r.other[h] {
		return
	}
	r.other[h] = true
	r.uneasy++
	r.hosts = append(r.hosts, h)
	copy(r.free[m.g.core[h]:m.g.core[h+1]], m.free[m.g.core[h]:m.g.core[h+1]])
}

// settleHost looks whether the cores of a host are free again when they were.
func (m *mapping) settleHost(h int32) {
	r := &m.ripple
	for c := m.g.core[h]; c < m.g.core[h+1]; c++ {
		if m.free[c] != r.free[c] {
			return
		}
	}
	r.other[h] = false
	r.uneasy--
}

// keepTimes takes the times after an attempt for the present ones.
func (m *mapping) keepTimes() {
	for _, t := range m.ripple.changed {
		m.was[t] = m.slots[t]
	}
	m.ripple.changed = m.ripple.changed[:0]
}

// invalidateFrom says that everything from a position on is different now.
func (m *mapping) invalidateFrom(from int) { m.valid = min(m.valid, from/m.step+1) }

func (m *mapping) lastEnd() float64 {
	last := 0.0
	for _, t := range m.sinks {
		last = max(last, m.slots[t].End)
	}
	return last
}

func (m *mapping) toSchedule() *Schedule { return newSchedule(slices.Clone(m.slots)) }
