package scenario

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Bounds of single values; workload checks what they mean together.
const (
	maxJobs   = 100_000_000
	maxSize   = 1 << 30
	maxFactor = 1e6
)

func (r *reader) workload(n *yaml.Node) {
	s := &workload.Spec{}
	r.s.Workload = s
	rigidSize := 0
	var apps *yaml.Node
	lines := r.mapping(n, "workload",
		field{"jobs", func(n *yaml.Node, path string) { s.Jobs = r.whole(n, path, 1, maxJobs) }},
		field{"every", func(n *yaml.Node, path string) { s.Arrivals.Every = r.above(n, path) }},
		field{"poisson", func(n *yaml.Node, path string) { s.Arrivals.Poisson = r.above(n, path) }},
		field{"apps", func(n *yaml.Node, _ string) { apps = n }},
		field{"kinds", func(n *yaml.Node, path string) { s.Kinds = r.kinds(n, path) }},
		field{"rigid_size", func(n *yaml.Node, path string) { rigidSize = r.whole(n, path, 1, maxSize) }},
		field{"scale", func(n *yaml.Node, path string) { s.Scale = r.scale(n, path) }},
		field{"estimate", func(n *yaml.Node, path string) { s.Estimate = r.factors(n, path, 0, maxFactor) }},
		field{"deadline", func(n *yaml.Node, path string) { s.Deadline = r.factors(n, path, 0, maxFactor) }},
		field{"place", func(n *yaml.Node, path string) { s.Place = r.place(n, path) }},
		field{"retries", func(n *yaml.Node, path string) { s.Retries = r.whole(n, path, 0, math.MaxInt32) }},
	)
	if apps != nil && !r.failed() {
		r.list(apps, "workload.apps", "applications", func(n *yaml.Node, path string) {
			s.Programs = append(s.Programs, r.program(n, path, rigidSize))
		})
	}
	if r.failed() {
		return
	}
	if lines["jobs"] == 0 {
		r.fail(lines[""], "workload.jobs", "", "the number of jobs; it is missing")
	}
	r.adopt(s.Check(), lines[""], "workload")
}

func (r *reader) kinds(n *yaml.Node, path string) (k workload.Kinds) {
	share := func(name string, to *float64) field {
		return field{name, func(n *yaml.Node, path string) { *to = r.number(n, path, 0, maxFactor) }}
	}
	lines := r.mapping(n, path, share("malleable", &k.Malleable), share("moldable", &k.Moldable), share("rigid", &k.Rigid))
	if k == (workload.Kinds{}) {
		r.fail(lines[""], path, "", "shares of malleable, moldable and rigid jobs, not all 0")
	}
	return k
}

func (r *reader) scale(n *yaml.Node, path string) (s workload.Scale) {
	r.mapping(n, path,
		field{"uniform", func(n *yaml.Node, path string) { s.Uniform = r.factors(n, path, 1e-6, maxFactor) }},
		field{"lognormal", func(n *yaml.Node, path string) { s.Lognormal = r.number(n, path, 0, 5) }},
	)
	return s
}

// fits checks that a component can run somewhere.
func (r *reader) fits(c core.Component, line int, path string) {
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
		r.fail(line, join(path, "min"), fmt.Sprint(c.Min), fmt.Sprintf("at most %d processors, what the largest cluster it may run on has", most))
	}
}
