package scenario

import (
	"fmt"
	"math"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Bounds of single values; workload checks what they mean together.
const (
	maxJobs   = 100_000_000
	maxSize   = 1 << 30
	maxFactor = 1e6
)

func (r *reader) readWorkload(v yamlfile.Value) {
	s := &workload.Spec{}
	r.s.Workload = s
	rigidSize := 0
	var apps yamlfile.Value
	found := v.ReadMapping(
		yamlfile.ReadField("jobs", func(v yamlfile.Value) { s.Jobs = v.WholeNumber(1, maxJobs) }),
		yamlfile.StoreField("every", &s.Arrivals.Every, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("poisson", &s.Arrivals.Poisson, yamlfile.Value.PositiveDuration),
		yamlfile.DeferField("apps", &apps),
		yamlfile.StoreField("kinds", &s.Kinds, r.readKinds),
		yamlfile.ReadField("rigid_size", func(v yamlfile.Value) { rigidSize = v.WholeNumber(1, maxSize) }),
		yamlfile.StoreField("scale", &s.Scale, r.readScale),
		yamlfile.ReadField("estimate", func(v yamlfile.Value) { s.Estimate = r.readFactors(v, 0, maxFactor) }),
		yamlfile.ReadField("deadline", func(v yamlfile.Value) { s.Deadline = r.readFactors(v, 0, maxFactor) }),
		yamlfile.StoreField("place", &s.Place, r.readPlacement),
		yamlfile.ReadField("retries", func(v yamlfile.Value) { s.Retries = v.WholeNumber(0, math.MaxInt32) }),
	)
	if apps.IsGiven() && !r.hasFailed() {
		for item := range apps.EachItem("applications") {
			s.Programs = append(s.Programs, r.readProgram(item, rigidSize))
		}
	}
	if r.hasFailed() {
		return
	}
	found.RequireField("jobs", "the number of jobs")
	v.AdoptError(s.CheckFields())
}

func (r *reader) readKinds(v yamlfile.Value) (k workload.Kinds) {
	share := func(name string, to *float64) yamlfile.Field {
		return yamlfile.ReadField(name, func(v yamlfile.Value) { *to = v.Number(0, maxFactor) })
	}
	v.ReadMapping(share("malleable", &k.Malleable), share("moldable", &k.Moldable), share("rigid", &k.Rigid))
	if k == (workload.Kinds{}) {
		v.ReportError("", "shares of malleable, moldable and rigid jobs, not all 0")
	}
	return k
}

func (r *reader) readScale(v yamlfile.Value) (s workload.Scale) {
	v.ReadMapping(
		yamlfile.ReadField("uniform", func(v yamlfile.Value) { s.Uniform = r.readFactors(v, 1e-6, maxFactor) }),
		yamlfile.ReadField("lognormal", func(v yamlfile.Value) { s.Lognormal = v.Number(0, 5) }),
	)
	return s
}

// checkFits checks that a component can run somewhere.
func (r *reader) checkFits(c core.Component, found yamlfile.Found) {
	most := 0
	for _, id := range c.Clusters {
		most = max(most, r.s.Platform.Clusters[id].Procs)
	}
	if len(c.Clusters) == 0 {
		most = r.largestCluster()
	}
	flexible := r.s.Policy.Place == core.FlexibleMin || r.s.Workload.Place == core.FlexibleMin
	if flexible {
		most = r.s.Platform.TotalProcs()
	}
	if c.Min > most {
		found.FailField("min", fmt.Sprint(c.Min),
			fmt.Sprintf("at most %d cores, what the largest cluster it may run on has", most))
	}
}
