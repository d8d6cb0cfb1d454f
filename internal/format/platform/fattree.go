package platform

import (
	"fmt"
	"strconv"
	"strings"
)

// A fatTree has hosts at level 0 and switches above. A node's label has one
// digit per level, the lowest first; digit l runs over the children of a switch
// of level l+1 as long as the node is at or below level l, and over the parents
// of a node of level l above. A node and its parent differ in one digit only,
// so everything is worked out from labels and nothing is stored but the shape.
//
// Routes are D-mod-K: up towards the parent that the destination's position
// selects, until the destination lies below; then down, over the cable that the
// source's position selects where several run side by side. The router is
// reached at no cost, as in SimGrid.
type fatTree struct {
	clusterLinks
	hosts    int
	children []int // of a switch of level l+1
	parents  []int // of a node of level l
	cables   []int // between a node of level l and each of its parents
	count    []int // nodes per level
	first    []int // of each level the number of its first cable
	cable    family
	switches family // limiters of the switches
}

func (g *simGrid) newFatTree(s clusterShape) table {
	t := &fatTree{clusterLinks: s.own, hosts: s.hosts}
	total := t.parseTopology(s.e.attrs["topo_parameters"])
	if total == 0 || productOf(t.children) != s.hosts {
		g.reportValue(s.e, "topo_parameters", fmt.Sprintf(
			"levels;children;parents;cables such as 2;4,4;1,2;1,2, the children's product being the number of nodes, %d",
			s.hosts))
		return nil
	}
	unique := g.unique
	t.cable = g.addLinks(s.e.line, total, s.cable, s.split, func(i int) string {
		child, parent := t.cableEnds(i)
		return "link_from_" + strconv.Itoa(child) + "_" + strconv.Itoa(parent) + "_" + strconv.Itoa(unique+i)
	})
	g.unique += total
	t.switches = g.limitSwitches(s, t.switchIndex(len(t.children)+1, 0))
	return t
}

// parseTopology reads levels;children;parents;cables and returns the number of cables,
// or 0 if the text is wrong or asks for too many.
func (t *fatTree) parseTopology(s string) int {
	parts := strings.Split(s, ";")
	if len(parts) != 4 {
		return 0
	}
	t.children, t.parents, t.cables = numbersIn(parts[1], maxHosts), numbersIn(parts[2], maxLinks),
		numbersIn(parts[3], maxLinks)
	levels, err := strconv.Atoi(strings.TrimSpace(parts[0]))
	if err != nil || levels < 1 || len(t.children) != levels || len(t.parents) != levels || len(t.cables) != levels {
		return 0
	}
	total := 0
	for l := range levels + 1 {
		n := productOf(t.parents[:l])
		if n > maxLinks/productOf(t.children[l:]) {
			return 0
		}
		n *= productOf(t.children[l:])
		t.count = append(t.count, n)
		if l == levels {
			break
		}
		t.first = append(t.first, total)
		perNode := t.parents[l] * t.cables[l]
		if perNode > maxLinks || n > (maxLinks-total)/perNode {
			return 0
		}
		total += n * perNode
	}
	return total
}

// labelDigit is digit i of the label of the node at pos in a level.
func (t *fatTree) labelDigit(level, pos, i int) int {
	for j := range i {
		pos /= t.labelRadix(level, j)
	}
	return pos % t.labelRadix(level, i)
}

func (t *fatTree) labelRadix(level, i int) int {
	if i < level {
		return t.parents[i]
	}
	return t.children[i]
}

// neighbourAt is the position, at level to, of the neighbour whose label differs from
// that of the node at pos in the one digit that changes between the levels.
func (t *fatTree) neighbourAt(level, pos, to, value int) int {
	changed := min(level, to)
	next, scale := 0, 1
	for i := range t.children {
		d := value
		if i != changed {
			d = t.labelDigit(level, pos, i)
		}
		next += d * scale
		scale *= t.labelRadix(to, i)
	}
	return next
}

// isBelow tells whether a host lies below the node at pos.
func (t *fatTree) isBelow(level, pos, host int) bool {
	for i := level; i < len(t.children); i++ {
		if t.labelDigit(level, pos, i) != t.labelDigit(0, host, i) {
			return false
		}
	}
	return level > 0
}

// cableNumber is the cable from the node at pos to its parent.
func (t *fatTree) cableNumber(level, pos, parent, cable int) int {
	return t.first[level] + (pos*t.parents[level]+parent)*t.cables[level] + cable
}

// cableEnds are SimGrid's numbers of the nodes that a cable joins: switches count
// down from twice the number of hosts.
func (t *fatTree) cableEnds(cable int) (child, parent int) {
	level := len(t.first) - 1
	for t.first[level] > cable {
		level--
	}
	rest := (cable - t.first[level]) / t.cables[level]
	pos := rest / t.parents[level]
	return t.nodeID(level, pos), t.nodeID(level+1, t.neighbourAt(level, pos, level+1, rest%t.parents[level]))
}

func (t *fatTree) nodeID(level, pos int) int {
	if level == 0 {
		return pos
	}
	return 2*t.hosts - 1 - t.switchIndex(level, pos)
}

func (t *fatTree) switchIndex(level, pos int) int {
	for _, n := range t.count[1:level] {
		pos += n
	}
	return pos
}

// limitNode appends the limiter of a host or switch, if there are limiters.
func (t *fatTree) limitNode(links []int, level, pos int) []int {
	if level == 0 || t.limiter.width == 0 {
		return t.appendLimiter(links, pos)
	}
	return append(links, t.switches.upLink(t.switchIndex(level, pos)))
}

func (t *fatTree) legsBetween(src, dst int) []leg {
	if src >= t.hosts || dst >= t.hosts {
		return []leg{{}}
	}
	var links []int
	level, pos := 0, src
	for !t.isBelow(level, pos, dst) {
		links = t.limitNode(links, level, pos)
		port := dst
		for l := range level {
			port /= t.parents[l] * t.cables[l]
		}
		port %= t.parents[level] * t.cables[level]
		parent, cable := port%t.parents[level], port/t.parents[level]
		links = append(links, t.cable.upLink(t.cableNumber(level, pos, parent, cable)))
		pos = t.neighbourAt(level, pos, level+1, parent)
		level++
	}
	for level > 0 {
		parent := t.labelDigit(level, pos, level-1)
		child := t.neighbourAt(level, pos, level-1, t.labelDigit(0, dst, level-1))
		links = append(links, t.cable.downLink(t.cableNumber(level-1, child, parent, src%t.cables[level-1])))
		links = t.limitNode(links, level, pos)
		level, pos = level-1, child
	}
	return []leg{{links: t.appendLimiter(links, dst)}}
}
