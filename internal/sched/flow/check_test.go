package flow

import (
	"slices"
	"strings"
	"testing"
)

func TestTheCheckerRefusesEveryKindOfWrongPlan(t *testing.T) {
	d := build(t, []Task{{Name: "a", Work: 4}, {Name: "b", Work: 4}, {Name: "c", Work: 2, Memory: 6 << 30}},
		[]Edge{{0, 1, 1e6, 1}, {0, 2, NoData, 1}})
	g := grid(2, 2)
	right := planHEFT(d, g, nil)
	if err := CheckSchedule(d, g, right); err != nil {
		t.Fatal(err)
	}
	spoil := func(f func(s *Schedule)) *Schedule {
		s := &Schedule{Slots: slices.Clone(right.Slots), Makespan: right.Makespan}
		f(s)
		return s
	}
	for _, c := range []struct {
		want string
		f    func(s *Schedule)
	}{
		{"slots for", func(s *Schedule) { s.Slots = s.Slots[:2] }},
		{"host 9", func(s *Schedule) { s.Slots[0].Host = 9 }},
		{"core 7", func(s *Schedule) { s.Slots[0].Core = 7 }},
		{"runs for", func(s *Schedule) { s.Slots[1].End++; s.Makespan++ }},
		{"makespan", func(s *Schedule) { s.Makespan++ }},
		{"runs from", func(s *Schedule) { s.Slots[0].Start -= 100; s.Slots[0].End -= 100 }},
		{"before what it needs", func(s *Schedule) { s.Slots[1].Start -= 2; s.Slots[1].End -= 2; s.Makespan = last(s) }},
		{"memory", func(s *Schedule) { s.Slots[2].Host, s.Slots[2].Core = 0, 0 }},
		{"where", func(s *Schedule) {
			s.Slots[2].Host, s.Slots[2].Core = s.Slots[1].Host, s.Slots[1].Core
			s.Slots[2].Start = s.Slots[1].Start
			s.Slots[2].End = s.Slots[2].Start + 2/g.Hosts[s.Slots[2].Host].Speed
			s.Makespan = last(s)
		}},
	} {
		err := CheckSchedule(d, g, spoil(c.f))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

func last(s *Schedule) float64 { return newSchedule(s.Slots).Makespan }
