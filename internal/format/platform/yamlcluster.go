package platform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// A clusterSpec is a cluster while it is read: hosts can only be made once all
// its fields are known.
type clusterSpec struct {
	Cluster
	line     int
	hosts    yamlfile.Value
	each     Host // what a host is unless it says otherwise
	mbps, ms float64
}

func (g *gridFile) readClusters(v yamlfile.Value) {
	g.p.clusters = make(map[string]int, v.Len())
	for item := range v.EachItem("clusters") {
		c := g.readCluster(item)
		g.p.clusters[c.Name] = len(g.specs)
		g.specs = append(g.specs, c)
		g.p.Clusters = append(g.p.Clusters, c.Cluster)
	}
	if len(g.specs) == 0 {
		v.ReportError("", "at least one cluster; the list is empty")
	}
	if g.hasFailed() {
		return
	}
	g.p.hosts = make(map[string]RouteEnd, g.hosts)
	for c := range g.specs {
		if g.nameHosts(c); g.hasFailed() {
			return
		}
	}
}

func (g *gridFile) readCluster(v yamlfile.Value) clusterSpec {
	c := clusterSpec{line: v.Line(), mbps: defaultMbps, ms: defaultMs}
	c.each = Host{Cores: defaultCores, Speed: defaultSpeed}
	var keepFree, growFree yamlfile.Value
	fields := []yamlfile.Field{
		yamlfile.StoreField("name", &c.Name, yamlfile.Value.Name),
		yamlfile.DeferField("hosts", &c.hosts),
	}
	fields = append(fields, hostFields(&c.each)...)
	fields = append(fields,
		yamlfile.ReadField("link", func(v yamlfile.Value) { c.readLink(v) }),
		yamlfile.ReadField("local", func(v yamlfile.Value) { c.Local, _ = ParseLocal(v.OneOf(localNames[:]...)) }),
		yamlfile.ReadField("queue", func(v yamlfile.Value) { c.Queue = v.WholeNumber(0, maxCores) }),
		yamlfile.DeferField("keep_free", &keepFree),
		yamlfile.DeferField("grow_free", &growFree),
		yamlfile.StoreField("reserve", &c.Reserves, yamlfile.Value.Bool),
	)
	found := v.ReadMapping(fields...)
	found.RequireField("name", "the cluster's name")
	found.RequireField("hosts", wantHosts)
	if other, ok := g.p.clusters[c.Name]; ok {
		found.FailField("name", c.Name,
			fmt.Sprintf("a name that no other cluster has; that of line %d has it", g.specs[other].line))
	}
	if g.hasFailed() {
		return c
	}
	g.readHosts(&c)
	if keepFree.IsGiven() && !g.hasFailed() {
		c.KeepFree = keepFree.WholeNumber(0, c.Procs-1)
	}
	if growFree.IsGiven() && !g.hasFailed() {
		c.GrowFree = growFree.WholeNumber(0, c.Procs-1)
		if problem := c.FreeProblem(c.KeepFree, c.GrowFree); problem != "" {
			growFree.ReportWrong(problem)
		}
	}
	return c
}

func (c *clusterSpec) readLink(v yamlfile.Value) {
	v.ReadMapping(
		yamlfile.ReadField("mbps", func(v yamlfile.Value) { c.mbps = v.PositiveNumber(maxMbps) }),
		yamlfile.ReadField("ms", func(v yamlfile.Value) { c.ms = v.Number(0, maxMs) }),
	)
}

// hostFields are those that a host may set for itself and a cluster for all of
// its hosts.
func hostFields(h *Host) []yamlfile.Field {
	return []yamlfile.Field{
		yamlfile.ReadField("cores", func(v yamlfile.Value) { h.Cores = v.WholeNumber(1, maxCores) }),
		yamlfile.ReadField("speed", func(v yamlfile.Value) { h.Speed = v.PositiveNumber(maxSpeed) }),
		yamlfile.ReadField("memory", func(v yamlfile.Value) { h.Memory = v.Size(1) }),
	}
}

