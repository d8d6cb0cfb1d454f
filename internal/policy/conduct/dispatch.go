package conduct

// dispatch sends every task that is next on all of its cores, whose parents are
// done and whose cores are free, or nearly so.
func (c *Conductor) dispatch(now float64) []Order {
	var orders []Order
	for core := range c.queue {
		for len(c.queue[core]) > 0 {
			t := c.queue[core][0]
			if c.task[t].state != waits { // sent from another of its cores, or given up
				c.queue[core] = c.queue[core][1:]
				continue
			}
			cores := c.planned(t)
			if c.task[t].parents > 0 || !c.turn(now, t, cores) {
				break
			}
			h := c.plan.Slots[t].Host
			c.assign(now, int(t), h, cores)
			orders = append(orders, Order{Task: int(t), Host: h, Cores: cores})
			c.queue[core] = c.queue[core][1:]
			c.wakeAt(now + lateAfter*c.takes(int(t)) + c.moving(int(t), h))
		}
	}
	return orders
}

// turn tells whether a task is next on all of its cores and these are free by the
// time at which its files are there. If that will be so later, it sees to it that
// somebody looks then.
func (c *Conductor) turn(now float64, t int32, cores []int32) bool {
	moving := c.moving(int(t), c.plan.Slots[t].Host)
	// Files are sent for before the core is free, with some time to spare. What takes
	// next to no time is decided when it is.
	const spare, nothing = 1.2, 0.001
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
			busy = max(busy, c.expected(now, int(c.cores[core].tasks[0]))-now)
		}
	}
	if busy == 0 {
		return true
	}
	if moving < nothing*c.grid.Takes(&c.d.Tasks[t], c.plan.Slots[t].Host) {
		return false
	}
	if busy <= spare*moving+1e-6 { // what a clock rounds off
		return true
	}
	c.wakeAt(now + busy - spare*moving)
	return false
}
