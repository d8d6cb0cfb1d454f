package broker

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAJobOfSeveralHostsHoldsProcessorsOnEach(t *testing.T) {
	ring := &core.Pattern{Name: "ring", Nodes: 4}
	for _, c := range []struct {
		spec jobfile.Job
		want int // nodes; 0: no pattern
	}{
		{jobfile.Job{Min: 4, Max: 4, Nodes: 2}, 2},
		{jobfile.Job{Min: 4, Max: 4, Nodes: 4, Pattern: ring}, 4},
		{jobfile.Job{Min: 4, Max: 4, Nodes: 1}, 0},
		{jobfile.Job{Min: 4, Max: 4}, 0},
		{jobfile.Job{Min: 5, Max: 5, Nodes: 2}, 0}, // not as many on each
		{jobfile.Job{Min: 2, Max: 4, Nodes: 2}, 0},
	} {
		p := hostPattern(&c.spec)
		if c.want == 0 && p != nil || c.want > 0 &&
			(p == nil || p.Nodes != c.want || p.CheckSize(c.spec.Min, c.spec.Max) != nil) {
			t.Errorf("%d to %d processors on %d hosts: %+v", c.spec.Min, c.spec.Max, c.spec.Nodes, p)
		}
	}
	if hostPattern(&jobfile.Job{Min: 4, Max: 4, Nodes: 4, Pattern: ring}) != ring {
		t.Error("its own pattern is forgotten")
	}
}
