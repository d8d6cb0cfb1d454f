package platform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A clusterSpec is a cluster while it is read: hosts can only be made once all
// its fields are known.
type clusterSpec struct {
	Cluster
	line     int
	hosts    *yaml.Node
	each     Host // what a host is unless it says otherwise
	mbps, ms float64
}

func (g *gridFile) readClusters(n *yaml.Node) {
	items := g.list(n, "clusters", "clusters")
	if len(items) == 0 {
		g.fail(n.Line, "clusters", "", "at least one cluster; the list is empty")
		return
	}
	g.p.clusters = make(map[string]int, len(items))
	for i, item := range items {
		path := fmt.Sprintf("clusters[%d]", i)
		c := g.readCluster(item, path)
		if g.failed() {
			return
		}
		if other, ok := g.p.clusters[c.Name]; ok {
			g.fail(c.line, path+".name", c.Name, fmt.Sprintf("a name that no other cluster has; that of line %d has it", g.specs[other].line))
			return
		}
		g.p.clusters[c.Name] = i
		g.specs = append(g.specs, c)
		g.p.Clusters = append(g.p.Clusters, c.Cluster)
	}
	g.p.hosts = make(map[string]Place, g.hosts)
	for c := range g.specs {
		if g.nameHosts(c); g.failed() {
			return
		}
	}
}

func (g *gridFile) readCluster(n *yaml.Node, path string) clusterSpec {
	n = g.open(n)
	c := clusterSpec{line: n.Line, mbps: defaultMbps, ms: defaultMs}
	c.each = Host{Cores: defaultCores, Speed: defaultSpeed}
	var keepFree *yaml.Node
	fields := []field{
		{"name", func(n *yaml.Node, path string) { c.Name = g.name(n, path) }},
		{"hosts", func(n *yaml.Node, _ string) { c.hosts = n }},
	}
	fields = append(fields, g.hostFields(&c.each)...)
	fields = append(fields,
		field{"link", func(n *yaml.Node, path string) { g.readHostLink(n, path, &c) }},
		field{"local", func(n *yaml.Node, path string) {
			c.Local, _ = ParseLocal(g.choice(n, path, localNames[:]...))
		}},
		field{"keep_free", func(n *yaml.Node, _ string) { keepFree = n }},
		field{"reserve", func(n *yaml.Node, path string) { c.Reserves = g.boolean(n, path) }},
	)
	g.mapping(n, path, fields...)
	if c.Name == "" {
		g.fail(n.Line, path+".name", "", "the cluster's name; it is missing")
	}
	if c.hosts == nil {
		g.fail(n.Line, path+".hosts", "", "a number of hosts, or a list of {name, cores, speed, memory}; it is missing")
	}
	if g.failed() {
		return c
	}
	g.readHosts(&c, path+".hosts")
	if keepFree != nil && !g.failed() {
		c.KeepFree = g.whole(keepFree, path+".keep_free", 0, c.Procs)
	}
	return c
}

func (g *gridFile) readHostLink(n *yaml.Node, path string, c *clusterSpec) {
	g.mapping(n, path,
		field{"mbps", func(n *yaml.Node, path string) { c.mbps = g.number(n, path, false, maxMbps) }},
		field{"ms", func(n *yaml.Node, path string) { c.ms = g.number(n, path, true, maxMs) }})
}

// hostFields are those that a host may set for itself and a cluster for all of
// its hosts.
func (g *gridFile) hostFields(h *Host) []field {
	return []field{
		{"cores", func(n *yaml.Node, path string) { h.Cores = g.whole(n, path, 1, maxCores) }},
		{"speed", func(n *yaml.Node, path string) { h.Speed = g.number(n, path, false, maxSpeed) }},
		{"memory", func(n *yaml.Node, path string) { h.Memory = g.size(n, path, 1) }},
	}
}

// readHosts reads a number of equal hosts, or a list of hosts.
func (g *gridFile) readHosts(c *clusterSpec, path string) {
	n := g.open(c.hosts)
	if n.Kind == yaml.MappingNode || n.Tag == "!!null" {
		g.fail(n.Line, path, show(n), "a number of hosts, or a list of {name, cores, speed, memory}")
		return
	}
	if n.Kind != yaml.SequenceNode {
		count := g.whole(n, path, 1, maxHosts)
		if g.count(n, path, count, count*c.each.Cores); g.failed() {
			return
		}
		c.Procs = count * c.each.Cores
		c.Hosts = make([]Host, count)
		for i := range c.Hosts {
			c.Hosts[i] = c.each
		}
		return
	}
	if len(n.Content) == 0 {
		g.fail(n.Line, path, "", "at least one host; the list is empty")
		return
	}
	c.Hosts = make([]Host, 0, len(n.Content))
	for i, item := range n.Content {
		h := c.each
		at := path + "[" + strconv.Itoa(i) + "]"
		fields := append([]field{{"name", func(n *yaml.Node, path string) { h.Name = g.name(n, path) }}}, g.hostFields(&h)...)
		g.mapping(item, at, fields...)
		if g.count(item, at, 1, h.Cores); g.failed() {
			return
		}
		c.Procs += h.Cores
		c.Hosts = append(c.Hosts, h)
	}
}

// count adds to the totals that the limits are about.
func (g *gridFile) count(n *yaml.Node, path string, hosts, procs int) {
	g.hosts += hosts
	g.procs += procs
	if g.hosts > maxHosts {
		g.fail(n.Line, path, show(n), fmt.Sprintf("at most %d hosts in all clusters together", maxHosts))
	}
	if g.procs > maxProcessors {
		g.fail(n.Line, path, show(n), fmt.Sprintf("at most %d processors in all clusters together", maxProcessors))
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
			g.fail(g.specs[c].hosts.Line, fmt.Sprintf("clusters[%d].hosts", c), hosts[i].Name, fmt.Sprintf(
				"a name that no other host has; a host of cluster %s has it", g.specs[other.Cluster].Name))
			return
		}
		g.p.hosts[hosts[i].Name] = Place{c, i}
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
