package platform

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// A starTable is a zone whose members hang on one middle (routing Cluster), by
// links up to it and links down from it. In a Vivaldi zone the middle is the
// Internet, whose latency follows from the members' coordinates.
type starTable struct {
	up, down map[int][]int
	loop     map[int][]int
	vivaldi  []vivaldi // by member; nil where latency does not depend on it
}

type vivaldi struct {
	gateway point // of a member that is a zone
	at      coord
}

// A coord is a place in the Vivaldi system, in milliseconds; the third is the
// height over the plane.
type coord [3]float64

func (c coord) distanceTo(d coord) float64 {
	return math.Hypot(c[0]-d[0], c[1]-d[1]) + math.Abs(c[2]) + math.Abs(d[2])
}

func (s *starTable) connectMember(id int, up, down []int) {
	if s.up == nil {
		s.up, s.down = map[int][]int{}, map[int][]int{}
	}
	s.up[id], s.down[id] = up, down
}

// legsBetween crosses a link once even if both members share it: the backbone.
func (s *starTable) legsBetween(src, dst int) []leg {
	l := leg{links: slices.Clone(s.up[src])}
	for _, x := range s.down[dst] {
		if !slices.Contains(l.links, x) {
			l.links = append(l.links, x)
		}
	}
	if s.vivaldi != nil {
		a, b := s.vivaldi[src], s.vivaldi[dst]
		l.extraMs = a.at.distanceTo(b.at)
		l.from, l.to = a.gateway, b.gateway
	}
	return []leg{l}
}

func (s *starTable) loopbackLinks(id int) []int { return s.loop[id] }

// readCoords keeps the coordinates of a host or router, if it has any.
func (g *simGrid) readCoords(at point, e *element) {
	text, ok := e.attrs["coordinates"]
	if !ok || text == "" {
		return
	}
	words := strings.Fields(text)
	var c coord
	for i := range c {
		var v float64
		if ok = len(words) == len(c); ok {
			v, ok = yamlfile.ParseNumber(words[i])
		}
		if !ok || math.Abs(v) > maxMs {
			g.reportValue(e, "coordinates", "three numbers in milliseconds, as in \"25.5 9.4 1.4\"")
			return
		}
		c[i] = v
	}
	g.coords[at] = c
}

// locateMembers gives every member of a Vivaldi zone its coordinates. Those of a zone
// within it are those of its router named router_ and the zone's name.
func (g *simGrid) locateMembers(z *zone, star *starTable, e *element) {
	if z.members < 2 {
		return // there is nowhere to go
	}
	star.vivaldi = make([]vivaldi, z.members)
	for id := range star.vivaldi {
		v := vivaldi{}
		at := point{z, id}
		if inner := z.inner[id]; inner != nil {
			gateway := "router_" + inner.name
			p, ok := g.findNetpoint(gateway)
			if !ok || !p.zone.isWithin(inner) {
				g.failAt(inner.line, "<zone> id", inner.name, "a router named "+gateway+
					" in this zone, with coordinates; Vivaldi routes lead through it")
				return
			}
			v.gateway, at = p, p
		}
		c, ok := g.coords[at]
		if !ok {
			g.failAt(e.line, "<"+e.name+"> routing", z.routing, "coordinates for every member of a Vivaldi zone; member "+
				strconv.Itoa(id+1)+" has none")
			return
		}
		v.at = c
		star.vivaldi[id] = v
	}
}

// isWithin tells whether z is outer or lies in it.
func (z *zone) isWithin(outer *zone) bool {
	for ; z != nil; z = z.parent {
		if z == outer {
			return true
		}
	}
	return false
}

// declarePeer reads a host with a private link up and another down.
func (g *simGrid) declarePeer(z *zone, star *starTable, e *element) {
	g.checkAttributes(e, "id!", "speed!", "bw_in!", "bw_out!", "lat", "coordinates!", "availability_file", "speed_file",
		"state_file")
	g.ignoreProfiles(e)
	if lat, ok := e.attrs["lat"]; ok && lat != "0" {
		g.ignoreElement("<peer> lat is not imported: SimGrid takes the third coordinate instead")
	}
	name := e.attrs["id"]
	id := g.addHost(z, e.line, "<peer> id", Host{Name: name, Cores: 1, Speed: g.readSpeed(e)})
	g.readCoords(point{z, id}, e)
	up, down := len(g.p.Links), len(g.p.Links)+1
	g.addLink(e.line, "link_"+name+"_UP", Link{Mbps: g.readQuantity(e, "bw_out", inMbps, false), Shared: true})
	g.addLink(e.line, "link_"+name+"_DOWN", Link{Mbps: g.readQuantity(e, "bw_in", inMbps, false), Shared: true})
	star.connectMember(id, []int{up}, []int{down})
}

