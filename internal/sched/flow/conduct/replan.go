package conduct

import (
	"cmp"
	"errors"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// Sizes, in tasks that have not started × hosts, up to which planning again is done
// for every trifle, up to which it costs next to nothing, and above which one
// heuristic must do.
const (
	trifling = 5_000
	cheap    = 20_000
	dear     = 300_000
)

// isReplanDue tells whether to plan again now. What costs something waits until a good
// part of the tasks has ended since, unless a host or a task is lost.
func (c *Conductor) isReplanDue() bool {
	if c.stale == "" {
		return false
	}
	if c.plan == nil {
		return true
	}
	unsent := c.countUnsent()
	switch {
	case unsent == 0:
		c.stale, c.urgent = "", false
		return false
	case c.cfg.Static:
		return c.lostPlaces()
	}
	return c.urgent || unsent*len(c.hosts) <= cheap || c.fresh*50 > unsent
}

// countUnsent is how many tasks have not started.
func (c *Conductor) countUnsent() int {
	n := 0
	for t := range c.task {
		if c.task[t].state == waits {
			n++
		}
	}
	return n
}

// lostPlaces tells whether a task is to run, by the plan, on a host that is gone.
func (c *Conductor) lostPlaces() bool {
	for t := range c.task {
		if c.task[t].state == waits && c.hosts[c.plan.Slots[t].Host].down {
			return true
		}
	}
	return slices.ContainsFunc(c.task, func(t task) bool { return t.state == waits && t.failed+t.lost > 0 })
}

// planAgain plans what has not been sent, from how things are.
func (c *Conductor) planAgain(now float64) *Note {
	note := &Note{At: now, Why: c.stale}
	c.stale, c.urgent, c.fresh = "", false, 0
	if c.plan != nil {
		note.Before = c.plan.Makespan
	}
	c.rebuildGrid()
	from := c.stateNow(now)
	for t := range from.Fixed {
		if !from.Fixed[t] {
			note.Tasks++
		}
	}
	if c.plan == nil && c.cfg.First != nil {
		c.plan, note.Heuristic = c.cfg.First, "given"
	} else {
		o := flow.Options{Weights: c.cfg.Weights, From: from}
		if c.plan == nil && now == 0 && note.Tasks == len(c.task) {
			o.From, o.Budget = nil, c.cfg.Budget
		}
		if note.Tasks*len(c.hosts) > dear && o.From != nil {
			o.Heuristics = []string{flow.HEFT}
		}
		p, err := flow.New(c.d, c.grid, o)
		if err != nil {
			// Somebody who could run a task is down. What others can do goes on, and
			// the rest is planned when a host is back.
			if p = c.planRunnable(from, o); p == nil {
				c.queue = make([][]int32, len(c.cores))
				return note
			}
		}
		c.plan, note.Heuristic = p.Schedule, p.Heuristic
	}
	note.End = c.plan.Makespan
	c.queueTasks(from)
	return note
}

// planRunnable plans without the tasks that no host can run at present, and without
// those behind them.
func (c *Conductor) planRunnable(from *flow.State, o flow.Options) *flow.Plan {
	for range c.task {
		p, err := flow.New(c.d, c.grid, o)
		if err == nil {
			return p
		}
		var nobody *flow.NobodyError
		if !errors.As(err, &nobody) {
			return nil
		}
		o.From = from
		c.leaveOut(from, nobody.Task)
	}
	return nil
}

func (c *Conductor) leaveOut(from *flow.State, t int) {
	if from.Fixed[t] {
		return
	}
	from.Fixed[t] = true
	c.d.EachChild(t, func(child int) { c.leaveOut(from, child) })
}

// stateNow is how far the workflow has got, for the planner.
func (c *Conductor) stateNow(now float64) *flow.State {
	s := &flow.State{Fixed: make([]bool, len(c.task)), Slots: make([]flow.Slot, len(c.task)),
		Free: make([]float64, len(c.cores))}
	for core := range s.Free {
		s.Free[core] = now
	}
	for t := range c.task {
		if c.task[t].state != waits {
			s.Fixed[t] = true
			s.Slots[t] = flow.Slot{Host: c.task[t].host, Start: now, End: now}
		}
	}
	for core := range c.cores {
		for _, t := range c.cores[core].tasks {
			end := c.expectedEnd(max(now, s.Free[core]), int(t))
			if c.task[t].state == running {
				end = c.expectedEnd(now, int(t))
			}
			s.Free[core] = max(s.Free[core], end)
			s.Slots[t].End = max(s.Slots[t].End, end)
		}
	}
	return s
}

// queueTasks puts the tasks of the plan before their cores, in the order of their starts.
func (c *Conductor) queueTasks(from *flow.State) {
	c.queue = make([][]int32, len(c.cores))
	var order []int32
	for t := range c.task {
		if c.task[t].state == waits && !from.Fixed[t] {
			order = append(order, int32(t))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(c.plan.Slots[a].Start, c.plan.Slots[b].Start)
	})
	for _, t := range order {
		for _, core := range c.plannedCores(t) {
			c.queue[core] = append(c.queue[core], t)
		}
	}
}

// plannedCores are the cores that the plan gives a task.
func (c *Conductor) plannedCores(t int32) []int32 {
	if cores := c.plan.Wide[t]; len(cores) > 0 {
		return cores
	}
	slot := c.plan.Slots[t]
	return []int32{int32(c.grid.FirstCore(slot.Host) + slot.Core)}
}
