package scenario

import (
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
)

func (r *reader) policy(v yamlfile.Value) {
	p := &r.s.Policy
	v.Mapping(
		yamlfile.Set("place", &p.Place, r.place),
		yamlfile.Key("approach", func(v yamlfile.Value) { p.Approach = v.Choice("pra", "pwa") }),
		yamlfile.Key("malleable", func(v yamlfile.Value) { p.Malleable = v.Choice(append(malleable.Names(), "none")...) }),
		yamlfile.Key("local", func(v yamlfile.Value) { p.Local = v.Choice("none", "fcfs", "easy") }),
		yamlfile.Key("max_tries", func(v yamlfile.Value) { p.MaxTries = v.Whole(0, math.MaxInt32) }),
		yamlfile.Set("scan_every", &p.ScanEvery, yamlfile.Value.PositiveDuration),
		yamlfile.Set("poll_every", &p.PollEvery, yamlfile.Value.PositiveDuration),
		yamlfile.Set("progress_every", &p.ProgressEvery, yamlfile.Value.PositiveDuration),
		yamlfile.Set("shrink_grace", &p.ShrinkGrace, yamlfile.Value.PositiveDuration),
		yamlfile.Set("claim_margin", &p.ClaimMargin, yamlfile.Value.PositiveDuration),
	)
}

// place reads the name of a placement policy; default is not one that a file
// can ask for.
func (r *reader) place(v yamlfile.Value) core.PlacePolicy {
	var all []string
	for p := core.WorstFit; p <= core.DeadlineFirst; p++ {
		all = append(all, p.String())
	}
	var p core.PlacePolicy
	if name := v.Choice(all...); !r.failed() {
		v.Adopt(p.UnmarshalText([]byte(name)))
	}
	return p
}

// cluster reads the name of a cluster of the platform.
func (r *reader) cluster(v yamlfile.Value) core.ClusterID {
	name := v.Text("the name of a cluster")
	c, ok := r.s.Platform.Cluster(name)
	if !ok {
		v.Wrong(badinput.Unknown("cluster", name, r.s.Platform.ClusterNames()))
	}
	return core.ClusterID(c)
}

// inputs reads the names of files that the platform holds.
func (r *reader) inputs(v yamlfile.Value) (ids []core.FileID) {
	var all []string
	for i := range r.s.Platform.Files {
		all = append(all, r.s.Platform.Files[i].Name)
	}
	for item := range v.List("file names") {
		name := item.Text("the name of a file")
		i := slices.Index(all, name)
		if i < 0 {
			item.Wrong(badinput.Unknown("file of the platform", name, all))
		}
		ids = append(ids, core.FileID(i))
	}
	return ids
}

// largest is the size of the largest cluster.
func (r *reader) largest() int {
	most := 0
	for i := range r.s.Platform.Clusters {
		most = max(most, r.s.Platform.Clusters[i].Procs)
	}
	return most
}
