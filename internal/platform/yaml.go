package platform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What a field that is left out means. The link is that of an ordinary switch.
const (
	defaultCores = 1
	defaultSpeed = 1.0
	defaultMbps  = 1000.0
	defaultMs    = 0.1
)

// Bounds of single values.
const (
	maxCores = 1_000_000
	maxSpeed = 1e9
	maxMbps  = 1e12
	maxMs    = 3.6e6 // an hour
)

// A gridFile is a YAML platform while it is read.
type gridFile struct {
	yamlFile
	p     *Platform
	specs []clusterSpec
	wan   *wan
	hosts int // so far
	procs int
}

// parseYAML reads our own form:
//
//	name: das3                  # default: the file's name
//	routing: tree               # or shortest: of several routes that of least latency
//	clusters:
//	  - name: vu
//	    hosts: 85               # vu1 … vu85; or a list of {name, cores, speed, memory}
//	    cores: 1                # of each host; default 1
//	    speed: 1.0              # default 1.0
//	    memory: 4G              # default: unknown
//	    link: {mbps: 1000, ms: 0.1}  # each host to the switch; these are the defaults
//	    local: none             # none | fcfs | easy; default none
//	    keep_free: 0            # processors always left to local users
//	    reserve: false          # the local manager can reserve processors
//	links:
//	  - {a: vu, b: delft, mbps: 10000, ms: 0.5}   # ms: default 0
//	files:
//	  - {name: engine.db, size: 4G, at: [vu]}
func parseYAML(r *report, data []byte) *Platform {
	g := &gridFile{yamlFile: yamlFile{report: r}, p: &Platform{}}
	top := g.document(data)
	if top == nil {
		return nil
	}
	var clusters, links, files *yaml.Node
	routing := "tree"
	keep := func(to **yaml.Node) func(*yaml.Node, string) {
		return func(n *yaml.Node, _ string) { *to = n }
	}
	g.mapping(top, "",
		field{"name", func(n *yaml.Node, path string) { g.p.Name = g.name(n, path) }},
		field{"clusters", keep(&clusters)},
		field{"links", keep(&links)},
		field{"files", keep(&files)},
		field{"routing", func(n *yaml.Node, path string) { routing = g.choice(n, path, "tree", "shortest") }},
	)
	if clusters == nil {
		g.fail(top.Line, "clusters", "", "a list of clusters; it is missing")
	}
	if g.failed() {
		return nil
	}
	g.readClusters(clusters)
	g.readLinks(links, routing == "tree")
	g.readFiles(files)
	if g.failed() {
		return nil
	}
	g.p.router = g.wan
	return g.p
}

func (g *gridFile) choice(n *yaml.Node, path string, from ...string) string {
	want := "one of " + strings.Join(from, ", ")
	s := g.scalar(n, path, want)
	if !slices.Contains(from, s) {
		g.fail(n.Line, path, s, want)
		return ""
	}
	return s
}

// blank tells a field that is left out or left empty.
func blank(n *yaml.Node) bool { return n == nil || n.Tag == "!!null" }

func (g *gridFile) readLinks(n *yaml.Node, tree bool) {
	g.wan = newWAN(len(g.p.Clusters))
	if g.failed() {
		return
	}
	if !blank(n) {
		for i, item := range g.list(n, "links", "{a, b, mbps, ms}") {
			if g.readLink(item, fmt.Sprintf("links[%d]", i), tree); g.failed() {
				return
			}
		}
	}
	g.addHostLinks()
}

func (g *gridFile) readLink(n *yaml.Node, path string, tree bool) {
	var a, b string
	var mbps, ms float64
	g.mapping(n, path,
		field{"a", func(n *yaml.Node, path string) { a = g.scalar(n, path, "the name of a cluster") }},
		field{"b", func(n *yaml.Node, path string) { b = g.scalar(n, path, "the name of a cluster") }},
		field{"mbps", func(n *yaml.Node, path string) { mbps = g.number(n, path, false, maxMbps) }},
		field{"ms", func(n *yaml.Node, path string) { ms = g.number(n, path, true, maxMs) }},
	)
	line := g.open(n).Line
	from, to := g.end(line, path+".a", a), g.end(line, path+".b", b)
	if mbps == 0 {
		g.fail(line, path+".mbps", "", "the rate of the link in Mbit/s; it is missing")
	}
	if g.failed() {
		return
	}
	if problem := g.wan.problem(from, to, tree, g.p.Clusters); problem != "" {
		g.fail(line, path, a+"-"+b, problem)
		return
	}
	g.wan.connect(from, to, ms, len(g.p.Links))
	g.p.Links = append(g.p.Links,
		Link{Name: a + ">" + b, Mbps: mbps, Ms: ms, Shared: true},
		Link{Name: b + ">" + a, Mbps: mbps, Ms: ms, Shared: true})
}

// end is the cluster at one end of a link.
func (g *gridFile) end(line int, path, name string) int {
	c, ok := g.p.clusters[name]
	switch {
	case name == "":
		g.fail(line, path, "", "the name of a cluster; it is missing")
	case !ok:
		g.fail(line, path, name, unknown("cluster", name, g.clusterNames()))
	}
	return c
}

func (g *gridFile) clusterNames() []string {
	s := make([]string, len(g.p.Clusters))
	for i := range s {
		s[i] = g.p.Clusters[i].Name
	}
	return s
}

func (g *gridFile) readFiles(n *yaml.Node) {
	if g.failed() || blank(n) {
		return
	}
	seen := map[string]bool{}
	for i, item := range g.list(n, "files", "{name, size, at}") {
		path := fmt.Sprintf("files[%d]", i)
		f := g.readFile(item, path)
		line := g.open(item).Line
		switch {
		case g.failed():
			return
		case f.Name == "":
			g.fail(line, path+".name", "", "the file's name; it is missing")
		case seen[f.Name]:
			g.fail(line, path+".name", f.Name, "a name that no other file has; list all its clusters in one at")
		case f.Bytes < 0:
			g.fail(line, path+".size", "", "the file's size; it is missing")
		case len(f.At) == 0:
			g.fail(line, path+".at", "", "the clusters that hold the file; none is named")
		}
		seen[f.Name] = true
		g.p.Files = append(g.p.Files, f)
	}
}

func (g *gridFile) readFile(n *yaml.Node, path string) File {
	f := File{Bytes: -1}
	named := map[int]bool{}
	g.mapping(n, path,
		field{"name", func(n *yaml.Node, path string) { f.Name = g.scalar(n, path, "the file's name") }},
		field{"size", func(n *yaml.Node, path string) { f.Bytes = g.size(n, path, 0) }},
		field{"at", func(n *yaml.Node, path string) {
			for i, item := range g.list(n, path, "clusters") {
				at := path + "[" + strconv.Itoa(i) + "]"
				name := g.scalar(item, at, "the name of a cluster")
				c := g.end(item.Line, at, name)
				if g.failed() {
					return
				}
				if named[c] {
					g.fail(item.Line, at, name, "each cluster once")
				}
				named[c] = true
				f.At = append(f.At, c)
			}
		}},
	)
	slices.Sort(f.At)
	return f
}
