package place

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

func TestWhatHasToBeBroughtCounts(t *testing.T) {
	w := world.New(world.Spec{Clusters: []world.ClusterSpec{
		{Name: "a", Hosts: []world.HostSpec{{Procs: 8, Speed: 2}}},
		{Name: "b", Hosts: []world.HostSpec{{Procs: 4, Speed: 1}}}}})
	job := &core.Job{ID: 1, Estimate: time.Minute, Deadline: core.AtSecond(100),
		Components: []core.Component{{Min: 1, Max: 1, Bring: []time.Duration{time.Hour, 0}}}}
	for policy, want := range map[core.PlacePolicy]core.ClusterID{core.WorstFit: 0, core.CloseToFiles: 1,
		core.DeadlineFirst: 1} {
		list, why, ok := Place(w.ViewFor(0, 0), job, policy, nil)
		if !ok || list[0].Cluster != want {
			t.Errorf("%v: %v %v %v", policy, list, why, ok)
		}
	}
}
