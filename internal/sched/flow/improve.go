package flow

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A Budget bounds the improvement of a plan. The same seed and the same number
// of steps give the same plan; Stop, which may look at a clock, ends it
// earlier.
type Budget struct {
	Steps int
	Seed  uint64
	Stop  func(best float64) bool // is told the best makespan so far; nil: never
}

// Parameters of the search, from trials on the recorded workflows.
const (
	heat      = 0.006 // temperature at the beginning of a round, of the makespan
	cold      = 1e-5  // and at its end
	perTask   = 30    // steps of a round for each task …
	atLeast   = 10000 // … and at the fewest
	perGroup  = 25    // steps between two passes for each group, at first
	stopEvery = 16    // steps between two questions whether to stop
)

// A search is simulated annealing over orders and hosts: a step changes where
// or in which turn a task on the critical path runs.
type search struct {
	*mapping
	rng    *rand.Rand
	behind *optimistic // what lies behind each task on each group; nil: not known
	span   float64
	path   []int32 // tasks that hold up the end, the last one first
	best   *Schedule
	own    *Schedule // the best, if it is a step of the search that found it: nobody else has it
	moved  []turn    // hosts before the step
}

type turn struct {
	task, host int32
}

// improveSchedule searches near a schedule and returns the best it met, at worst the
// schedule itself. Whole passes and steps of the search take turns.
func improveSchedule(d *DAG, g *Grid, s *Schedule, bound float64, behind *optimistic, w Budget) *Schedule {
	rng := rand.New(rand.NewPCG(w.Seed, 0))
	f := &search{rng: rng, best: s, behind: behind}
	var p *passes
	if cells := len(d.Tasks) * len(g.groups); cells <= passCells {
		p = newPasses(d, g, s, behind, rng)
	}
	nextPass, pause := 0, perGroup*len(g.groups)
	f.restartFromBest(d, g)
	round := max(atLeast, perTask*len(d.Tasks))
	for i := 0; i < w.Steps && f.best.Makespan > bound*(1+slack); i++ {
		if i%stopEvery == 0 && w.Stop != nil && w.Stop(f.best.Makespan) {
			break
		}
		if p != nil && i == nextPass {
			if p.runPass(); p.best.Makespan < f.best.Makespan {
				f.best = p.best
				f.restartFromBest(d, g)
			} else {
				pause *= 2 // most find nothing, and take as long as many steps
			}
			nextPass += pause
		}
		if i > 0 && i%round == 0 {
			f.restartFromBest(d, g)
		}
		done := float64(i%round) / float64(round)
		f.advanceStep(f.best.Makespan * heat * math.Pow(cold/heat, done))
	}
	return f.best
}

// restartFromBest goes on from the best schedule so far.
func (f *search) restartFromBest(d *DAG, g *Grid) {
	f.mapping = newMapping(d, g, f.best)
	f.mapping.behind = f.behind
	f.adoptStep(0)
}

// traceCriticalPath follows the critical path back from the task that ends last: to the
// parent whose data it waited for, or to the task before it on its core.
func (f *search) traceCriticalPath() {
	at := f.sinks[0]
	for _, t := range f.sinks {
		if f.slots[t].End > f.slots[at].End {
			at = t
		}
	}
	f.path = f.path[:0]
	for at >= 0 {
		f.path = append(f.path, at)
		at = f.blockingTask(at)
	}
}

// blockingTask is the task that keeps t from starting earlier, -1 if none does.
func (f *search) blockingTask(t int32) int32 {
	if u := f.previousOnCore(t); u >= 0 {
		return u
	}
	if f.ready[t] == 0 {
		return -1
	}
	for _, p := range f.d.pred.linksOf(t) {
		if f.slots[p.task].End+f.g.transferSeconds(f.host[p.task], f.host[t], p) == f.ready[t] {
			return p.task
		}
	}
	return -1
}

// previousOnCore is the task that has the core of t when its data is there, -1 if none does.
func (f *search) previousOnCore(t int32) int32 {
	s := &f.slots[t]
	if s.Start <= f.ready[t] {
		return -1
	}
	for i := int(f.place[t]) - 1; i >= 0; i-- {
		if u := f.order[i]; f.slots[u].Host == s.Host && f.slots[u].Core == s.Core {
			return u
		}
	}
	return -1
}

// advanceStep makes one step and keeps it if it lengthens the plan by no more than
// chance allows at this temperature.
func (f *search) advanceStep(temperature float64) {
	f.moved = f.moved[:0]
	at := f.rng.IntN(len(f.path))
	t := f.path[at]
	from, to := -1, 0 // the turn that changed, if any did
	switch r := f.rng.IntN(20); {
	case r < 4:
		from, to = f.moveEarlier(t)
	case r < 6 && at+1 < len(f.path):
		h := f.randomHost(t)
		f.moveTask(t, h)
		f.moveTask(f.path[at+1], h)
	case r < 7:
		f.gatherParents(t)
	case r < 13:
		f.moveTask(t, f.betterHost(t))
	}
	if len(f.moved) == 0 && from < 0 {
		f.swapHosts(t)
	}
	if len(f.moved) == 0 && from < 0 {
		return
	}
	first := f.firstChanged(from)
	limit := f.span - temperature*math.Log(1-f.rng.Float64())
	until := first
	if from >= 0 {
		until = to
	}
	if !f.attemptChange(first, until, f.moved, limit) {
		f.undoStep(from, to)
		return
	}
	f.adoptStep(first)
}

