package flow

import (
	"math"
	"testing"
)

// onlyAt binds a task to one of two classes of hosts.
func onlyAt(class int) []bool { return []bool{class == 0, class == 1} }

func TestTheFilesOfAParentComeOneAfterAnother(t *testing.T) {
	hosts := []Host{{Name: "a", Cores: 1, Speed: 1, Class: 0}, {Name: "b", Site: 1, Cores: 1, Speed: 1, Class: 1}}
	g := NewGrid(hosts, 2, func(int, int) Route { return Route{Latency: 0.01, PerByte: 8 / 200e6} })
	tasks := []Task{{Name: "make", Work: 1, Only: onlyAt(0)}, {Name: "read", Work: 1, Only: onlyAt(1)}}
	const begin = 1 + 2*0.01 + 2*873e6*8/200e6
	for name, edges := range map[string][]Edge{
		"one edge": {{From: 0, To: 1, Bytes: 2 * 873e6, Files: 2}},
		"two edges": {{From: 0, To: 1, Bytes: 873e6}, {From: 0, To: 1, Bytes: NoData},
			{From: 0, To: 1, Bytes: 873e6, Files: 1}},
	} {
		d := build(t, tasks, edges)
		if d.EdgeCount() != 1 {
			t.Errorf("%s: %d edges in the graph, want 1", name, d.EdgeCount())
		}
		for _, h := range []string{MinMin, MaxMin, Suffer, HEFT, Lookahead, Backward} {
			p, err := New(d, g, Options{Heuristics: []string{h}})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Schedule.Slots[1].Start; math.Abs(got-begin) > 1e-9 {
				t.Errorf("%s by %s: starts at %v, its files are there at %v", name, h, got, begin)
			}
			p.Schedule.Slots[1].Start, p.Schedule.Slots[1].End, p.Schedule.Makespan = begin-0.005, begin+0.995, begin+0.995
			if CheckSchedule(d, g, p.Schedule) == nil {
				t.Errorf("%s: a start half a latency before the last file was accepted", name)
			}
		}
	}
}

func TestFilesOfDifferentParentsTravelSideBySide(t *testing.T) {
	hosts := []Host{{Name: "a", Cores: 2, Speed: 1, Class: 0}, {Name: "b", Site: 1, Cores: 1, Speed: 1, Class: 1}}
	g := NewGrid(hosts, 2, func(int, int) Route { return Route{Latency: 0.01, PerByte: 1e-6} })
	d := build(t, []Task{{Work: 1, Only: onlyAt(0)}, {Work: 1, Only: onlyAt(0)}, {Work: 1, Only: onlyAt(1)}},
		[]Edge{{0, 2, 1e6, 1}, {1, 2, 2e6, 1}})
	if s := planHEFT(d, g, nil); math.Abs(s.Slots[2].Start-3.01) > 1e-9 {
		t.Errorf("starts at %v, want 3.01", s.Slots[2].Start)
	}
}
