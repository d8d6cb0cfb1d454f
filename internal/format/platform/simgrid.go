package platform

import (
	"fmt"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// A simGrid is a SimGrid platform while it is read: first everything that has
// a name is declared, then the routes between named things are read, so that
// their order in the file does not matter.
type simGrid struct {
	xmlFile
	p        *Platform
	root     *zone
	leaves   []*zone          // of each of our clusters its zone
	points   map[string]point // routers and zones; hosts are in p.hosts
	zones    map[string]*zone
	links    map[string]int
	coords   map[point]coord
	procs    int
	hosts    int
	unique   int         // numbers the links of fat trees and dragonflies, as SimGrid does
	deferred []*zoneWork // routes still to be read
}

type zoneWork struct {
	z *zone
	e *element
}

// parseSimGrid reads a platform of version 4. What it makes of each construct
// stands with the code that reads it; the package comment lists what is left
// out.
func parseSimGrid(r *report, data []byte) *Platform {
	g := &simGrid{
		xmlFile: xmlFile{report: r},
		p:       &Platform{hosts: map[string]RouteEnd{}, clusters: map[string]int{}},
		points:  map[string]point{}, zones: map[string]*zone{},
		links: map[string]int{}, coords: map[point]coord{},
	}
	top := g.readTree(data)
	if g.hasFailed() {
		return nil
	}
	g.readPlatform(top)
	for _, w := range g.deferred {
		if !g.hasFailed() {
			g.readRoutes(w.z, w.e)
		}
	}
	if !g.hasFailed() && g.hosts == 0 {
		g.failAt(top.line, "<platform>", "", "at least one host")
	}
	if g.hasFailed() {
		return nil
	}
	for _, z := range g.leaves {
		z.chooseFrontEnd()
	}
	g.p.Notes = g.ignoredNotes()
	g.p.router = zoneRouter(g.leaves)
	return g.p
}

func (g *simGrid) readPlatform(e *element) {
	if e.name != "platform" {
		g.failAt(e.line, "<"+e.name+">", "", "a SimGrid <platform>")
		return
	}
	g.checkAttributes(e, "version!")
	if v, ok := yamlfile.ParseNumber(e.attrs["version"]); !ok || v < 4 || v >= 5 {
		g.reportValue(e, "version", "4 or 4.1; simgrid_update_xml converts older files")
	}
	for _, child := range e.children {
		switch child.name {
		case "zone", "AS", "cluster":
			if g.root != nil {
				g.failAt(child.line, "<"+child.name+">", child.attrs["id"], "one outermost zone; put these zones into one")
			}
			g.root = g.declareZone(nil, child)
		case "config":
			g.ignoreElement("<config> is not imported: it sets up SimGrid's own models")
		case "actor", "process":
			g.ignoreElement("<" + child.name + "> is not imported: jobs come from traces and scenarios")
		default:
			if !g.ignoreTraces(child) {
				g.reportMisplaced(child, "<platform>", "zone", "cluster", "config", "trace", "trace_connect", "actor")
			}
		}
		if g.hasFailed() {
			return
		}
	}
}

// ignoreTraces notes the elements that change a platform over time.
func (g *simGrid) ignoreTraces(e *element) bool {
	if e.name != "trace" && e.name != "trace_connect" {
		return false
	}
	g.ignoreElement("<" + e.name + "> is not imported: load and failures come from scenarios")
	return true
}

// reportMisplaced reports an element that cannot stand where it does.
func (g *simGrid) reportMisplaced(e *element, where string, known ...string) {
	switch {
	case strings.HasPrefix(e.name, "bypass"):
		g.failAt(e.line, "<"+e.name+">", "", "ordinary routes; exceptions to them are not imported")
	case e.name == "include":
		g.failAt(e.line, "<include>", e.attrs["file"], "one file; SimGrid itself no longer reads includes")
	case strings.HasPrefix(e.name, "storage"), e.name == "mount":
		g.failAt(e.line, "<"+e.name+">", "", "no storage; SimGrid itself no longer reads it")
	case slices.Contains(elementNames, e.name):
		g.failAt(e.line, "<"+e.name+">", "", "nothing of this kind in "+where)
	default:
		g.failAt(e.line, "<"+e.name+">", "", badinput.UnknownName("element", e.name, known))
	}
}

var elementNames = strings.Fields("platform config zone AS cluster cabinet peer host disk router link backbone " +
	"host_link link_ctn route zoneRoute ASroute trace trace_connect actor process argument prop random")

// claimName makes sure that a host, router or zone has a name of its own.
func (g *simGrid) claimName(line int, field, name string) {
	_, isPoint := g.points[name]
	_, isHost := g.p.hosts[name]
	_, isZone := g.zones[name]
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		g.failAt(line, field, name, "a name")
	}
	if isPoint || isHost || isZone {
		g.failAt(line, field, name, "a name that no other host, router or zone has")
	}
}