// firstChanged is the position from which times change.
func (f *search) firstChanged(from int) int {
	first := len(f.order)
	if from >= 0 {
		first = from
	}
	for _, m := range f.moved {
		first = min(first, int(f.place[m.task]))
	}
	return first
}

// adoptStep takes a step for the current state.
func (f *search) adoptStep(first int) {
	f.invalidateFrom(first)
	f.keepTimes()
	f.span = f.lastEnd()
	if f.span < f.best.Makespan {
		if f.best != f.own {
			f.own = &Schedule{Slots: make([]Slot, len(f.slots))}
		}
		copy(f.own.Slots, f.slots)
		f.own.Makespan, f.best = f.span, f.own
	}
	f.traceCriticalPath()
}

func (f *search) undoStep(from, to int) {
	for _, m := range slices.Backward(f.moved) {
		f.host[m.task] = m.host
	}
	if from >= 0 {
		f.shiftTask(from, to)
	}
}

// moveTask gives t another host, if it meets the requirements.
func (f *search) moveTask(t, h int32) {
	if h == f.host[t] || !f.g.groups[f.g.in[h]].kind.meetsRequirements(&f.d.Tasks[t]) {
		return
	}
	f.moved = append(f.moved, turn{t, f.host[t]})
	f.host[t] = h
}

// randomHost is a host at which t might do better: that of a parent, of a child,
// or any.
func (f *search) randomHost(t int32) int32 {
	switch r := f.rng.IntN(4); r {
	case 0, 1:
		near := f.d.pred.linksOf(t)
		if r == 1 {
			near = f.d.succ.linksOf(t)
		}
		if len(near) > 0 {
			return f.host[near[f.rng.IntN(len(near))].task]
		}
	case 2:
		return f.host[f.path[f.rng.IntN(len(f.path))]]
	}
	hosts := f.g.groups[f.rng.IntN(len(f.g.groups))].hosts
	return hosts[f.rng.IntN(len(hosts))]
}

// betterHost is the one of several hosts at which t would end first, with what lies
// behind it.
func (f *search) betterHost(t int32) int32 {
	const tries, few = 4, 16
	if len(f.d.pred.linksOf(t)) > few {
		return f.randomHost(t)
	}
	f.rewindTo(int(f.place[t]))
	best, least := f.host[t], math.Inf(1)
	for range tries {
		h := f.randomHost(t)
		if h == f.host[t] || !f.g.groups[f.g.in[h]].kind.meetsRequirements(&f.d.Tasks[t]) {
			continue
		}
		if end := f.endOn(t, h); end < least {
			best, least = h, end
		}
	}
	return best
}

// endOn is when t would end on a host, and all behind it at best, if nothing else
// changed. Cores are as they are before its turn.
func (f *search) endOn(t, h int32) float64 {
	start := math.Inf(1)
	for _, free := range f.free[f.g.core[h]:f.g.core[h+1]] {
		start = min(start, free)
	}
	for _, p := range f.d.pred.linksOf(t) {
		start = max(start, f.slots[p.task].End+f.g.transferSeconds(f.host[p.task], h, p))
	}
	end := start + f.g.groupRuntime(&f.d.Tasks[t], f.g.in[h])
	if f.behind != nil {
		end += f.behind.costRow(t)[f.g.in[h]]
	}
	return end
}

// swapHosts exchanges the hosts of t and of a task near it in the order.
func (f *search) swapHosts(t int32) {
	const near, tries = 32, 3
	for range tries {
		i := int(f.place[t]) + f.rng.IntN(2*near+1) - near
		if i < 0 || i >= len(f.order) || f.host[f.order[i]] == f.host[t] {
			continue
		}
		u := f.order[i]
		a, b := f.host[t], f.host[u]
		f.moveTask(t, b)
		f.moveTask(u, a)
		return
	}
}

// gatherParents brings the parents of t to one host with it, if they are few.
func (f *search) gatherParents(t int32) {
	const few = 8
	near := f.d.pred.linksOf(t)
	if len(near) == 0 || len(near) > few {
		return
	}
	h := f.randomHost(t)
	f.moveTask(t, h)
	for _, p := range near {
		f.moveTask(p.task, h)
	}
}

// moveEarlier lets t go before the task that keeps its core busy. It says where t
// stands afterwards and where it stood.
func (f *search) moveEarlier(t int32) (from, to int) {
	u := f.previousOnCore(t)
	if u < 0 {
		return -1, 0
	}
	from, to = int(f.place[u]), int(f.place[t])
	for _, p := range f.d.pred.linksOf(t) {
		if int(f.place[p.task]) >= from {
			return -1, 0
		}
	}
	f.shiftTask(to, from)
	return from, to
}

// shiftTask moves the task at one position to another.
func (f *search) shiftTask(from, to int) {
	t := f.order[from]
	if from > to {
		copy(f.order[to+1:from+1], f.order[to:from])
	} else {
		copy(f.order[from:to], f.order[from+1:to+1])
	}
	f.order[to] = t
	f.renumberTasks(min(from, to), max(from, to)+1)
}
