package platform

import (
	"fmt"
	"slices"
	"strconv"
)

// A torusTable joins every node to its neighbours in each dimension, round the
// end. Routes go through the dimensions one after the other, the shorter way
// round; at equal length in the rising direction. The router is reached at no
// cost, as in SimGrid.
type torusTable struct {
	clusterLinks
	hosts int
	dims  []int
	cable family // node × dimensions + dimension: to the next node in that dimension
}

func (g *simGrid) newTorus(s clusterShape) table {
	dims := numbersIn(s.e.attrs["topo_parameters"], maxHosts)
	if dims == nil || productOf(dims) != s.hosts {
		g.reportValue(s.e, "topo_parameters",
			fmt.Sprintf("sizes such as 3,2,2 whose product is the number of nodes, %d", s.hosts))
		return nil
	}
	// Nothing is routed in a dimension of size 1.
	dims = slices.DeleteFunc(dims, func(n int) bool { return n == 1 })
	t := &torusTable{clusterLinks: s.own, hosts: s.hosts, dims: dims}
	t.cable = g.addLinks(s.e.line, s.hosts*len(dims), s.cable, s.split, func(i int) string {
		node := i / len(dims)
		next, _ := t.stepTo(node, i%len(dims), true)
		return s.z.name + "_link_from_" + strconv.Itoa(node) + "_to_" + strconv.Itoa(next)
	})
	return t
}

// stepTo is the neighbour of a node in a dimension, and the node whose link
// leads there.
func (t *torusTable) stepTo(node, dim int, rising bool) (next, owner int) {
	unit := productOf(t.dims[:dim])
	at := node / unit % t.dims[dim]
	if rising {
		return node + ((at+1)%t.dims[dim]-at)*unit, node
	}
	next = node + ((at+t.dims[dim]-1)%t.dims[dim]-at)*unit
	return next, next
}

func (t *torusTable) legsBetween(src, dst int) []leg {
	if src >= t.hosts || dst >= t.hosts {
		return []leg{{}}
	}
	var links []int
	unit, node := 1, src
	for dim, size := range t.dims {
		from, to := src/unit%size, dst/unit%size
		rising := to > from && to <= from+size/2 || from > size/2 && (from+size/2)%size >= to
		for node/unit%size != to {
			links = t.appendLimiter(links, node)
			next, owner := t.stepTo(node, dim, rising)
			link := owner*len(t.dims) + dim
			if rising {
				links = append(links, t.cable.upLink(link))
			} else {
				links = append(links, t.cable.downLink(link))
			}
			node = next
		}
		unit *= size
	}
	return []leg{{links: t.appendLimiter(links, dst)}}
}