// fillCluster reads what connects the hosts of a zone with routing Cluster: its
// backbone, links of single hosts, and cabinets of equal ones.
func (g *simGrid) fillCluster(z *zone, star *starTable, e *element) {
	var bone []int
	for _, child := range e.children {
		if child.name != "backbone" {
			continue
		}
		if bone != nil {
			g.failAt(child.line, "<backbone>", child.attrs["id"], "one backbone in a zone")
		}
		bone = []int{len(g.p.Links)}
		g.checkAttributes(child, "id!", "bandwidth!", "latency!")
		g.addLink(child.line, child.attrs["id"], Link{
			Mbps:   g.readQuantity(child, "bandwidth", inMbps, false),
			Ms:     g.readQuantity(child, "latency", inMs, true),
			Shared: true,
		})
	}
	for _, child := range e.children {
		switch child.name {
		case "host_link":
			g.readHostLinks(z, star, child, bone)
		case "cabinet":
			g.readCabinet(z, star, child, bone)
		}
		if g.hasFailed() {
			return
		}
	}
}

func (g *simGrid) readHostLinks(z *zone, star *starTable, e *element, bone []int) {
	g.checkAttributes(e, "id!", "up!", "down!")
	at, ok := g.findNetpoint(e.attrs["id"])
	if !ok || at.zone != z {
		g.reportValue(e, "id", "a host of zone "+z.name)
		return
	}
	if _, ok := star.up[at.id]; ok {
		g.reportValue(e, "id", "one <host_link> for a host")
	}
	up, ok := g.links[e.attrs["up"]]
	if !ok {
		g.reportValue(e, "up", "the name of a link (with _UP or _DOWN if it is SPLITDUPLEX)")
	}
	down, ok := g.links[e.attrs["down"]]
	if !ok {
		g.reportValue(e, "down", "the name of a link (with _UP or _DOWN if it is SPLITDUPLEX)")
	}
	star.connectMember(at.id, append([]int{up}, bone...), append(slices.Clone(bone), down))
}

func (g *simGrid) readCabinet(z *zone, star *starTable, e *element, bone []int) {
	g.checkAttributes(e, "id!", "prefix!", "suffix!", "radical!", "speed!", "bw!", "lat!")
	l := Link{
		Mbps:   g.readQuantity(e, "bw", inMbps, false),
		Ms:     g.readQuantity(e, "lat", inMs, true),
		Shared: true,
	}
	speed := g.readSpeed(e)
	for _, n := range g.readRadical(e) {
		name := e.attrs["prefix"] + strconv.Itoa(n) + e.attrs["suffix"]
		id := g.addHost(z, e.line, "<cabinet> radical", Host{Name: name, Cores: 1, Speed: speed})
		f := g.addLinks(e.line, 1, l, true, func(int) string { return "link_" + name })
		if g.hasFailed() {
			return
		}
		star.connectMember(id, append([]int{f.upLink(0)}, bone...), append(slices.Clone(bone), f.downLink(0)))
	}
}

// readRadical reads the numbers of hosts, such as 0-99,101.
func (g *simGrid) readRadical(e *element) []int {
	var numbers []int
	for _, part := range strings.FieldsFunc(e.attrs["radical"], func(r rune) bool { return r == ',' || r == ';' }) {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		first, err1 := strconv.ParseUint(from, 10, 31)
		last, err2 := first, error(nil)
		if ranged {
			last, err2 = strconv.ParseUint(to, 10, 31)
		}
		if err1 != nil || err2 != nil || last < first {
			g.reportValue(e, "radical", "numbers and ranges such as 0-99,101")
			return nil
		}
		if last-first >= uint64(maxHosts-len(numbers)) {
			g.reportValue(e, "radical", "at most "+strconv.Itoa(maxHosts)+" hosts")
			return nil
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, int(n))
		}
	}
	if len(numbers) == 0 {
		g.reportValue(e, "radical", "numbers and ranges such as 0-99,101")
	}
	return numbers
}
