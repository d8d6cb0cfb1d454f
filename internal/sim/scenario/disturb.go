package scenario

import (
	"cmp"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (r *reader) readBackground(v yamlfile.Value) {
	for item := range v.EachItem("streams of background jobs") {
		r.s.Background = append(r.s.Background, r.backgroundStream(item))
	}
}

func (r *reader) backgroundStream(v yamlfile.Value) Background {
	b := Background{Until: core.Never}
	var procs yamlfile.Value
	found := v.ReadMapping(
		yamlfile.StoreField("cluster", &b.Cluster, r.readCluster),
		yamlfile.StoreField("every", &b.Arrivals.Every, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("poisson", &b.Arrivals.Poisson, yamlfile.Value.PositiveDuration),
		yamlfile.DeferField("procs", &procs),
		yamlfile.StoreField("run", &b.Run, r.readDurations),
		yamlfile.ReadField("from", func(v yamlfile.Value) { b.From = core.Time(v.Duration()) }),
		yamlfile.ReadField("until", func(v yamlfile.Value) { b.Until = core.Time(v.Duration()) }),
	)
	requireFields(found, "cluster", "procs", "run")
	if r.hasFailed() {
		return b
	}
	b.Procs = r.readSizes(procs, r.s.Platform.Clusters[b.Cluster].Procs)
	switch {
	case (b.Arrivals.Every > 0) == (b.Arrivals.Poisson > 0):
		found.FailField("every", "", "either every or poisson says how often a job comes")
	case b.Until <= b.From:
		found.FailField("until", time.Duration(b.Until).String(), "later than from")
	}
	return b
}

func (r *reader) readFailures(v yamlfile.Value) {
	for item := range v.EachItem("failures") {
		r.s.Failures = append(r.s.Failures, r.readFailure(item))
	}
}

func (r *reader) readFailure(v yamlfile.Value) Failure {
	var f Failure
	var hosts yamlfile.Value
	found := v.ReadMapping(
		yamlfile.StoreField("cluster", &f.Cluster, r.readCluster),
		yamlfile.DeferField("hosts", &hosts),
		yamlfile.ReadField("at", func(v yamlfile.Value) { f.At = core.Time(v.Duration()) }),
		yamlfile.StoreField("for", &f.For, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("mtbf", &f.MTBF, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("repair", &f.Repair, yamlfile.Value.PositiveDuration),
	)
	requireFields(found, "cluster")
	if r.hasFailed() {
		return f
	}
	f.Hosts = r.readHosts(hosts, f.Cluster)
	once := found.HasField("at") || found.HasField("for")
	again := found.HasField("mtbf") || found.HasField("repair")
	switch {
	case once == again:
		v.ReportError("", "either at and for (once), or mtbf and repair (at random)")
	case once:
		requireFields(found, "at")
	case again:
		requireFields(found, "mtbf", "repair")
		if f.MTBF < time.Second || f.Repair < time.Second {
			found.FailField("mtbf", "", "mean times of at least 1s")
		}
	}
	return f
}

// readHosts reads the names of hosts of a cluster; left out it means all of them.
func (r *reader) readHosts(v yamlfile.Value, cluster core.ClusterID) (all []int) {
	c := &r.s.Platform.Clusters[cluster]
	if !v.IsGiven() {
		for i := range c.Hosts {
			all = append(all, i)
		}
		return all
	}
	for item := range v.EachItem("host names") {
		at, ok := r.s.Platform.FindHost(item.Text("the name of a host"))
		if !ok || at.Cluster != int(cluster) {
			item.ReportWrong("a host of cluster " + c.Name + ", such as " + c.Hosts[0].Name)
		}
		all = append(all, at.Host)
	}
	return all
}

func (r *reader) readLinks(v yamlfile.Value) {
	for item := range v.EachItem("changes of links") {
		r.readLink(item)
	}
	slices.SortStableFunc(r.s.Links, func(a, b LinkChange) int { return cmp.Compare(a.At, b.At) })
}

func (r *reader) readLink(v yamlfile.Value) {
	var a, b core.ClusterID
	var at core.Time
	var mbps float64
	var lasts time.Duration
	found := v.ReadMapping(
		yamlfile.StoreField("a", &a, r.readCluster),
		yamlfile.StoreField("b", &b, r.readCluster),
		yamlfile.ReadField("at", func(v yamlfile.Value) { at = core.Time(v.Duration()) }),
		yamlfile.StoreField("for", &lasts, yamlfile.Value.PositiveDuration),
		yamlfile.ReadField("mbps", func(v yamlfile.Value) { mbps = v.Number(1e-6, 1e12) }),
	)
	requireFields(found, "a", "b", "at", "mbps")
	if r.hasFailed() {
		return
	}
	for _, ends := range [][2]core.ClusterID{{a, b}, {b, a}} {
		route, ok := r.s.Platform.FindRoute(platform.FrontEndOf(int(ends[0])), platform.FrontEndOf(int(ends[1])))
		if !ok || len(route.Links) != 1 {
			v.ReportError("", "two clusters that one link joins")
			return
		}
		link := route.Links[0]
		r.s.Links = append(r.s.Links, LinkChange{at, link, mbps})
		if lasts > 0 {
			r.s.Links = append(r.s.Links, LinkChange{at.Add(lasts), link, r.s.Platform.Links[link].Mbps})
		}
	}
}

func (r *reader) readDrains(v yamlfile.Value) {
	for item := range v.EachItem("drains") {
		r.readDrain(item)
	}
	slices.SortStableFunc(r.s.Drains, func(a, b DrainChange) int {
		if a.At == b.At && a.Drained != b.Drained { // one may begin when another ends
			if b.Drained {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.At, b.At)
	})
}

// readDrain reads when a cluster is drained, and for how long. Those of one cluster do not
// overlap: the end of one would be that of the other.
func (r *reader) readDrain(v yamlfile.Value) {
	var c core.ClusterID
	var at core.Time
	var lasts time.Duration
	found := v.ReadMapping(
		yamlfile.StoreField("cluster", &c, r.readCluster),
		yamlfile.ReadField("at", func(v yamlfile.Value) { at = core.Time(v.Duration()) }),
		yamlfile.StoreField("for", &lasts, yamlfile.Value.PositiveDuration),
	)
	requireFields(found, "cluster", "at")
	if r.hasFailed() {
		return
	}
	end := core.Never
	if lasts > 0 {
		end = at.Add(lasts)
	}
	for i := 0; i < len(r.s.Drains); i++ {
		if d := &r.s.Drains[i]; d.Cluster == c && d.Drained {
			other := core.Never
			if i+1 < len(r.s.Drains) && !r.s.Drains[i+1].Drained {
				other = r.s.Drains[i+1].At
			}
			if at < other && d.At < end {
				v.ReportError("", "a time in which the cluster is not drained already")
			}
		}
	}
	r.s.Drains = append(r.s.Drains, DrainChange{At: at, Cluster: c, Drained: true})
	if lasts > 0 {
		r.s.Drains = append(r.s.Drains, DrainChange{At: end, Cluster: c})
	}
}

// requireFields says which of the fields is missing.
func requireFields(found yamlfile.Found, names ...string) {
	for _, name := range names {
		found.RequireField(name, "")
	}
}
