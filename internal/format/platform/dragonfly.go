package platform

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A dragonfly is groups of chassis of blades (routers) of nodes. Blades of one
// chassis are joined pairwise (green links), equal blades of a group's chassis
// likewise (black), and groups by one link between each two (blue): that from
// group i to group j begins at blade j of the first chassis of i.
//
// Routes are minimal and the same as SimGrid's, including that after a green
// hop within a group the black hop is taken from the first chassis. The
// cluster's router is reached at no cost.
type dragonfly struct {
	clusterLinks
	hosts                          int
	groups, chassis, blades, nodes int
	local                          family // of each node
	green                          family // chassis × pairs of blades
	black                          family // group × pairs of chassis × blade
	blue                           family // pairs of groups
	routers                        family // limiters of the blades
}

// A blade is a router of a dragonfly.
type blade struct{ group, chassis, blade int }

func (g *simGrid) newDragonfly(s clusterShape) table {
	t := &dragonfly{clusterLinks: s.own, hosts: s.hosts}
	width, ok := t.parseSizes(s.e.attrs["topo_parameters"])
	if !ok || t.groups*t.chassis*t.blades*t.nodes != s.hosts {
		g.reportValue(s.e, "topo_parameters", fmt.Sprintf(
			"groups,links;chassis,links;blades,links;nodes such as 3,4;4,3;5,1;2, the product of the sizes being the number "+
				"of nodes, %d", s.hosts))
		return nil
	}
	if t.groups > t.blades {
		g.reportValue(s.e, "topo_parameters", "at most as many groups as blades in a chassis: each leads to one group")
		return nil
	}
	t.addLinks(g, s, width)
	return t
}

// parseSizes reads the sizes, and how many cables each link of the three colours
// stands for.
func (t *dragonfly) parseSizes(s string) (width [3]int, ok bool) {
	parts := strings.Split(s, ";")
	if len(parts) != 4 {
		return width, false
	}
	sizes := []*int{&t.groups, &t.chassis, &t.blades}
	for i := range sizes {
		pair := numbersIn(parts[i], maxLinks)
		if len(pair) != 2 {
			return width, false
		}
		*sizes[i], width[i] = pair[0], pair[1]
	}
	last := numbersIn(parts[3], maxHosts)
	if len(last) != 1 {
		return width, false
	}
	t.nodes = last[0]
	// The product of the sizes, and the links between them, stay in bounds.
	size := 1
	for _, n := range []int{t.groups, t.chassis, t.blades, t.nodes} {
		if n > maxHosts/size {
			return width, false
		}
		size *= n
	}
	return width, true
}

func pairCount(n int) int { return n * (n - 1) / 2 }

// pairIndex numbers the pairs a < b out of n in the order 0-1, 0-2, … 1-2, …
func pairIndex(a, b, n int) int { return a*(2*n-a-1)/2 + b - a - 1 }

// pairAt is the inverse of pairIndex.
func pairAt(i, n int) (a, b int) {
	// Pairs that begin below a: a*(2n-a-1)/2 ≤ i, solved for a and corrected
	// for rounding.
	m := float64(2*n - 1)
	a = int((m - math.Sqrt(m*m-8*float64(i))) / 2)
	for a > 0 && pairIndex(a, a+1, n) > i {
		a--
	}
	for pairIndex(a+1, a+2, n) <= i {
		a++
	}
	return a, a + 1 + i - pairIndex(a, a+1, n)
}

