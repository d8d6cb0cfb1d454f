package scenario

import (
	"cmp"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (r *reader) background(v yamlfile.Value) {
	for item := range v.List("streams of background jobs") {
		r.s.Background = append(r.s.Background, r.backgroundStream(item))
	}
}

func (r *reader) backgroundStream(v yamlfile.Value) Background {
	b := Background{Until: core.Never}
	var procs yamlfile.Value
	found := v.Mapping(
		yamlfile.Set("cluster", &b.Cluster, r.cluster),
		yamlfile.Set("every", &b.Arrivals.Every, yamlfile.Value.PositiveDuration),
		yamlfile.Set("poisson", &b.Arrivals.Poisson, yamlfile.Value.PositiveDuration),
		yamlfile.Later("procs", &procs),
		yamlfile.Set("run", &b.Run, r.durations),
		yamlfile.Key("from", func(v yamlfile.Value) { b.From = core.Time(v.Duration()) }),
		yamlfile.Key("until", func(v yamlfile.Value) { b.Until = core.Time(v.Duration()) }),
	)
	need(found, "cluster", "procs", "run")
	if r.failed() {
		return b
	}
	b.Procs = r.sizes(procs, r.s.Platform.Clusters[b.Cluster].Procs)
	switch {
	case (b.Arrivals.Every > 0) == (b.Arrivals.Poisson > 0):
		found.Fail("every", "", "either every or poisson says how often a job comes")
	case b.Until <= b.From:
		found.Fail("until", time.Duration(b.Until).String(), "later than from")
	}
	return b
}

func (r *reader) failures(v yamlfile.Value) {
	for item := range v.List("failures") {
		r.s.Failures = append(r.s.Failures, r.failure(item))
	}
}

func (r *reader) failure(v yamlfile.Value) Failure {
	var f Failure
	var hosts yamlfile.Value
	found := v.Mapping(
		yamlfile.Set("cluster", &f.Cluster, r.cluster),
		yamlfile.Later("hosts", &hosts),
		yamlfile.Key("at", func(v yamlfile.Value) { f.At = core.Time(v.Duration()) }),
		yamlfile.Set("for", &f.For, yamlfile.Value.PositiveDuration),
		yamlfile.Set("mtbf", &f.MTBF, yamlfile.Value.PositiveDuration),
		yamlfile.Set("repair", &f.Repair, yamlfile.Value.PositiveDuration),
	)
	need(found, "cluster")
	if r.failed() {
		return f
	}
	f.Hosts = r.hosts(hosts, f.Cluster)
	once := found.Has("at") || found.Has("for")
	again := found.Has("mtbf") || found.Has("repair")
	switch {
	case once == again:
		v.Fail("", "either at and for (once), or mtbf and repair (at random)")
	case once:
		need(found, "at")
	case again:
		need(found, "mtbf", "repair")
		if f.MTBF < time.Second || f.Repair < time.Second {
			found.Fail("mtbf", "", "mean times of at least 1s")
		}
	}
	return f
}

// hosts reads the names of hosts of a cluster; left out it means all of them.
func (r *reader) hosts(v yamlfile.Value, cluster core.ClusterID) (all []int) {
	c := &r.s.Platform.Clusters[cluster]
	if !v.Given() {
		for i := range c.Hosts {
			all = append(all, i)
		}
		return all
	}
	for item := range v.List("host names") {
		at, ok := r.s.Platform.Host(item.Text("the name of a host"))
		if !ok || at.Cluster != int(cluster) {
			item.Wrong("a host of cluster " + c.Name + ", such as " + c.Hosts[0].Name)
		}
		all = append(all, at.Host)
	}
	return all
}

func (r *reader) links(v yamlfile.Value) {
	for item := range v.List("changes of links") {
		r.link(item)
	}
	slices.SortStableFunc(r.s.Links, func(a, b LinkChange) int { return cmp.Compare(a.At, b.At) })
}

func (r *reader) link(v yamlfile.Value) {
	var a, b core.ClusterID
	var at core.Time
	var mbps float64
	var lasts time.Duration
	found := v.Mapping(
		yamlfile.Set("a", &a, r.cluster),
		yamlfile.Set("b", &b, r.cluster),
		yamlfile.Key("at", func(v yamlfile.Value) { at = core.Time(v.Duration()) }),
		yamlfile.Set("for", &lasts, yamlfile.Value.PositiveDuration),
		yamlfile.Key("mbps", func(v yamlfile.Value) { mbps = v.Number(1e-6, 1e12) }),
	)
	need(found, "a", "b", "at", "mbps")
	if r.failed() {
		return
	}
	for _, ends := range [][2]core.ClusterID{{a, b}, {b, a}} {
		route, ok := r.s.Platform.Route(platform.FrontEndOf(int(ends[0])), platform.FrontEndOf(int(ends[1])))
		if !ok || len(route.Links) != 1 {
			v.Fail("", "two clusters that one link joins")
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
func need(found yamlfile.Found, names ...string) {
	for _, name := range names {
		found.Need(name, "")
	}
}
