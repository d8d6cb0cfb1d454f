package scenario

import (
	"cmp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/platform"
)

func (r *reader) background(n *yaml.Node) {
	r.list(n, "background", "streams of background jobs", func(n *yaml.Node, path string) {
		r.s.Background = append(r.s.Background, r.backgroundStream(n, path))
	})
}

func (r *reader) backgroundStream(n *yaml.Node, path string) Background {
	b := Background{Until: core.Never}
	var procs *yaml.Node
	lines := r.mapping(n, path,
		field{"cluster", func(n *yaml.Node, path string) { b.Cluster = r.cluster(n, path) }},
		field{"every", func(n *yaml.Node, path string) { b.Arrivals.Every = r.above(n, path) }},
		field{"poisson", func(n *yaml.Node, path string) { b.Arrivals.Poisson = r.above(n, path) }},
		field{"procs", func(n *yaml.Node, _ string) { procs = n }},
		field{"run", func(n *yaml.Node, path string) { b.Run = r.durations(n, path) }},
		field{"from", func(n *yaml.Node, path string) { b.From = core.Time(r.duration(n, path)) }},
		field{"until", func(n *yaml.Node, path string) { b.Until = core.Time(r.duration(n, path)) }},
	)
	r.need(lines, path, "cluster", "procs", "run")
	if r.failed() {
		return b
	}
	b.Procs = r.sizes(procs, join(path, "procs"), r.s.Platform.Clusters[b.Cluster].Procs)
	switch {
	case (b.Arrivals.Every > 0) == (b.Arrivals.Poisson > 0):
		r.fail(lines[""], join(path, "every"), "", "either every or poisson says how often a job comes")
	case b.Until <= b.From:
		r.fail(lines[""], join(path, "until"), time.Duration(b.Until).String(), "later than from")
	}
	return b
}

func (r *reader) failures(n *yaml.Node) {
	r.list(n, "failures", "failures", func(n *yaml.Node, path string) {
		r.s.Failures = append(r.s.Failures, r.failure(n, path))
	})
}

func (r *reader) failure(n *yaml.Node, path string) Failure {
	var f Failure
	var hosts *yaml.Node
	lines := r.mapping(n, path,
		field{"cluster", func(n *yaml.Node, path string) { f.Cluster = r.cluster(n, path) }},
		field{"hosts", func(n *yaml.Node, _ string) { hosts = n }},
		field{"at", func(n *yaml.Node, path string) { f.At = core.Time(r.duration(n, path)) }},
		field{"for", func(n *yaml.Node, path string) { f.For = r.above(n, path) }},
		field{"mtbf", func(n *yaml.Node, path string) { f.MTBF = r.above(n, path) }},
		field{"repair", func(n *yaml.Node, path string) { f.Repair = r.above(n, path) }},
	)
	r.need(lines, path, "cluster")
	if r.failed() {
		return f
	}
	f.Hosts = r.hosts(hosts, join(path, "hosts"), f.Cluster)
	once := lines["at"] > 0 || lines["for"] > 0
	again := lines["mtbf"] > 0 || lines["repair"] > 0
	switch {
	case once == again:
		r.fail(lines[""], path, "", "either at and for (once), or mtbf and repair (at random)")
	case once:
		r.need(lines, path, "at")
	case again:
		r.need(lines, path, "mtbf", "repair")
		if f.MTBF < time.Second || f.Repair < time.Second {
			r.fail(lines[""], join(path, "mtbf"), "", "mean times of at least 1s")
		}
	}
	return f
}

// hosts reads the names of hosts of a cluster; left out it means all of them.
func (r *reader) hosts(n *yaml.Node, path string, cluster core.ClusterID) (all []int) {
	c := &r.s.Platform.Clusters[cluster]
	if n == nil {
		for i := range c.Hosts {
			all = append(all, i)
		}
		return all
	}
	r.list(n, path, "host names", func(n *yaml.Node, path string) {
		name := r.scalar(n, path, "the name of a host")
		at, ok := r.s.Platform.Host(name)
		if !ok || at.Cluster != int(cluster) {
			r.fail(n.Line, path, name, "a host of cluster "+c.Name+", such as "+c.Hosts[0].Name)
		}
		all = append(all, at.Host)
	})
	return all
}

func (r *reader) links(n *yaml.Node) {
	r.list(n, "links", "changes of links", func(n *yaml.Node, path string) { r.link(n, path) })
	slices.SortStableFunc(r.s.Links, func(a, b LinkChange) int { return cmp.Compare(a.At, b.At) })
}

func (r *reader) link(n *yaml.Node, path string) {
	var a, b core.ClusterID
	var at core.Time
	var mbps float64
	var lasts time.Duration
	lines := r.mapping(n, path,
		field{"a", func(n *yaml.Node, path string) { a = r.cluster(n, path) }},
		field{"b", func(n *yaml.Node, path string) { b = r.cluster(n, path) }},
		field{"at", func(n *yaml.Node, path string) { at = core.Time(r.duration(n, path)) }},
		field{"for", func(n *yaml.Node, path string) { lasts = r.above(n, path) }},
		field{"mbps", func(n *yaml.Node, path string) { mbps = r.number(n, path, 1e-6, 1e12) }},
	)
	r.need(lines, path, "a", "b", "at", "mbps")
	if r.failed() {
		return
	}
	for _, ends := range [][2]core.ClusterID{{a, b}, {b, a}} {
		route, ok := r.s.Platform.Route(platform.FrontEndOf(int(ends[0])), platform.FrontEndOf(int(ends[1])))
		if !ok || len(route.Links) != 1 {
			r.fail(lines[""], path, "", "two clusters that one link joins")
			return
		}
		link := route.Links[0]
		r.s.Links = append(r.s.Links, LinkChange{at, link, mbps})
		if lasts > 0 {
			r.s.Links = append(r.s.Links, LinkChange{at.Add(lasts), link, r.s.Platform.Links[link].Mbps})
		}
	}
}

// need says which of the fields is missing.
func (r *reader) need(lines map[string]int, path string, names ...string) {
	for _, name := range names {
		if lines[name] == 0 {
			r.fail(lines[""], join(path, name), "", "it is missing")
		}
	}
}