// addHost puts a host into zone z, whose next member it becomes, and z into
// our clusters if it is not there yet.
func (g *simGrid) addHost(z *zone, line int, field string, h Host) int {
	g.claimName(line, field, h.Name)
	g.hosts++
	g.procs += h.Cores
	if g.hosts > maxHosts {
		g.failAt(line, field, h.Name, fmt.Sprintf("at most %d hosts in all", maxHosts))
	}
	if g.procs > maxProcessors {
		g.failAt(line, field, h.Name, fmt.Sprintf("at most %d cores in all", maxProcessors))
	}
	if z.cluster < 0 {
		z.cluster = len(g.p.Clusters)
		g.leaves = append(g.leaves, z)
		g.p.clusters[z.name] = z.cluster
		g.p.Clusters = append(g.p.Clusters, Cluster{Name: z.name})
	}
	c := &g.p.Clusters[z.cluster]
	g.p.hosts[h.Name] = RouteEnd{z.cluster, len(c.Hosts)}
	c.Hosts = append(c.Hosts, h)
	c.Procs += h.Cores
	id := z.addMember()
	z.hosts = append(z.hosts, id)
	return id
}

func (g *simGrid) addRouter(z *zone, line int, field, name string) int {
	g.claimName(line, field, name)
	id := z.addMember()
	g.points[name] = point{z, id}
	if z.router < 0 {
		z.router = id
	}
	return id
}

// findNetpoint finds a host or router.
func (g *simGrid) findNetpoint(name string) (point, bool) {
	if at, ok := g.p.hosts[name]; ok {
		z := g.leaves[at.Cluster]
		return point{z, z.hosts[at.Host]}, true
	}
	p, ok := g.points[name]
	return p, ok
}

// A family is links of one kind that follow each other: one for each member,
// or two when they are split into up and down.
type family struct {
	first, width int // width 0: there are none
}

func (f family) upLink(i int) int   { return f.first + i*f.width }
func (f family) downLink(i int) int { return f.first + (i+1)*f.width - 1 }

// addLinks makes n links like l, or n pairs of them.
func (g *simGrid) addLinks(line, n int, l Link, split bool, name func(int) string) family {
	f := family{len(g.p.Links), 1}
	if split {
		f.width = 2
	}
	if n > (maxLinks-len(g.p.Links))/f.width {
		g.failAt(line, "", "", fmt.Sprintf("at most %d links in all", maxLinks))
		return f
	}
	for i := 0; i < n && !g.hasFailed(); i++ {
		id := name(i)
		if !split {
			g.addLink(line, id, l)
			continue
		}
		g.addLink(line, id+"_UP", l)
		g.addLink(line, id+"_DOWN", l)
	}
	return f
}

// splitLink is the half of a SPLITDUPLEX link that goes up; the other follows
// it.
func (g *simGrid) splitLink(id string) (up int, ok bool) {
	up, ok = g.links[id+"_UP"]
	down, ok2 := g.links[id+"_DOWN"]
	return up, ok && ok2 && down == up+1
}

func (g *simGrid) addLink(line int, name string, l Link) {
	if _, ok := g.links[name]; ok || name == "" {
		g.failAt(line, "<link> id", name, "a name that no other link has")
	}
	l.Name = name
	g.links[name] = len(g.p.Links)
	g.p.Links = append(g.p.Links, l)
}
