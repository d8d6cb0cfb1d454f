package platform

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shape makes a platform of one cluster with a topology.
func shape(t interface{ Fatal(...any) }, hosts int, topology, parameters, more string) *Platform {
	p, err := Parse("p.xml", []byte(fmt.Sprintf(`<platform version="4.1">
		<cluster id="c" prefix="n" suffix="" radical="0-%d" speed="1Gf" bw="1Gbps" lat="1ms"
			topology="%s" topo_parameters="%s" %s/></platform>`, hosts-1, topology, parameters, more)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// numbersOf are the numbers in expected the name of a link, and whether it goes up.
func numbersOf(name string) (n []int, up bool) {
	for _, word := range strings.Split(name, "_") {
		if v, err := strconv.Atoi(word); err == nil {
			n = append(n, v)
		}
	}
	return n, strings.HasSuffix(name, "_UP")
}

// Every step of a route over a torus is a link between neighbours, and there
// are no more of them than the ways round need.
func TestTorusRoutesAreContiguousAndShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 4).Draw(t, "dims")
		hosts := productOf(dims)
		text := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(dims)), ","), "[]")
		p := shape(t, hosts, "TORUS", text, "")
		src := rapid.IntRange(0, hosts-1).Draw(t, "src")
		dst := rapid.IntRange(0, hosts-1).Draw(t, "dst")
		r, _ := p.FindRoute(RouteEnd{0, src}, RouteEnd{0, dst})
		at := src
		for _, name := range linkNames(p, r) {
			n, up := numbersOf(name)
			if !up {
				n[0], n[1] = n[1], n[0]
			}
			if n[0] != at {
				t.Fatalf("%v: %d → %d: %s does not leave node %d", dims, src, dst, name, at)
			}
			at = n[1]
		}
		steps, a, b := 0, src, dst
		for _, size := range dims {
			d := max(a%size-b%size, b%size-a%size)
			steps += min(d, size-d)
			a, b = a/size, b/size
		}
		if at != dst || len(r.Links) != steps {
			t.Fatalf("%v: %d → %d ends at %d after %d steps, want %d", dims, src, dst, at, len(r.Links), steps)
		}
	})
}

// Routes over a fat tree go up as far as they must and down again, every step
// over a cable of the node it leaves.
func TestFatTreeRoutesGoUpToTheFirstCommonSwitchAndDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(1, 3).Draw(t, "levels")
		draw := func(name string, most int) ([]int, string) {
			list := rapid.SliceOfN(rapid.IntRange(1, most), levels, levels).Draw(t, name)
			return list, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ","), "[]")
		}
		children, c := draw("children", 4)
		_, up := draw("parents", 3)
		_, cables := draw("cables", 3)
		hosts := productOf(children)
		p := shape(t, hosts, "FAT_TREE", fmt.Sprintf("%d;%s;%s;%s", levels, c, up, cables), "")
		src := rapid.IntRange(0, hosts-1).Draw(t, "src")
		dst := rapid.IntRange(0, hosts-1).Draw(t, "dst")
		if src == dst {
			return
		}
		r, _ := p.FindRoute(RouteEnd{0, src}, RouteEnd{0, dst})
		// The level of the lowest switch that both are below.
		level := 0
		for a, b := src, dst; a != b; level++ {
			a, b = a/children[level], b/children[level]
		}
		at := src
		for i, name := range linkNames(p, r) {
			id := strings.TrimPrefix(name, "link_from_") // switch numbers may be negative
			ends := beforeLast(strings.TrimSuffix(strings.TrimSuffix(id, "_UP"), "_DOWN"))
			child := beforeLast(ends)
			parent := strings.TrimPrefix(ends, child+"_")
			from, to := child, parent
			if i >= level {
				from, to = parent, child
			}
			if from != strconv.Itoa(at) || strings.HasSuffix(name, "_UP") != (i < level) {
				t.Fatalf("%d → %d: %v: %s does not leave node %d", src, dst, linkNames(p, r), name, at)
			}
			at, _ = strconv.Atoi(to)
		}
		if at != dst || len(r.Links) != 2*level {
			t.Fatalf("%d → %d: %v ends at %d", src, dst, linkNames(p, r), at)
		}
	})
}

func beforeLast(s string) string { return s[:strings.LastIndex(s, "_")] }

func TestDragonflyRoutesByHand(t *testing.T) {
	// Two groups of two chassis of three blades of two nodes: node 13 is node 1
	// of blade 0 of chassis 0 of group 1.
	p := mustLoad(t, filepath.Join("testdata", "simgrid", "shapes.xml"))
	wantRoute(t, p, "d0", "d1", 2, 1000, "local_link_from_router_0_to_node_0_32_UP",
		"local_link_from_router_0_to_node_1_33_DOWN")
	// Same chassis.
	wantRoute(t, p, "d4", "d0", 3, 1000, "local_link_from_router_2_to_node_0_36_UP",
		"green_link_in_chassis_0_between_routers_0_and_2_57_DOWN", "local_link_from_router_0_to_node_0_32_DOWN")
	// Same blade of another chassis.
	wantRoute(t, p, "d2", "d8", 3, 1000, "local_link_from_router_1_to_node_0_34_UP",
		"black_link_in_group_0_between_chassis_0_and_1_blade_1_69_UP", "local_link_from_router_4_to_node_0_40_DOWN")
	// Another group: blade 1 of the first chassis leads to group 1 and arrives
	// at blade 0 there.
	wantRoute(t, p, "d10", "d13", 5, 1000, "local_link_from_router_5_to_node_0_42_UP",
		"green_link_in_chassis_1_between_routers_1_and_2_61_DOWN",
		"black_link_in_group_0_between_chassis_0_and_1_blade_1_69_DOWN",
		"blue_link_between_group_0_and_1_routers_1_and_6_74_UP", "local_link_from_router_6_to_node_1_45_DOWN")
}

func TestPairsAreNumberedInOrder(t *testing.T) {
	for _, n := range []int{2, 3, 7, 100} {
		i := 0
		for a := range n {
			for b := a + 1; b < n; b++ {
				x, y := pairAt(i, n)
				if pairIndex(a, b, n) != i || x != a || y != b {
					t.Fatalf("pair %d of %d is %d-%d, found as %d and %d-%d", i, n, a, b, pairIndex(a, b, n), x, y)
				}
				i++
			}
		}
	}
}