const wantHosts = "a number of hosts, or a list of {name, cores, speed, memory}"

// readHosts reads a number of equal hosts, or a list of hosts.
func (g *gridFile) readHosts(c *clusterSpec) {
	v := c.hosts
	switch v.Kind() {
	case yamlfile.Scalar:
		n := v.WholeNumber(1, maxHosts)
		g.countTotals(v, n, n*c.each.Cores)
		if g.hasFailed() {
			return
		}
		c.Procs = n * c.each.Cores
		c.Hosts = slices.Repeat([]Host{c.each}, n)
	case yamlfile.List:
		c.Hosts = make([]Host, 0, v.Len())
		for item := range v.EachItem(wantHosts) {
			h := c.each
			item.ReadMapping(append([]yamlfile.Field{yamlfile.StoreField("name", &h.Name, yamlfile.Value.Name)},
				hostFields(&h)...)...)
			g.countTotals(item, 1, h.Cores)
			c.Procs += h.Cores
			c.Hosts = append(c.Hosts, h)
		}
		if v.Len() == 0 {
			v.ReportError("", "at least one host; the list is empty")
		}
	default:
		v.ReportWrong(wantHosts)
	}
}

// countTotals adds to the totals that the limits are about.
func (g *gridFile) countTotals(v yamlfile.Value, hosts, procs int) {
	g.hosts += hosts
	g.procs += procs
	if g.hosts > maxHosts {
		v.ReportWrong(fmt.Sprintf("at most %d hosts in all clusters together", maxHosts))
	}
	if g.procs > maxProcessors {
		v.ReportWrong(fmt.Sprintf("at most %d cores in all clusters together", maxProcessors))
	}
}

// nameHosts gives the hosts of cluster c that have no name theirs, which is the
// cluster's with a number, and enters all of them into the index.
func (g *gridFile) nameHosts(c int) {
	hosts := g.specs[c].Hosts
	// One string for all: a cluster of 100,000 hosts costs one allocation.
	var all []byte
	ends := make([]int, len(hosts))
	for i := range hosts {
		if hosts[i].Name == "" {
			all = append(all, g.specs[c].Name...)
			all = strconv.AppendInt(all, int64(i)+1, 10)
		}
		ends[i] = len(all)
	}
	text, from := string(all), 0
	for i := range hosts {
		if hosts[i].Name == "" {
			hosts[i].Name = text[from:ends[i]]
		}
		from = ends[i]
		if other, ok := g.p.hosts[hosts[i].Name]; ok {
			g.specs[c].hosts.ReportError(hosts[i].Name, fmt.Sprintf(
				"a name that no other host has; a host of cluster %s has it", g.specs[other.Cluster].Name))
			return
		}
		g.p.hosts[hosts[i].Name] = RouteEnd{c, i}
	}
}

// addHostLinks connects every host to its cluster's switch, there and back.
func (g *gridFile) addHostLinks() {
	g.wan.base = make([]int, len(g.specs))
	g.p.Links = slices.Grow(g.p.Links, 2*g.hosts)
	for c := range g.specs {
		g.wan.base[c] = len(g.p.Links)
		g.linkHosts(&g.specs[c])
	}
}

func (g *gridFile) linkHosts(c *clusterSpec) {
	var all strings.Builder
	for i := range c.Hosts {
		all.WriteString(c.Hosts[i].Name)
		all.WriteString(".up")
		all.WriteString(c.Hosts[i].Name)
		all.WriteString(".down")
	}
	text := all.String()
	for i := range c.Hosts {
		up := len(c.Hosts[i].Name) + len(".up")
		down := up + len(".down") - len(".up")
		g.p.Links = append(g.p.Links,
			Link{Name: text[:up], Mbps: c.mbps, Ms: c.ms, Shared: true},
			Link{Name: text[up : up+down], Mbps: c.mbps, Ms: c.ms, Shared: true})
		text = text[up+down:]
	}
}
