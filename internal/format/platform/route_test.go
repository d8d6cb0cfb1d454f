package platform

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRoutesOfTheDAS3FollowItsTree(t *testing.T) {
	p := mustLoad(t, filepath.Join("..", "..", "..", "examples", "platforms", "das3.yaml"))
	wantRoute(t, p, "vu1", "vu85", 0.1, 1000, "vu1.up", "vu85.down")
	wantRoute(t, p, "mmn3", "leiden4", 0.05+0.1+0.3+0.7+0.5+0.05, 1000,
		"mmn3.up", "mmn>uva", "uva>vu", "vu>delft", "delft>leiden", "leiden4.down")
	wantRoute(t, p, "@mmn", "@delft", 1.1, 10000, "mmn>uva", "uva>vu", "vu>delft")
	wantRoute(t, p, "@vu", "uva7", 0.35, 1000, "vu>uva", "uva7.down")
	wantRoute(t, p, "uva7", "@uva", 0.05, 1000, "uva7.up")
}

func TestTheWayToItselfIsEmptyAndTakesNoTime(t *testing.T) {
	p := mustParse(t, everything)
	r, ok := p.FindRoute(RouteEnd{1, 2}, RouteEnd{1, 2})
	if !ok || len(r.Links) != 0 || r.Ms != 0 || !math.IsInf(r.Mbps, 1) || r.TransferSeconds(1e12) != 0 {
		t.Errorf("%+v, %v", r, ok)
	}
	if r := p.LoopbackRoute(RouteEnd{1, 2}); len(r.Links) != 0 {
		t.Errorf("a YAML platform has loopback links: %+v", r)
	}
}

func TestATransferTakesTheLatenciesAndTheBytesOverTheNarrowestLink(t *testing.T) {
	p := mustParse(t, everything)
	r, _ := p.FindRoute(RouteEnd{0, 0}, RouteEnd{1, 1}) // 20.3 ms, 45 Mbit/s
	if got, want := r.TransferSeconds(9_000_000), 0.0203+8*9e6/45e6; !near(got, want) {
		t.Errorf("%g s, want %g", got, want)
	}
	if got := r.Latency(); got != 20300*time.Microsecond {
		t.Errorf("latency %v", got)
	}
}

func TestClustersWithoutLinksCannotReachEachOther(t *testing.T) {
	p := mustParse(t, "clusters: [{name: a, hosts: 2}, {name: b, hosts: 1}, {name: c, hosts: 1}]\nlinks: [{a: a, b: c, "+
		"mbps: 1}]")
	for _, ends := range [][2]string{{"a1", "b1"}, {"b1", "a1"}, {"@b", "@c"}} {
		if r, ok := p.FindRoute(host(t, p, ends[0]), host(t, p, ends[1])); ok {
			t.Errorf("%v: %v", ends, linkNames(p, r))
		}
	}
	wantRoute(t, p, "a1", "a2", 0.2, 1000, "a1.up", "a2.down")
	wantRoute(t, p, "a1", "c1", 0.2, 1, "a1.up", "a>c", "c1.down")
}

const square = `
routing: shortest
clusters: [{name: a, hosts: 1}, {name: b, hosts: 1}, {name: c, hosts: 1}, {name: d, hosts: 1}]
links:
  - {a: a, b: b, mbps: 10, ms: 5}
  - {a: b, b: c, mbps: 10, ms: 5}
  - {a: a, b: d, mbps: 1, ms: 4}
  - {a: d, b: c, mbps: 1, ms: 4}
  - {a: b, b: d, mbps: 10, ms: 9}
`

func TestShortestRoutingTakesTheRouteOfLeastLatencyThenOfFewestLinks(t *testing.T) {
	p := mustParse(t, square)
	wantRoute(t, p, "@a", "@c", 8, 1, "a>d", "d>c")
	wantRoute(t, p, "@b", "@d", 9, 10, "b>d") // b-a-d and b-c-d take 9 ms too
}

func TestRoutesMayBeAskedForFromSeveralGoroutines(t *testing.T) {
	p := mustParse(t, square)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for a := range p.Clusters {
				for b := range p.Clusters {
					p.FindRoute(FrontEndOf(a), FrontEndOf(b))
				}
			}
		})
	}
	wg.Wait()
}

// The clever search against one that relaxes every link until nothing changes.
func TestShortestRoutesAreThoseOfASimpleSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "clusters")
		var b strings.Builder
		b.WriteString("routing: shortest\nclusters:\n")
		for c := range n {
			fmt.Fprintf(&b, "  - {name: c%d, hosts: 1}\n", c)
		}
		best := make([][]float64, n)
		for i := range best {
			best[i] = make([]float64, n)
			for j := range best[i] {
				if i != j {
					best[i][j] = math.Inf(1)
				}
			}
		}
		b.WriteString("links:\n")
		for i := range n {
			for j := range i {
				if ms := rapid.IntRange(-3, 9).Draw(t, "ms"); ms >= 0 {
					fmt.Fprintf(&b, "  - {a: c%d, b: c%d, mbps: 5, ms: %d}\n", i, j, ms)
					best[i][j], best[j][i] = float64(ms), float64(ms)
				}
			}
		}
		for range n {
			for i := range n {
				for j := range n {
					for k := range n {
						best[i][j] = min(best[i][j], best[i][k]+best[k][j])
					}
				}
			}
		}
		p, err := Parse("p.yaml", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range n {
				r, ok := p.FindRoute(FrontEndOf(i), FrontEndOf(j))
				if ok != !math.IsInf(best[i][j], 1) || ok && r.Ms != best[i][j] {
					t.Fatalf("%d → %d: %g ms (%v), want %g\n%s", i, j, r.Ms, ok, best[i][j], b.String())
				}
				wantConnected(t, p, r, i, j)
			}
		}
	})
}

// wantConnected checks that the links of a route between clusters, named from>to,
// follow each other.
func wantConnected(t *rapid.T, p *Platform, r Route, from, to int) {
	if len(r.Links) == 0 {
		return
	}
	at := p.Clusters[from].Name
	for _, name := range linkNames(p, r) {
		a, b, _ := strings.Cut(name, ">")
		if a != at {
			t.Fatalf("link %s does not begin at %s: %v", name, at, linkNames(p, r))
		}
		at = b
	}
	if at != p.Clusters[to].Name {
		t.Fatalf("the route ends at %s: %v", at, linkNames(p, r))
	}
}

func TestManyClustersInOneTreeAreReadQuickly(t *testing.T) {
	var b strings.Builder
	b.WriteString("clusters:\n")
	const n = 5000
	for c := range n {
		fmt.Fprintf(&b, "- {name: c%d, hosts: 1}\n", c)
	}
	b.WriteString("links:\n")
	for c := 1; c < n; c++ {
		fmt.Fprintf(&b, "- {a: c%d, b: c%d, mbps: 1, ms: 1}\n", c, c/2)
	}
	p := mustParse(t, b.String())
	// In binary 1001110000111 and 1000000000000: both lie ten below cluster 100.
	r, ok := p.FindRoute(FrontEndOf(4999), FrontEndOf(4096))
	if !ok || r.Ms != float64(len(r.Links)) || len(r.Links) != 2*10 {
		t.Errorf("%d links, %v", len(r.Links), ok)
	}
}
