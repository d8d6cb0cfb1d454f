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

func (r *reader) workload(v yamlfile.Value) {
	s := &workload.Spec{}
	r.s.Workload = s
	rigidSize := 0
	var apps yamlfile.Value
	found := v.Mapping(
		yamlfile.Key("jobs", func(v yamlfile.Value) { s.Jobs = v.Whole(1, maxJobs) }),
		yamlfile.Set("every", &s.Arrivals.Every, yamlfile.Value.PositiveDuration),
		yamlfile.Set("poisson", &s.Arrivals.Poisson, yamlfile.Value.PositiveDuration),
		yamlfile.Later("apps", &apps),
		yamlfile.Set("kinds", &s.Kinds, r.kinds),
		yamlfile.Key("rigid_size", func(v yamlfile.Value) { rigidSize = v.Whole(1, maxSize) }),
		yamlfile.Set("scale", &s.Scale, r.scale),
		yamlfile.Key("estimate", func(v yamlfile.Value) { s.Estimate = r.factors(v, 0, maxFactor) }),
		yamlfile.Key("deadline", func(v yamlfile.Value) { s.Deadline = r.factors(v, 0, maxFactor) }),
		yamlfile.Set("place", &s.Place, r.place),
		yamlfile.Key("retries", func(v yamlfile.Value) { s.Retries = v.Whole(0, math.MaxInt32) }),
	)
	if apps.Given() && !r.failed() {
		for item := range apps.List("applications") {
			s.Programs = append(s.Programs, r.program(item, rigidSize))
		}
	}
	if r.failed() {
		return
	}
	found.Need("jobs", "the number of jobs")
	v.Adopt(s.Check())
}

func (r *reader) kinds(v yamlfile.Value) (k workload.Kinds) {
	share := func(name string, to *float64) yamlfile.Field {
		return yamlfile.Key(name, func(v yamlfile.Value) { *to = v.Number(0, maxFactor) })
	}
	v.Mapping(share("malleable", &k.Malleable), share("moldable", &k.Moldable), share("rigid", &k.Rigid))
	if k == (workload.Kinds{}) {
		v.Fail("", "shares of malleable, moldable and rigid jobs, not all 0")
	}
	return k
}

func (r *reader) scale(v yamlfile.Value) (s workload.Scale) {
	v.Mapping(
		yamlfile.Key("uniform", func(v yamlfile.Value) { s.Uniform = r.factors(v, 1e-6, maxFactor) }),
		yamlfile.Key("lognormal", func(v yamlfile.Value) { s.Lognormal = v.Number(0, 5) }),
	)
	return s
}

// fits checks that a component can run somewhere.
func (r *reader) fits(c core.Component, found yamlfile.Found) {
	most := 0
	for _, id := range c.Clusters {
		most = max(most, r.s.Platform.Clusters[id].Procs)
	}
	if len(c.Clusters) == 0 {
		most = r.largest()
	}
	flexible := r.s.Policy.Place == core.FlexibleMin || r.s.Workload.Place == core.FlexibleMin
	if flexible {
		most = r.s.Platform.Procs()
	}
	if c.Min > most {
		found.Fail("min", fmt.Sprint(c.Min), fmt.Sprintf("at most %d cores, what the largest cluster it may run on has", most))
	}
}
