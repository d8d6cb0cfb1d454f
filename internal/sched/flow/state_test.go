package flow

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A plan from the middle of a run must itself be one that can be carried out: its
// checker is that of whole plans, on what is left.
func TestAPlanFromTheMiddleLeavesWhatHasBegunAndHoldsForTheRest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := montage(t, rapid.IntRange(2, 6).Draw(rt, "images"))
		g := grid(rapid.IntRange(1, 3).Draw(rt, "sites"), rapid.IntRange(1, 3).Draw(rt, "hosts"))
		whole, err := New(d, g, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		now := whole.Schedule.Makespan * rapid.Float64Range(0, 1).Draw(rt, "when")
		from := stateAt(d, g, whole.Schedule, now)
		p, err := New(d, g, Options{From: from})
		if err != nil {
			rt.Fatal(err)
		}
		for task, slot := range p.Schedule.Slots {
			switch {
			case from.Fixed[task] && slot != from.Slots[task]:
				rt.Fatalf("task %d had begun and was moved", task)
			case !from.Fixed[task] && slot.Start < now-1e-9:
				rt.Fatalf("task %d is to start at %v, it is %v", task, slot.Start, now)
			}
		}
		rest := &Schedule{Slots: append([]Slot(nil), p.Schedule.Slots...)}
		for task := range rest.Slots {
			if from.Fixed[task] {
				rest.Slots[task].Start = math.MaxFloat64 // it began in time; nothing is asked of it here
			}
		}
		if err := checkParents(d, g, rest); err != nil {
			rt.Fatal(err)
		}
		for _, slot := range p.Schedule.Slots {
			if free := from.Free[g.FirstCore(slot.Host)+slot.Core]; slot.Start >= now && slot.Start < free-1e-9 &&
				slot.End > slot.Start {
				rt.Fatalf("something starts at %v on a core that is free at %v", slot.Start, free)
			}
		}
		if p.Schedule.Makespan > whole.Schedule.Makespan*1.5+1 {
			rt.Fatalf("planned again at %v the end is %v, before it was %v", now, p.Schedule.Makespan, whole.Schedule.Makespan)
		}
	})
}

// stateAt is how far a schedule has got.
func stateAt(d *DAG, g *Grid, s *Schedule, now float64) *State {
	from := &State{Fixed: make([]bool, len(d.Tasks)), Slots: make([]Slot, len(d.Tasks)),
		Free: make([]float64, g.CoreCount())}
	for c := range from.Free {
		from.Free[c] = now
	}
	for t, slot := range s.Slots {
		if slot.Start >= now {
			continue
		}
		from.Fixed[t], from.Slots[t] = true, slot
		from.Slots[t].End = max(slot.End, now)
		core := g.FirstCore(slot.Host) + slot.Core
		from.Free[core] = max(from.Free[core], slot.End)
	}
	return from
}

func TestATaskOfSeveralCoresGetsThemAtOnceAndAtOneSite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := forkJoin(t, 2, rapid.IntRange(1, 6).Draw(rt, "width"))
		for i := range d.Tasks {
			d.Tasks[i].Wide = rapid.SampledFrom([]int{0, 1, 2, 4}).Draw(rt, "wide")
		}
		d = build(t, d.Tasks, edgesOf(d))
		g := grid(2, rapid.IntRange(4, 6).Draw(rt, "hosts"))
		p, err := New(d, g, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		if err := CheckSchedule(d, g, p.Schedule); err != nil {
			rt.Fatal(err)
		}
		if p.Schedule.Makespan < p.Bound*(1-1e-9) {
			rt.Fatalf("makespan %v below the bound %v", p.Schedule.Makespan, p.Bound)
		}
		for task := range d.Tasks {
			if w := d.Tasks[task].Wide; w > 1 && len(p.Schedule.Wide[int32(task)]) != w {
				rt.Fatalf("task %d has cores %v, needs %d", task, p.Schedule.Wide[int32(task)], w)
			}
		}
	})
}

func edgesOf(d *DAG) []Edge {
	var edges []Edge
	for t := range d.Tasks {
		d.EachParent(t, func(e Edge) { edges = append(edges, e) })
	}
	return edges
}

func TestATaskTooWideForEverySiteIsNamed(t *testing.T) {
	d := build(t, []Task{{Name: "a", Work: 1}, {Name: "b", Work: 1, Wide: 1000}}, nil)
	if got := grid(2, 2).UnrunnableTask(d); got != 1 {
		t.Errorf("nobody runs task %d, want 1", got)
	}
}

// Where a kind of tasks takes longer than the speed of a class tells, fewer of
// them go there.
func TestCorrectionsMoveTasksToWhereTheyAreFaster(t *testing.T) {
	tasks := make([]Task, 90)
	for i := range tasks {
		tasks[i] = Task{Work: 10}
	}
	d := build(t, tasks, nil)
	hosts := []Host{{Name: "a", Cores: 1, Speed: 1}, {Name: "b", Cores: 1, Speed: 2, Class: 1}}
	g := NewGrid(hosts, 1, func(int, int) Route { return Route{} })
	count := func() (n int) {
		p, err := New(d, g, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckSchedule(d, g, p.Schedule); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Schedule.Slots {
			n += s.Host
		}
		return n
	}
	if n := count(); n != 60 {
		t.Errorf("%d of 90 on the host of twice the speed, want 60", n)
	}
	g.CorrectSpeeds(1, func(_, class int) float64 { return []float64{1, 4}[class] })
	if n := count(); math.Abs(float64(n)-30) > 1 {
		t.Errorf("%d of 90 on the host that is half as fast after all, want 30", n)
	}
}

func TestAHostThatIsDownRunsNothing(t *testing.T) {
	d := chain(t, 6)
	g := grid(2, 2)
	hosts := append([]Host(nil), g.Hosts...)
	hosts[0].Down, hosts[3].Down = true, true
	g = NewGrid(hosts, 2, func(int, int) Route { return Route{0.01, 1e-8} })
	p, err := New(d, g, Options{Budget: func(float64, float64) Budget { return Budget{Steps: 500, Seed: 1} }})
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckSchedule(d, g, p.Schedule); err != nil {
		t.Error(err)
	}
}
