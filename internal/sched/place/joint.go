package place

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// jointTries bounds how many placements of one job are tried: clusters that are apart are few.
const jointTries = 64

// placeTogether places a job as its policy wants, and if it is one parallel program in clusters whose hosts reach
// each other. Of two clusters that are apart such a placement leaves one out: a placement with both is
// tried again without the one and without the other.
func placeTogether(v world.View, job *core.Job, policy core.PlacePolicy, dst []Choice) ([]Choice, core.Reason, bool) {
	if !job.Joint {
		return placeByPolicy(v, job, policy, dst)
	}
	tries := jointTries
	return placeWithout(v, job, policy, dst, &tries)
}

func placeWithout(v world.View, job *core.Job, policy core.PlacePolicy, dst []Choice,
	tries *int) ([]Choice, core.Reason, bool) {
	start := len(dst)
	list, why, ok := placeByPolicy(v, job, policy, dst)
	one, other, apart := findApart(v, list[start:])
	if !ok || !apart {
		return list, why, ok
	}
	for _, left := range []core.ClusterID{other, one} { // of the two the one was chosen first
		if *tries--; *tries < 0 {
			break
		}
		less := v
		less.Without = append(slices.Clip(v.Without), left)
		if list, why, ok = placeWithout(less, job, policy, dst[:start], tries); ok {
			return list, why, true
		}
	}
	return dst[:start], why, false
}

// findApart finds two clusters of a placement that are apart.
func findApart(v world.View, list []Choice) (one, other core.ClusterID, apart bool) {
	for i := range list {
		for k := range i {
			if v.AreApart(list[k].Cluster, list[i].Cluster) {
				return list[k].Cluster, list[i].Cluster, true
			}
		}
	}
	return 0, 0, false
}

// neverTogether says why the parts of a job do not fit together even in an empty grid.
func neverTogether(v world.View, job *core.Job, policy core.PlacePolicy) core.Reason {
	if job.Joint {
		if list, _, ok := placeByPolicy(v, job, policy, nil); ok {
			if one, other, apart := findApart(v, list); apart {
				return core.Reason{Code: core.HostsApart, A: float64(one), B: float64(other)}
			}
		}
	}
	return core.Reason{Code: core.NeverTogether, A: float64(len(job.Components)), B: float64(job.MinSize())}
}
