package flow

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// large are workflows of 100,000 tasks in the shapes of montage and of a
// fork-join.
func large(b testing.TB) map[string]*DAG {
	return map[string]*DAG{"montage": montage(b, 20_000), "forkjoin": forkJoin(b, 10, 10_000)}
}

// BenchmarkPlan100k plans 100,000 tasks on 1,000 hosts with the four classic
// heuristics together.
func BenchmarkPlan100k(b *testing.B) {
	g := grid(10, 100)
	for name, d := range large(b) {
		b.Run(name, func(b *testing.B) {
			begin := cpuTime(b)
			for b.Loop() {
				if _, err := New(d, g, Options{Heuristics: []string{MinMin, MaxMin, Suffer, HEFT}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuTime(b)-begin)/float64(b.N), "cpu-s/op")
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
		})
	}
}

// cpuTime is the CPU time of this process in seconds, which does not grow with what
// else the machine does.
func cpuTime(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// BenchmarkManyKinds is the same where no two hosts are alike.
func BenchmarkManyKinds(b *testing.B) {
	g := kinds(10, 100)
	for name, d := range large(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := New(d, g, Options{Heuristics: []string{MinMin, MaxMin, Suffer, HEFT}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// kinds is a grid on which every host has a speed of its own.
func kinds(clusters, each int) *Grid {
	like := grid(clusters, each)
	hosts := slices.Clone(like.Hosts)
	for h := range hosts {
		hosts[h].Speed *= 1 + float64(h*37%1009)/2000
		hosts[h].Class = h
	}
	return NewGrid(hosts, clusters, like.routeBetween)
}

// BenchmarkHeuristic shows what each costs alone.
func BenchmarkHeuristic(b *testing.B) {
	d, g := montage(b, 20_000), grid(10, 100)
	for _, h := range Heuristics() {
		b.Run(h, func(b *testing.B) {
			for b.Loop() {
				_, _ = New(d, g, Options{Heuristics: []string{h}})
			}
		})
	}
}

// BenchmarkNaiveMinMin is the textbook as a baseline: every ready task on
// every host for every choice. It is given 1/100, 1/50 and 1/25 of the tasks and a
// tenth of the hosts, from which one can see how it grows: nearly with the square of
// the tasks. All of them on all hosts would take hours.
func BenchmarkNaiveMinMin(b *testing.B) {
	g := grid(10, 10)
	for _, images := range []int{200, 400, 800} {
		d := montage(b, images)
		b.Run(fmt.Sprintf("naive-%d", len(d.Tasks)), func(b *testing.B) {
			for b.Loop() {
				naiveMinMin(d, g)
			}
		})
		b.Run(fmt.Sprintf("ours-%d", len(d.Tasks)), func(b *testing.B) {
			for b.Loop() {
				byMatrix(d, g, Weights{1, 1}, minMin, nil)
			}
		})
	}
}

// naiveMinMin has no insertion: a core is free when its last task ends.
func naiveMinMin(d *DAG, g *Grid) *Schedule {
	slots, waits, free := make([]Slot, len(d.Tasks)), d.parentCounts(), make([]float64, g.CoreCount())
	for range d.Tasks {
		pick, best := -1, Slot{}
		for t := range d.Tasks {
			if waits[t] != 0 {
				continue
			}
			for h := range g.Hosts {
				if s, ok := naiveSlot(d, g, slots, free, t, h); ok && (pick < 0 || s.End < best.End) {
					pick, best = t, s
				}
			}
		}
		slots[pick], waits[pick] = best, -1
		free[int(g.core[best.Host])+best.Core] = best.End
		for _, c := range d.succ.linksOf(int32(pick)) {
			waits[c.task]--
		}
	}
	return newSchedule(slots)
}

func naiveSlot(d *DAG, g *Grid, slots []Slot, free []float64, t, h int) (Slot, bool) {
	host := &g.Hosts[h]
	if !g.groups[g.in[h]].kind.meetsRequirements(&d.Tasks[t]) {
		return Slot{}, false
	}
	ready := 0.0
	for _, p := range d.pred.linksOf(int32(t)) {
		ready = max(ready, slots[p.task].End+g.transferSeconds(int32(slots[p.task].Host), int32(h), p))
	}
	core := 0
	for c := range host.Cores {
		if free[int(g.core[h])+c] < free[int(g.core[h])+core] {
			core = c
		}
	}
	start := max(ready, free[int(g.core[h])+core])
	return Slot{h, core, start, start + d.Tasks[t].Work/host.Speed}, true
}

func TestTheBaselineOfTheBenchmarkMakesValidPlans(t *testing.T) {
	d, g := montage(t, 10), grid(3, 2)
	if err := CheckSchedule(d, g, naiveMinMin(d, g)); err != nil {
		t.Error(err)
	}
}

func TestPlansOfAHundredThousandTasksCanBeCarriedOut(t *testing.T) {
	g := grid(10, 100)
	for name, d := range large(t) {
		for _, h := range []string{MinMin, HEFT} {
			p, err := New(d, g, Options{Heuristics: []string{h}})
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckSchedule(d, g, p.Schedule); err != nil {
				t.Errorf("%s by %s: %v", name, h, err)
			}
		}
	}
}

// BenchmarkImprove is the cost of 10,000 steps on a workflow of ordinary size.
func BenchmarkImprove(b *testing.B) {
	d, g := montage(b, 150), grid(6, 10)
	start := planHEFT(d, g, nil)
	for b.Loop() {
		s := improveSchedule(d, g, start, 0, lookAhead(d, g), Budget{Steps: 10_000, Seed: 1})
		b.ReportMetric(100*(1-s.Makespan/start.Makespan), "%gain")
	}
}