func (t *dragonfly) addLinks(g *simGrid, s clusterShape, width [3]int) {
	add := func(n, cables int, name func(i int) string) family {
		l := s.cable
		l.Mbps *= float64(cables)
		unique := g.unique
		g.unique += n
		return g.addLinks(s.e.line, n, l, s.split, func(i int) string {
			return name(i) + "_" + strconv.Itoa(unique+i)
		})
	}
	t.local = add(s.hosts, 1, func(i int) string {
		return fmt.Sprintf("local_link_from_router_%d_to_node_%d", i/t.nodes, i%t.nodes)
	})
	t.green = add(t.groups*t.chassis*pairCount(t.blades), width[2], func(i int) string {
		a, b := pairAt(i%pairCount(t.blades), t.blades)
		return fmt.Sprintf("green_link_in_chassis_%d_between_routers_%d_and_%d", i/pairCount(t.blades)%t.chassis, a, b)
	})
	t.black = add(t.groups*pairCount(t.chassis)*t.blades, width[1], func(i int) string {
		pair := i / t.blades
		a, b := pairAt(pair%pairCount(t.chassis), t.chassis)
		return fmt.Sprintf("black_link_in_group_%d_between_chassis_%d_and_%d_blade_%d", pair/pairCount(t.chassis), a, b,
			i%t.blades)
	})
	t.blue = add(pairCount(t.groups), width[0], func(i int) string {
		a, b := pairAt(i, t.groups)
		return fmt.Sprintf("blue_link_between_group_%d_and_%d_routers_%d_and_%d",
			a, b, t.bladeIndex(blade{a, 0, b}), t.bladeIndex(blade{b, 0, a}))
	})
	t.routers = g.limitSwitches(s, t.groups*t.chassis*t.blades)
}

func (t *dragonfly) bladeIndex(b blade) int { return (b.group*t.chassis+b.chassis)*t.blades + b.blade }

func (t *dragonfly) bladeOf(host int) blade {
	r := host / t.nodes
	return blade{r / t.blades / t.chassis, r / t.blades % t.chassis, r % t.blades}
}

// linkToward is the link of pair a, b out of n, in the direction from a to b.
func linkToward(f family, offset, a, b, n, stride, rest int) int {
	i := (offset+pairIndex(min(a, b), max(a, b), n))*stride + rest
	if a < b {
		return f.upLink(i)
	}
	return f.downLink(i)
}

func (t *dragonfly) greenTo(from blade, to int) int {
	return linkToward(t.green, (from.group*t.chassis+from.chassis)*pairCount(t.blades), from.blade, to, t.blades, 1, 0)
}

func (t *dragonfly) blackTo(from blade, to int) int {
	return linkToward(t.black, from.group*pairCount(t.chassis), from.chassis, to, t.chassis, t.blades, from.blade)
}

func (t *dragonfly) limitBlade(links []int, b blade) []int {
	if t.routers.width == 0 {
		return links
	}
	return append(links, t.routers.upLink(t.bladeIndex(b)))
}

func (t *dragonfly) legsBetween(src, dst int) []leg {
	if src >= t.hosts || dst >= t.hosts {
		return []leg{{}}
	}
	here, there := t.bladeOf(src), t.bladeOf(dst)
	links := append(t.appendLimiter(nil, src), t.local.upLink(src))
	if here != there {
		links = t.crossBlades(links, here, there)
	}
	links = append(t.limitBlade(links, there), t.local.downLink(dst))
	return []leg{{links: t.appendLimiter(links, dst)}}
}

// crossBlades goes from one blade to another.
func (t *dragonfly) crossBlades(links []int, here, there blade) []int {
	if here.group != there.group {
		if here.blade != there.group {
			links = append(t.limitBlade(links, here), t.greenTo(here, there.group))
			here.blade = there.group
		}
		if here.chassis != 0 {
			links = append(t.limitBlade(links, here), t.blackTo(here, 0))
			here.chassis = 0
		}
		links = append(links, linkToward(t.blue, 0, here.group, there.group, t.groups, 1, 0))
		links = t.limitBlade(links, here)
		here = blade{there.group, 0, here.group}
	}
	if here.blade != there.blade {
		links = append(t.limitBlade(links, here), t.greenTo(here, there.blade))
		here = blade{there.group, 0, there.blade}
	}
	if here.chassis != there.chassis {
		links = append(t.limitBlade(links, here), t.blackTo(here, there.chassis))
	}
	return links
}
