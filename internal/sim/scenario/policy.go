package scenario

import (
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
)

func (r *reader) readPolicy(v yamlfile.Value) {
	p := &r.s.Policy
	v.ReadMapping(
		yamlfile.StoreField("place", &p.Place, r.readPlacement),
		yamlfile.ReadField("approach", func(v yamlfile.Value) { p.Approach = v.OneOf("pra", "pwa") }),
		yamlfile.ReadField("malleable",
			func(v yamlfile.Value) { p.Malleable = v.OneOf(append(malleable.PolicyNames(), "none")...) }),
		yamlfile.ReadField("local", func(v yamlfile.Value) { p.Local = v.OneOf("none", "fcfs", "easy") }),
		yamlfile.ReadField("max_tries", func(v yamlfile.Value) { p.MaxTries = v.WholeNumber(0, math.MaxInt32) }),
		yamlfile.StoreField("scan_every", &p.ScanEvery, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("poll_every", &p.PollEvery, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("progress_every", &p.ProgressEvery, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("shrink_grace", &p.ShrinkGrace, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("claim_margin", &p.ClaimMargin, yamlfile.Value.PositiveDuration),
		yamlfile.ReadField("rescheduler", r.readRescheduler),
	)
}

// readPlacement reads the name of a placement policy; default is not one that a file
// can ask for.
func (r *reader) readPlacement(v yamlfile.Value) core.PlacePolicy {
	var all []string
	for p := core.WorstFit; p <= core.DeadlineFirst; p++ {
		all = append(all, p.String())
	}
	var p core.PlacePolicy
	if name := v.OneOf(all...); !r.hasFailed() {
		v.AdoptError(p.UnmarshalText([]byte(name)))
	}
	return p
}

// readCluster reads the name of a cluster of the platform.
func (r *reader) readCluster(v yamlfile.Value) core.ClusterID {
	name := v.Text("the name of a cluster")
	c, ok := r.s.Platform.FindCluster(name)
	if !ok {
		v.ReportWrong(badinput.UnknownName("cluster", name, r.s.Platform.ClusterNames()))
	}
	return core.ClusterID(c)
}

// readInputs reads the names of files that the platform holds.
func (r *reader) readInputs(v yamlfile.Value) (ids []core.FileID) {
	var all []string
	for i := range r.s.Platform.Files {
		all = append(all, r.s.Platform.Files[i].Name)
	}
	for item := range v.EachItem("file names") {
		name := item.Text("the name of a file")
		i := slices.Index(all, name)
		if i < 0 {
			item.ReportWrong(badinput.UnknownName("file of the platform", name, all))
		}
		ids = append(ids, core.FileID(i))
	}
	return ids
}

// largestCluster is the size of the largest cluster.
func (r *reader) largestCluster() int {
	most := 0
	for i := range r.s.Platform.Clusters {
		most = max(most, r.s.Platform.Clusters[i].Procs)
	}
	return most
}
