package conduct

// dispatchReady sends every task that is next on all of its cores, whose parents are
// done and whose cores are free, or nearly so.
func (c *Conductor) dispatchReady(now float64) []Order {
	var orders []Order
	for core := range c.queue {
		for len(c.queue[core]) > 0 {
			t := c.queue[core][0]
			if c.task[t].state != waits { // sent from another of its cores, or given up
				c.queue[core] = c.queue[core][1:]
				continue
			}
			cores := c.plannedCores(t)
			if c.task[t].parents > 0 || !c.isTurn(now, t, cores) {
				break
			}
			h := c.plan.Slots[t].Host
			c.assignCores(now, int(t), h, cores)
			orders = append(orders, Order{Task: int(t), Host: h, Cores: cores, Move: c.task[t].recall})
			c.task[t].recall = false
			c.queue[core] = c.queue[core][1:]
			c.wakeAt(now + lateAfter*c.runSeconds(int(t)) + c.stagingSeconds(int(t), h))
		}
	}
	return orders
}

// isTurn tells whether a task is next on all of its cores and these are free by the
// time at which its files are there. If that will be so later, it sees to it that
// somebody looks then.
func (c *Conductor) isTurn(now float64, t int32, cores []int32) bool {
	h := c.plan.Slots[t].Host
	moving, takes := c.stagingSeconds(int(t), h), c.grid.HostRuntime(&c.d.Tasks[t], h)
	// What takes next to no time is decided when the core is free.
	const nothing = 0.001
	early := c.prefetchLead(h, moving, takes)
	var busy float64
	for _, core := range cores {
		for len(c.queue[core]) > 0 && c.task[c.queue[core][0]].state != waits {
			c.queue[core] = c.queue[core][1:]
		}
		if len(c.queue[core]) == 0 || c.queue[core][0] != t || c.hosts[c.hostOf(core)].down {
			return false
		}
		switch n := len(c.cores[core].tasks); {
		case n > 1 || n == 1 && c.task[c.cores[core].tasks[0]].state != running:
			return false
		case n == 1:
			// One that should have ended may do so any moment: that is no time to wait.
			busy = max(busy, c.plannedEnd(now, int(c.cores[core].tasks[0]))-now, tiny)
		}
	}
	if busy == 0 {
		return true
	}
	if moving < nothing*takes {
		return false
	}
	if busy <= early+tiny {
		return true
	}
	c.wakeAt(now + busy - early)
	return false
}

// tiny is what a clock rounds off, in seconds.
const tiny = 1e-6

// prefetchLead is how long before a core of a host is free the files of its next task are
// sent for: with some time to spare, and the more if the other cores of the site may
// want theirs at the same time over the same way. For that a task is bound to a core
// a little earlier, but only by a small part of what it takes.
func (c *Conductor) prefetchLead(h int, moving, takes float64) float64 {
	const spare, atMost = 1.2, 0.05
	alone := spare * moving
	return max(alone, min(alone*float64(c.siteCores[c.cfg.Hosts[h].Site]), atMost*takes))
}
