package scenario

import (
	"math"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/policy/malleable"
)

func (r *reader) policy(n *yaml.Node) {
	p := &r.s.Policy
	r.mapping(n, "policy",
		field{"place", func(n *yaml.Node, path string) { p.Place = r.place(n, path) }},
		field{"approach", func(n *yaml.Node, path string) { p.Approach = r.choice(n, path, "pra", "pwa") }},
		field{"malleable", func(n *yaml.Node, path string) {
			p.Malleable = r.choice(n, path, append(malleable.Names(), "none")...)
		}},
		field{"local", func(n *yaml.Node, path string) { p.Local = r.choice(n, path, "none", "fcfs", "easy") }},
		field{"max_tries", func(n *yaml.Node, path string) { p.MaxTries = r.whole(n, path, 0, math.MaxInt32) }},
		field{"scan_every", func(n *yaml.Node, path string) { p.ScanEvery = r.above(n, path) }},
		field{"poll_every", func(n *yaml.Node, path string) { p.PollEvery = r.above(n, path) }},
		field{"progress_every", func(n *yaml.Node, path string) { p.ProgressEvery = r.above(n, path) }},
		field{"shrink_grace", func(n *yaml.Node, path string) { p.ShrinkGrace = r.above(n, path) }},
		field{"claim_margin", func(n *yaml.Node, path string) { p.ClaimMargin = r.above(n, path) }},
	)
}

// place reads the name of a placement policy; default is not one that a file
// can ask for.
func (r *reader) place(n *yaml.Node, path string) core.PlacePolicy {
	var all []string
	for p := core.WorstFit; p <= core.DeadlineFirst; p++ {
		all = append(all, p.String())
	}
	var p core.PlacePolicy
	if name := r.choice(n, path, all...); !r.failed() {
		r.adopt(p.UnmarshalText([]byte(name)), n.Line, path)
	}
	return p
}

// keepFree reads how many processors of each cluster are left to its users.
func (r *reader) keepFree(n *yaml.Node) {
	n = r.open(n)
	if n.Kind != yaml.MappingNode {
		r.fail(n.Line, "keep_free", show(n), "a mapping of clusters to numbers of processors")
		return
	}
	for i := 0; i+1 < len(n.Content) && !r.failed(); i += 2 {
		c := r.cluster(n.Content[i], "keep_free")
		r.s.KeepFree[c] = r.whole(n.Content[i+1], "keep_free."+show(n.Content[i]), 0, r.s.Platform.Clusters[c].Procs)
	}
}

// cluster reads the name of a cluster of the platform.
func (r *reader) cluster(n *yaml.Node, path string) core.ClusterID {
	name := r.scalar(n, path, "the name of a cluster")
	c, ok := r.s.Platform.Cluster(name)
	if !ok {
		var all []string
		for i := range r.s.Platform.Clusters {
			all = append(all, r.s.Platform.Clusters[i].Name)
		}
		r.fail(n.Line, path, name, unknown("cluster", name, all))
	}
	return core.ClusterID(c)
}

// inputs reads the names of files that the platform holds.
func (r *reader) inputs(n *yaml.Node, path string) (ids []core.FileID) {
	r.list(n, path, "file names", func(n *yaml.Node, path string) {
		name := r.scalar(n, path, "the name of a file")
		var all []string
		for i := range r.s.Platform.Files {
			if f := &r.s.Platform.Files[i]; f.Name == name {
				ids = append(ids, core.FileID(i))
				return
			}
			all = append(all, r.s.Platform.Files[i].Name)
		}
		r.fail(n.Line, path, name, unknown("file of the platform", name, all))
	})
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
