package flow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// slack is how far times may be apart that are computed in different order.
const slack = 1e-9

// CheckSchedule says what is wrong with a schedule, nil if it can be carried out as it
// stands: every task once, on a core that exists of a host that meets its
// requirements, for as long as it takes there, after its parents and their
// files, alone on its core, and the makespan is that of the last task. It
// shares no code with the heuristics but the description of the model.
func CheckSchedule(d *DAG, g *Grid, s *Schedule) error {
	if len(s.Slots) != len(d.Tasks) {
		return fmt.Errorf("%d slots for %d tasks", len(s.Slots), len(d.Tasks))
	}
	last := 0.0
	for t := range s.Slots {
		if err := checkSlot(g, &d.Tasks[t], s.Slots[t]); err != nil {
			return err
		}
		last = max(last, s.Slots[t].End)
	}
	if math.Abs(last-s.Makespan) > slack*(1+last) {
		return fmt.Errorf("the makespan is given as %v but the last task ends at %v", s.Makespan, last)
	}
	if err := checkParents(d, g, s); err != nil {
		return err
	}
	return checkCores(d, g, s)
}

func checkSlot(g *Grid, t *Task, slot Slot) error {
	if slot.Host < 0 || slot.Host >= len(g.Hosts) {
		return fmt.Errorf("task %s: host %d of %d", t.Name, slot.Host, len(g.Hosts))
	}
	h := &g.Hosts[slot.Host]
	takes := g.HostRuntime(t, slot.Host)
	switch {
	case slot.Core < 0 || slot.Core >= h.Cores:
		return fmt.Errorf("task %s: core %d of %d on %s", t.Name, slot.Core, h.Cores, h.Name)
	case h.Memory > 0 && t.Memory > h.Memory:
		return fmt.Errorf("task %s: needs %d bytes of memory, %s has %d", t.Name, t.Memory, h.Name, h.Memory)
	case t.Cores > h.Cores:
		return fmt.Errorf("task %s: needs %d cores, %s has %d", t.Name, t.Cores, h.Name, h.Cores)
	case h.Down || t.Only != nil && !t.Only[h.Class]:
		return fmt.Errorf("task %s: %s is down, or not for it", t.Name, h.Name)
	case !(slot.Start >= 0) || math.IsInf(slot.End, 0):
		return fmt.Errorf("task %s: runs from %v to %v", t.Name, slot.Start, slot.End)
	case t.coreCount() == 1 && math.Abs(slot.End-slot.Start-takes) > slack*(1+slot.End):
		return fmt.Errorf("task %s: runs for %v s on %s where it takes %v", t.Name, slot.End-slot.Start, h.Name, takes)
	}
	return nil
}

func checkParents(d *DAG, g *Grid, s *Schedule) error {
	for t := range s.Slots {
		child := s.Slots[t]
		for _, p := range d.pred.linksOf(int32(t)) {
			parent := s.Slots[p.task]
			arrives := parent.End
			if parent.Host != child.Host && p.bytes >= 0 {
				r := g.routeBetween(g.Hosts[parent.Host].Site, g.Hosts[child.Host].Site)
				arrives += float64(p.files)*r.Latency + p.bytes*r.PerByte
			}
			if child.Start < arrives-slack*(1+arrives) {
				return fmt.Errorf("task %s: starts at %v, before what it needs of %s is there at %v",
					d.Tasks[t].Name, child.Start, d.Tasks[p.task].Name, arrives)
			}
		}
	}
	return nil
}

// A lane is one core for as long as a task has it.
type lane struct {
	task, core int
	start, end float64
}

func checkCores(d *DAG, g *Grid, s *Schedule) error {
	var lanes []lane
	for t, slot := range s.Slots {
		if d.Tasks[t].coreCount() == 1 {
			lanes = append(lanes, lane{t, g.FirstCore(slot.Host) + slot.Core, slot.Start, slot.End})
			continue
		}
		if err := checkWide(g, &d.Tasks[t], slot, s.Wide[int32(t)]); err != nil {
			return err
		}
		for _, c := range s.Wide[int32(t)] {
			lanes = append(lanes, lane{t, int(c), slot.Start, slot.End})
		}
	}
	slices.SortFunc(lanes, func(x, y lane) int {
		return cmp.Or(cmp.Compare(x.core, y.core), cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end),
			cmp.Compare(x.task, y.task))
	})
	for i := 1; i < len(lanes); i++ {
		if x, y := lanes[i-1], lanes[i]; x.core == y.core && y.start < x.end-slack*(1+x.end) {
			return fmt.Errorf("task %s: starts on a core of %s at %v, where %s runs until %v", d.Tasks[y.task].Name,
				g.Hosts[g.HostOf(y.core)].Name, y.start, d.Tasks[x.task].Name, x.end)
		}
	}
	return nil
}

// checkWide looks at a task that has several cores: so many different ones, of
// hosts of one site that may run it, for as long as the slowest of them takes.
func checkWide(g *Grid, t *Task, slot Slot, cores []int32) error {
	if len(cores) != t.coreCount() || len(cores) != len(slices.Compact(slices.Sorted(slices.Values(cores)))) {
		return fmt.Errorf("task %s: has cores %v and needs %d", t.Name, cores, t.coreCount())
	}
	takes := 0.0
	for _, c := range cores {
		h := g.HostOf(int(c))
		if g.Hosts[h].Site != g.Hosts[slot.Host].Site || !g.groups[g.in[h]].kind.meetsRequirements(t) {
			return fmt.Errorf("task %s: %s is elsewhere or cannot run it", t.Name, g.Hosts[h].Name)
		}
		takes = max(takes, g.HostRuntime(t, h))
	}
	if math.Abs(slot.End-slot.Start-takes) > slack*(1+slot.End) {
		return fmt.Errorf("task %s: runs for %v s where it takes %v", t.Name, slot.End-slot.Start, takes)
	}
	return nil
}
