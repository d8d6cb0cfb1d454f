package platform

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// graph draws a zone of hosts h0 … with routes of one to three links, named by
// their ends and a number.
func graph(t *rapid.T, routing string, n int, routes [][3]int) *Platform {
	var b strings.Builder
	fmt.Fprintf(&b, `<platform version="4.1"><zone id="z" routing="%s">`, routing)
	for h := range n {
		fmt.Fprintf(&b, `<host id="h%d" speed="1Gf"/>`, h)
	}
	for _, r := range routes {
		for k := range r[2] {
			fmt.Fprintf(&b, `<link id="%d_%d_%d" bandwidth="1Gbps" latency="1ms"/>`, r[0], r[1], k)
		}
	}
	for _, r := range routes {
		fmt.Fprintf(&b, `<route src="h%d" dst="h%d" symmetrical="NO">`, r[0], r[1])
		for k := range r[2] {
			fmt.Fprintf(&b, `<link_ctn id="%d_%d_%d"/>`, r[0], r[1], k)
		}
		b.WriteString("</route>")
	}
	b.WriteString("</zone></platform>")
	p, err := Parse("p.xml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Floyd and Dijkstra zones against a search that tries until nothing changes.
func TestFloydAndDijkstraZonesCrossTheFewestLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "hosts")
		var routes [][3]int
		best := make([][]int, n)
		const far = 1000
		for a := range n {
			best[a] = make([]int, n)
			for b := range n {
				best[a][b] = far
				if links := rapid.IntRange(-5, 3).Draw(t, "links"); a != b && links > 0 {
					routes = append(routes, [3]int{a, b, links})
					best[a][b] = links
				}
			}
		}
		for range n {
			for a := range n {
				for b := range n {
					for c := range n {
						best[a][b] = min(best[a][b], best[a][c]+best[c][b])
					}
				}
			}
		}
		for _, routing := range []string{"Floyd", "Dijkstra", "DijkstraCache"} {
			p := graph(t, routing, n, routes)
			for a := range n {
				for b := range n {
					if a == b {
						continue
					}
					r, ok := p.FindRoute(RouteEnd{0, a}, RouteEnd{0, b})
					if ok != (best[a][b] < far) || ok && len(r.Links) != best[a][b] {
						t.Fatalf("%s: h%d → h%d over %v (%v), want %d links", routing, a, b, linkNames(p, r), ok, best[a][b])
					}
					wantChain(t, p, r, a, b)
				}
			}
		}
	})
}

// wantChain checks that the links of a route, named from_to_number, follow each
// other.
func wantChain(t *rapid.T, p *Platform, r Route, from, to int) {
	at := from
	for i, name := range linkNames(p, r) {
		n, _ := numbersOf(name)
		if n[2] == 0 {
			if n[0] != at {
				t.Fatalf("link %d of %v does not begin at h%d", i, linkNames(p, r), at)
			}
			at = n[1]
		}
	}
	if len(r.Links) > 0 && at != to {
		t.Fatalf("%v ends at h%d, want h%d", linkNames(p, r), at, to)
	}
}

// A zone too large for Floyd's algorithm is routed all the same.
func TestLargeFloydZonesAreRoutedToo(t *testing.T) {
	const n = floydSize + 50
	var b strings.Builder
	b.WriteString(`<platform version="4.1"><zone id="z" routing="Floyd">`)
	for h := range n {
		fmt.Fprintf(&b, `<host id="h%d" speed="1Gf"/><link id="l%d" bandwidth="1Gbps" latency="1ms"/>`, h, h)
	}
	for h := range n - 1 {
		fmt.Fprintf(&b, `<route src="h%d" dst="h%d"><link_ctn id="l%d"/></route>`, h, h+1, h)
	}
	b.WriteString("</zone></platform>")
	p, err := Parse("p.xml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	r, ok := p.FindRoute(RouteEnd{0, n - 1}, RouteEnd{0, 0})
	if !ok || len(r.Links) != n-1 || r.Ms != n-1 {
		t.Errorf("%d links, %g ms, %v", len(r.Links), r.Ms, ok)
	}
}
