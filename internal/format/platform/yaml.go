package platform

import (
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
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
	top   yamlfile.Value
	p     *Platform
	specs []clusterSpec
	wan   *wan
	hosts int // so far
	procs int
}

// FromYAML reads a platform in our own form, a whole file or a part of one:
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
//	    queue: 0                # cores that jobs may wait for in that queue; others wait outside; 0: any number
//	    keep_free: 0            # processors always left to local users
//	    grow_free: 0            # processors that growing leaves free besides
//	    reserve: false          # the local manager can reserve processors
//	links:
//	  - {a: vu, b: delft, mbps: 10000, ms: 0.5}   # ms: default 0
//	files:
//	  - {name: engine.db, size: 4G, at: [vu]}
func FromYAML(top yamlfile.Value) (*Platform, error) {
	g := &gridFile{top: top, p: &Platform{}}
	var clusters, links, files yamlfile.Value
	routing := "tree"
	top.ReadMapping(
		yamlfile.StoreField("name", &g.p.Name, yamlfile.Value.Name),
		yamlfile.DeferField("clusters", &clusters),
		yamlfile.DeferField("links", &links),
		yamlfile.DeferField("files", &files),
		yamlfile.ReadField("routing", func(v yamlfile.Value) { routing = v.OneOf("tree", "shortest") }),
	).RequireField("clusters", "a list of clusters")
	if !g.hasFailed() {
		g.readClusters(clusters)
	}
	if !g.hasFailed() {
		g.readLinks(links, routing == "tree")
	}
	if !g.hasFailed() {
		g.readFiles(files)
	}
	if g.hasFailed() {
		return nil, top.Err()
	}
	g.p.router = g.wan
	return g.p.defaultName(top.File()), nil
}

func (g *gridFile) hasFailed() bool { return g.top.HasFailed() }

func (g *gridFile) readLinks(v yamlfile.Value, tree bool) {
	g.wan = newWAN(len(g.p.Clusters))
	if v.Kind() != yamlfile.Blank {
		for item := range v.EachItem("{a, b, mbps, ms}") {
			g.readLink(item, tree)
		}
	}
	if !g.hasFailed() {
		g.addHostLinks()
	}
}

func (g *gridFile) readLink(v yamlfile.Value, tree bool) {
	var from, to int
	var mbps, ms float64
	found := v.ReadMapping(
		yamlfile.StoreField("a", &from, g.readClusterName),
		yamlfile.StoreField("b", &to, g.readClusterName),
		yamlfile.ReadField("mbps", func(v yamlfile.Value) { mbps = v.PositiveNumber(maxMbps) }),
		yamlfile.ReadField("ms", func(v yamlfile.Value) { ms = v.Number(0, maxMs) }),
	)
	found.RequireField("a", "the name of a cluster")
	found.RequireField("b", "the name of a cluster")
	found.RequireField("mbps", "the rate of the link in Mbit/s")
	if g.hasFailed() {
		return
	}
	a, b := g.p.Clusters[from].Name, g.p.Clusters[to].Name
	if problem := g.wan.linkProblem(from, to, tree, g.p.Clusters); problem != "" {
		v.ReportError(a+"-"+b, problem)
		return
	}
	g.wan.connectClusters(from, to, ms, len(g.p.Links))
	g.p.Links = append(g.p.Links,
		Link{Name: a + ">" + b, Mbps: mbps, Ms: ms, Shared: true},
		Link{Name: b + ">" + a, Mbps: mbps, Ms: ms, Shared: true})
}

// readClusterName reads the name of a cluster of this platform.
func (g *gridFile) readClusterName(v yamlfile.Value) int {
	name := v.Text("the name of a cluster")
	c, ok := g.p.clusters[name]
	if !ok {
		v.ReportWrong(badinput.UnknownName("cluster", name, g.p.ClusterNames()))
	}
	return c
}

func (g *gridFile) readFiles(v yamlfile.Value) {
	if v.Kind() == yamlfile.Blank {
		return
	}
	seen := map[string]bool{}
	for item := range v.EachItem("{name, size, at}") {
		f := g.readFile(item, seen)
		seen[f.Name] = true
		g.p.Files = append(g.p.Files, f)
	}
}

func (g *gridFile) readFile(v yamlfile.Value, seen map[string]bool) File {
	var f File
	found := v.ReadMapping(
		yamlfile.ReadField("name", func(v yamlfile.Value) { f.Name = v.Text("the file's name") }),
		yamlfile.ReadField("size", func(v yamlfile.Value) { f.Bytes = v.Size(0) }),
		yamlfile.StoreField("at", &f.At, g.readSites),
	)
	switch {
	case f.Name == "":
		found.FailField("name", "", "the file's name; it is missing")
	case seen[f.Name]:
		found.FailField("name", f.Name, "a name that no other file has; list all its clusters in one at")
	}
	found.RequireField("size", "the file's size")
	if len(f.At) == 0 {
		found.FailField("at", "", "the clusters that hold the file; none is named")
	}
	return f
}

// readSites reads the clusters that hold a file.
func (g *gridFile) readSites(v yamlfile.Value) (at []int) {
	named := map[int]bool{}
	for item := range v.EachItem("clusters") {
		c := g.readClusterName(item)
		if named[c] {
			item.ReportWrong("each cluster once")
		}
		named[c] = true
		at = append(at, c)
	}
	slices.Sort(at)
	return at
}
