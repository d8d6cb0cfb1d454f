package conduct

import (
	"fmt"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// Departures from the plan that are worth a new one.
const (
	otherShare  = 0.05 // of a host's share
	otherFactor = 0.03 // of a corrected model
	otherEnd    = 0.05 // of how long a task takes
	lateAfter   = 1.25 // times what a running task takes: it is overdue

	smallOtherEnd = 0.005 // the same while planning again takes next to no time
)

// adoptTask takes over a task that was sent in an earlier life.
func (c *Conductor) adoptTask(now float64, t, h int) {
	cores := c.freestCores(h, c.taskWidth(t))
	c.assignCores(now, t, h, cores)
}

func (c *Conductor) taskWidth(t int) int { return max(1, c.d.Tasks[t].Wide) }

// freestCores are cores of a host, or of its site if one host is too small, those with
// the fewest tasks first.
func (c *Conductor) freestCores(h, n int) []int32 {
	var cores []int32
	add := func(h int) {
		first := c.grid.FirstCore(h)
		for i := range c.cfg.Hosts[h].Cores {
			cores = append(cores, int32(first+i))
		}
	}
	add(h)
	for other := range c.cfg.Hosts {
		if len(cores) >= n {
			break
		}
		if other != h && c.cfg.Hosts[other].Site == c.cfg.Hosts[h].Site {
			add(other)
		}
	}
	slices.SortStableFunc(cores, func(a, b int32) int { return len(c.cores[a].tasks) - len(c.cores[b].tasks) })
	return cores[:min(n, len(cores))]
}

// assignCores gives a task its cores.
func (c *Conductor) assignCores(now float64, t, h int, cores []int32) {
	x := &c.task[t]
	x.state, x.host, x.cores, x.sent, x.expect = sent, h, cores, now, 0
	for _, core := range cores {
		c.cores[core].tasks = append(c.cores[core].tasks, int32(t))
	}
}

// releaseCores takes a task from its cores.
func (c *Conductor) releaseCores(t int) {
	for _, core := range c.task[t].cores {
		list := c.cores[core].tasks
		if i := slices.Index(list, int32(t)); i >= 0 {
			c.cores[core].tasks = slices.Delete(list, i, i+1)
		}
	}
	c.task[t].cores = nil
}

// taskEnded takes in that a task ended well.
func (c *Conductor) taskEnded(now float64, in Input) {
	t := &c.task[in.Task]
	if t.state == done || t.state == failed || t.state == never {
		return
	}
	recalled := t.state == waits // it ended in an earlier life
	if (recalled || c.cfg.Movable) && in.Host >= 0 {
		t.host = in.Host
	}
	planned, takes := c.plannedEnd(now, in.Task), c.runSeconds(in.Task)
	c.releaseCores(in.Task)
	t.state = done
	c.left--
	c.fresh++
	c.d.EachChild(in.Task, func(child int) { c.task[child].parents-- })
	if in.Seconds > 0 && !c.cfg.Static {
		before := c.model.learnedFactor(c.d.Tasks[in.Task].Kind, c.cfg.Hosts[t.host].Class)
		c.model.learnRuntime(&c.d.Tasks[in.Task], &c.cfg.Hosts[t.host], in.Seconds, in.Waiting, c.shareOf(in, t.host))
		after := c.model.learnedFactor(c.d.Tasks[in.Task].Kind, c.cfg.Hosts[t.host].Class)
		if math.Abs(after/before-1) > otherFactor {
			c.markOutdated(fmt.Sprintf("tasks such as %s take %.2f times what their model says on %s", c.d.Tasks[in.Task].Name,
				after, c.cfg.Hosts[t.host].Name))
			return
		}
	}
	other := otherEnd
	// At most two are sent to a core: with many left there is no need to count.
	if (c.left-2*len(c.cores))*len(c.hosts) <= trifling && c.countUnsent()*len(c.hosts) <= trifling {
		other = smallOtherEnd
	}
	if !recalled && math.Abs(planned-now) > other*takes {
		c.markOutdated(fmt.Sprintf("%s ended %.3g s %s than planned", c.d.Tasks[in.Task].Name, math.Abs(planned-now),
			earlierOrLater(now < planned)))
	}
}

func earlierOrLater(yes bool) string {
	if yes {
		return "earlier"
	}
	return "later"
}

// shareOf is the share that a task had: as it was told, else as the host gives.
func (c *Conductor) shareOf(in Input, h int) float64 {
	if in.Share > 0 {
		return in.Share
	}
	return c.hosts[h].share
}

// markOutdated says that the plan is to be made anew, when that is worth it.
func (c *Conductor) markOutdated(why string) {
	if c.stale == "" {
		c.stale = why
	}
}

// taskFailed takes in that a task failed or was lost: it waits again, or is given up.
func (c *Conductor) taskFailed(now float64, in Input, out *Output) {
	t := &c.task[in.Task]
	if t.state != sent && t.state != running && t.state != waits {
		return
	}
	c.releaseCores(in.Task)
	t.recall = false
	name := c.d.Tasks[in.Task].Name
	again := false
	if in.Kind == Lost {
		t.lost++
		again = t.lost <= maxLost
		c.stale = fmt.Sprintf("%s was lost on %s", name, c.cfg.Hosts[t.host].Name)
	} else {
		t.failed++
		again = c.cfg.Retries != nil && t.failed <= c.cfg.Retries(in.Task)
		c.stale = fmt.Sprintf("%s failed on %s", name, c.cfg.Hosts[t.host].Name)
	}
	c.urgent = true
	if again {
		t.state = waits
		return
	}
	t.state = failed
	c.left--
	out.GaveUp = append(out.GaveUp, in.Task)
	c.abandonChildren(in.Task)
	c.halted = c.cfg.StopAll
}

// abandonChildren gives up all that wait for a task.
func (c *Conductor) abandonChildren(t int) {
	c.d.EachChild(t, func(child int) {
		if c.task[child].state == waits {
			c.task[child].state = never
			c.left--
			c.abandonChildren(child)
		}
	})
}

// hostChanged takes in what a host gives now.
func (c *Conductor) hostChanged(in Input) {
	h := &c.hosts[in.Host]
	name := c.cfg.Hosts[in.Host].Name
	share := h.share
	if in.Share > 0 {
		share = min(1, max(0.01, in.Share))
	}
	switch {
	case in.Down != h.down:
		c.stale, c.urgent = name+" is gone", true
		if h.down {
			c.stale = name + " is back"
		}
	case math.Abs(share-h.share) > otherShare:
		c.markOutdated(fmt.Sprintf("%s gives a task %.0f %% of a core, before it was %.0f %%", name, 100*share, 100*h.share))
		c.urgent = true
	default:
		return // hardly anything
	}
	if in.Down && !h.down && c.cfg.Movable {
		c.recallFrom(in.Host)
	}
	h.share, h.down = share, in.Down
}

// recallFrom has the tasks that wait on a host that is gone planned again. Those that
// run there may run on.
func (c *Conductor) recallFrom(h int) {
	for t := range c.task {
		if x := &c.task[t]; x.state == sent && x.host == h {
			c.releaseCores(t)
			x.state, x.recall = waits, true
		}
	}
}

// taskMoved takes in that a task is on another host than it was sent to: its files will
// be there, and its cores are others.
func (c *Conductor) taskMoved(now float64, t, h int) {
	x := &c.task[t]
	was := x.state
	if was != waits && was != sent && was != running || was != waits && x.host == h {
		return
	}
	c.releaseCores(t)
	c.assignCores(now, t, h, c.freestCores(h, c.taskWidth(t)))
	x.recall = false
	if was == running { // how much of it is left is told by whoever runs it
		x.state, x.began = running, now
	}
	c.stale, c.urgent = fmt.Sprintf("%s was moved to %s", c.d.Tasks[t].Name, c.cfg.Hosts[h].Name), true
}

// checkOverdue looks for tasks that run much longer than they should.
func (c *Conductor) checkOverdue(now float64) {
	if c.cfg.Static {
		return
	}
	for core := range c.cores {
		if len(c.cores[core].tasks) == 0 {
			continue
		}
		t := int(c.cores[core].tasks[0])
		x := &c.task[t]
		if x.state != running || x.expect > now {
			continue
		}
		late := x.began + lateAfter*c.runSeconds(t)
		if now >= late {
			c.markOutdated(c.d.Tasks[t].Name + " is overdue")
			late = now + max(0.1*c.runSeconds(t), 1e-3)
		}
		c.wakeAt(late)
	}
}

func (c *Conductor) wakeAt(t float64) {
	if c.wakes == 0 || t < c.wakes {
		c.wakes = t
	}
}

// runSeconds is how long a task that has its cores runs there.
func (c *Conductor) runSeconds(t int) float64 {
	x := &c.task[t]
	takes := c.grid.HostRuntime(&c.d.Tasks[t], x.host)
	for _, core := range x.cores[min(1, len(x.cores)):] {
		takes = max(takes, c.grid.HostRuntime(&c.d.Tasks[t], c.hostOf(core)))
	}
	return takes
}

func (c *Conductor) hostOf(core int32) int { return c.grid.HostOf(int(core)) }

// plannedEnd is when a task that was sent ends by what is known of it, even if that time
// is past.
func (c *Conductor) plannedEnd(now float64, t int) float64 {
	x := &c.task[t]
	switch {
	case x.state != running:
		return max(now, x.sent+c.stagingSeconds(t, x.host)) + c.runSeconds(t)
	case x.expect > now:
		return x.expect
	}
	return x.began + c.runSeconds(t)
}

// expectedEnd is when a task that was sent will end. One that should have ended will
// soon, if those of its kind take about the same; the longer it does not, the less is
// known about when.
func (c *Conductor) expectedEnd(now float64, t int) float64 {
	end := c.plannedEnd(now, t)
	if end > now {
		return end
	}
	each, _ := c.model.kindSpread(c.d.Tasks[t].Kind)
	return now + max(now-end, min(0.1, each/2)*c.runSeconds(t))
}

// stagingSeconds is how long the files of a task travel to a host.
func (c *Conductor) stagingSeconds(t, h int) float64 {
	longest := 0.0
	c.d.EachParent(t, func(e flow.Edge) {
		longest = max(longest, c.grid.TransferSeconds(c.task[e.From].host, h, e))
	})
	return longest
}
