package flow

import (
	"cmp"
	"slices"
)

// A Slot is where and when a task runs.
type Slot struct {
	Host, Core int // the core counted from 0 within its host
	Start, End float64
}

// A Schedule has one slot for each task.
type Schedule struct {
	Slots    []Slot
	Makespan float64
	Wide     map[int32][]int32 // all cores of tasks that have several, counted over all hosts
}

func newSchedule(slots []Slot) *Schedule {
	s := &Schedule{Slots: slots}
	for _, slot := range slots {
		s.Makespan = max(s.Makespan, slot.End)
	}
	return s
}

// taskOrder is the tasks by their start; of those that start together, parents
// come before children.
func (s *Schedule) taskOrder(d *DAG) []int32 {
	order := slices.Clone(d.topo)
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.Slots[a].Start, s.Slots[b].Start), cmp.Compare(s.Slots[a].End, s.Slots[b].End))
	})
	return order
}

// mirroredInTime turns a schedule of the reversed graph round.
func (s *Schedule) mirroredInTime() *Schedule {
	slots := slices.Clone(s.Slots)
	for i := range slots {
		slots[i].Start, slots[i].End = s.Makespan-slots[i].End, s.Makespan-slots[i].Start
	}
	return newSchedule(slots)
}
