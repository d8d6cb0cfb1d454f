package platform

import (
	"slices"
)

// A routeTable takes routes from the file.
type routeTable interface {
	addRoute(src, dst int, l leg) bool
}

// readRoutes reads the routes of a zone, and what else needs everything to be
// declared.
func (g *simGrid) readRoutes(z *zone, e *element) {
	if star, ok := z.table.(*starTable); ok && z.routing == "Vivaldi" {
		g.locateMembers(z, star, e)
	}
	for _, child := range e.children {
		switch child.name {
		case "route":
			g.readRoute(z, child)
		case "zoneRoute", "ASroute":
			g.readZoneRoute(z, child)
		}
		if g.hasFailed() {
			return
		}
	}
}

func (g *simGrid) readRoute(z *zone, e *element) {
	g.checkAttributes(e, "src!", "dst!", "symmetrical")
	src, dst := g.readEndpoint(z, e, "src"), g.readEndpoint(z, e, "dst")
	there, back := g.readLinks(e)
	if g.hasFailed() {
		return
	}
	g.enterRoute(z, e, src, dst, leg{links: there}, leg{links: back})
}

// readEndpoint is a host or router of the zone itself.
func (g *simGrid) readEndpoint(z *zone, e *element, attr string) int {
	p, ok := g.findNetpoint(e.attrs[attr])
	if !ok || p.zone != z {
		g.reportValue(e, attr, "a host or router of zone "+z.name)
	}
	return p.id
}

func (g *simGrid) readZoneRoute(z *zone, e *element) {
	g.checkAttributes(e, "src!", "dst!", "gw_src!", "gw_dst!", "symmetrical")
	src, dst := g.innerZone(z, e, "src"), g.innerZone(z, e, "dst")
	if g.hasFailed() {
		return
	}
	from, to := g.gatewayOf(src, e, "gw_src"), g.gatewayOf(dst, e, "gw_dst")
	there, back := g.readLinks(e)
	if src == dst {
		g.reportValue(e, "dst", "another zone than src")
	}
	if g.hasFailed() {
		return
	}
	g.enterRoute(z, e, src.id, dst.id, leg{links: there, from: from, to: to}, leg{links: back, from: to, to: from})
}

func (g *simGrid) innerZone(z *zone, e *element, attr string) *zone {
	inner := g.zones[e.attrs[attr]]
	if inner == nil || inner.parent != z {
		g.reportValue(e, attr, "a zone or cluster directly in zone "+z.name)
		return nil
	}
	return inner
}

func (g *simGrid) gatewayOf(z *zone, e *element, attr string) point {
	p, ok := g.findNetpoint(e.attrs[attr])
	if !ok || !p.zone.isWithin(z) {
		g.reportValue(e, attr, "a host or router in zone "+z.name)
		return point{}
	}
	if p.zone.gateway < 0 {
		p.zone.gateway = p.id
	}
	return p
}

// enterRoute puts a route into the table of its zone, and the way back too unless
// the file says otherwise.
func (g *simGrid) enterRoute(z *zone, e *element, src, dst int, there, back leg) {
	symmetrical := true
	if s, ok := e.attrs["symmetrical"]; ok {
		symmetrical = s == "YES" || s == "yes"
		if !symmetrical && s != "NO" && s != "no" {
			g.reportValue(e, "symmetrical", "YES or NO")
		}
	}
	if star, ok := z.table.(*starTable); ok && src == dst {
		if star.loop == nil {
			star.loop = map[int][]int{}
		}
		star.loop[src] = there.links
		return
	}
	t, ok := z.table.(routeTable)
	if !ok {
		g.failAt(e.line, "<"+e.name+">", "", "no routes in a zone with routing "+z.routing)
		return
	}
	ok = t.addRoute(src, dst, there)
	if symmetrical && src != dst {
		ok = t.addRoute(dst, src, back) && ok
	}
	if !ok {
		g.failAt(e.line, "<"+e.name+"> src", e.attrs["src"],
			"one route for a pair; that to "+e.attrs["dst"]+" is given already (routes are symmetrical unless they say NO)")
	}
}

// readLinks is the links of a route, there and back. Back, their order is
// reversed and what goes up goes down.
func (g *simGrid) readLinks(e *element) (there, back []int) {
	for _, child := range e.children {
		if child.name != "link_ctn" {
			g.reportMisplaced(child, "<"+e.name+">", "link_ctn")
			return nil, nil
		}
		g.checkAttributes(child, "id!", "direction")
		id := child.attrs["id"]
		link, known := g.links[id]
		up, split := g.splitLink(id)
		switch direction := child.attrs["direction"]; {
		case direction == "UP" && split:
			there, back = append(there, up), append(back, up+1)
		case direction == "DOWN" && split:
			there, back = append(there, up+1), append(back, up)
		case direction != "" && direction != "NONE" && direction != "UP" && direction != "DOWN":
			g.reportValue(child, "direction", "UP, DOWN or NONE")
		case split && !known:
			g.reportValue(child, "id", "a direction, UP or DOWN; the link is SPLITDUPLEX")
		case !known:
			g.reportValue(child, "id", "the name of a link")
		case direction == "UP" || direction == "DOWN":
			g.reportValue(child, "direction", "no direction; the link is not SPLITDUPLEX")
		default:
			there, back = append(there, link), append(back, link)
		}
	}
	slices.Reverse(back)
	return there, back
}
