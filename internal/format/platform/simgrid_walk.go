package platform

// A zoneRouter routes over a SimGrid platform; it holds the zone of each of our
// clusters.
type zoneRouter []*zone

func (r zoneRouter) walkRoute(from, to RouteEnd, links []int) ([]int, float64, bool) {
	w := passage{links: links}
	src, dst := r.pointOf(from), r.pointOf(to)
	if !w.passBetween(src, dst) {
		return links, 0, false
	}
	return w.links, w.extraMs, true
}

func (r zoneRouter) loopbackRoute(at RouteEnd, links []int) []int {
	p := r.pointOf(at)
	return append(links, p.zone.table.loopbackLinks(p.id)...)
}

func (r zoneRouter) pointOf(at RouteEnd) point {
	z := r[at.Cluster]
	if at.Host == FrontEnd {
		return point{z, z.front}
	}
	return point{z, z.hosts[at.Host]}
}

// A passage is a way under construction.
type passage struct {
	links   []int
	extraMs float64
}

// passBetween goes from one host or router to another. In the innermost zone that
// holds both, the table gives the legs between the members they belong to;
// where such a member is a zone, the way between the ends of legs in it is
// found likewise. Gateways lie in the zones that they lead out of, and legs pass
// a zone once, so no zone is searched twice.
func (w *passage) passBetween(src, dst point) bool {
	if src == dst {
		return true
	}
	z, a, b := commonZone(src, dst)
	legs := z.table.legsBetween(a, b)
	if legs == nil {
		return false
	}
	at := src
	for i, l := range legs {
		// Within the zone itself a leg begins where the one before ended.
		if i > 0 && l.from.zone != nil || i == 0 && src.zone != z {
			if l.from.zone == nil || !w.passBetween(at, l.from) {
				return false
			}
		}
		w.links = append(w.links, l.links...)
		w.extraMs += l.extraMs
		at = l.to
	}
	if dst.zone == z {
		return true
	}
	return at.zone != nil && w.passBetween(at, dst)
}

// commonZone is the innermost zone that holds both points, and the members of it
// that they are or lie in.
func commonZone(a, b point) (z *zone, x, y int) {
	for a.zone.depth > b.zone.depth {
		a = point{a.zone.parent, a.zone.id}
	}
	for b.zone.depth > a.zone.depth {
		b = point{b.zone.parent, b.zone.id}
	}
	for a.zone != b.zone {
		a = point{a.zone.parent, a.zone.id}
		b = point{b.zone.parent, b.zone.id}
	}
	return a.zone, a.id, b.id
}
