package flow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// slack is how far times may be apart that are computed in different order.
const slack = 1e-9

// Check says what is wrong with a schedule, nil if it can be carried out as it
// stands: every task once, on a core that exists of a host that meets its
// requirements, for as long as it takes there, after its parents and their
// files, alone on its core, and the makespan is that of the last task. It
// shares no code with the heuristics but the description of the model.
func Check(d *DAG, g *Grid, s *Schedule) error {
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
	switch takes := t.Work / h.Speed; {
	case slot.Core < 0 || slot.Core >= h.Cores:
		return fmt.Errorf("task %s: core %d of %d on %s", t.Name, slot.Core, h.Cores, h.Name)
	case h.Memory > 0 && t.Memory > h.Memory:
		return fmt.Errorf("task %s: needs %d bytes of memory, %s has %d", t.Name, t.Memory, h.Name, h.Memory)
	case t.Cores > h.Cores:
		return fmt.Errorf("task %s: needs %d cores, %s has %d", t.Name, t.Cores, h.Name, h.Cores)
	case !(slot.Start >= 0) || math.IsInf(slot.End, 0):
		return fmt.Errorf("task %s: runs from %v to %v", t.Name, slot.Start, slot.End)
	case math.Abs(slot.End-slot.Start-takes) > slack*(1+slot.End):
		return fmt.Errorf("task %s: runs for %v s on %s where it takes %v", t.Name, slot.End-slot.Start, h.Name, takes)
	}
	return nil
}

func checkParents(d *DAG, g *Grid, s *Schedule) error {
	for t := range s.Slots {
		child := s.Slots[t]
		for _, p := range d.pred.of(int32(t)) {
			parent := s.Slots[p.task]
			arrives := parent.End
			if parent.Host != child.Host && p.bytes >= 0 {
				r := g.route(g.Hosts[parent.Host].Site, g.Hosts[child.Host].Site)
				arrives += r.Latency + p.bytes*r.PerByte
			}
			if child.Start < arrives-slack*(1+arrives) {
				return fmt.Errorf("task %s: starts at %v, before what it needs of %s is there at %v",
					d.Tasks[t].Name, child.Start, d.Tasks[p.task].Name, arrives)
			}
		}
	}
	return nil
}

func checkCores(d *DAG, g *Grid, s *Schedule) error {
	order := make([]int, len(s.Slots))
	for t := range order {
		order[t] = t
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := s.Slots[a], s.Slots[b]
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Core, y.Core),
			cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End), cmp.Compare(a, b))
	})
	for i := 1; i < len(order); i++ {
		x, y := s.Slots[order[i-1]], s.Slots[order[i]]
		if x.Host == y.Host && x.Core == y.Core && y.Start < x.End-slack*(1+x.End) {
			return fmt.Errorf("task %s: starts on core %d of %s at %v, where %s runs until %v", d.Tasks[order[i]].Name,
				y.Core, g.Hosts[y.Host].Name, y.Start, d.Tasks[order[i-1]].Name, x.End)
		}
	}
	return nil
}
