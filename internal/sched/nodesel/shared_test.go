package nodesel

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomSites is a network of switches, each with some hosts, joined at random.
func randomSites(rnd *rand.Rand, hosts, switches int) *Network {
	n := &Network{Hosts: make([]string, hosts), Routers: make([]string, switches)}
	for h := range hosts {
		n.Links = append(n.Links, Link{A: h, B: hosts + rnd.IntN(switches), Mbps: float64(10 * (1 + rnd.IntN(3)))})
	}
	for r := 1; r < switches; r++ {
		n.Links = append(n.Links, Link{A: hosts + r, B: hosts + rnd.IntN(r), Mbps: float64(5 * (1 + rnd.IntN(8)))})
	}
	for range rnd.IntN(3) {
		if a, b := rnd.IntN(hosts), rnd.IntN(hosts+switches); a != b {
			n.Links = append(n.Links, Link{A: a, B: b, Mbps: float64(5 * (1 + rnd.IntN(8)))})
		}
	}
	return n
}

// everyShared tries every choice and looks at every link, the dumb way: what each
// set of hosts is worth at best.
func everyShared(n *Network, b *Bandwidths, p *Pattern) map[string]float64 {
	r := n.findRoutes()
	best := map[string]float64{}
	at := make([]int, 0, p.Nodes)
	var try func()
	try = func() {
		if len(at) < p.Nodes {
			for h := range n.Hosts {
				if !slices.Contains(at, h) {
					at = append(at, h)
					try()
					at = at[:len(at)-1]
				}
			}
			return
		}
		load, value := make([]float64, len(n.Links)), math.Inf(1)
		for _, h := range at {
			value = math.Min(value, b.mostOf(h))
		}
		for _, e := range p.Edges {
			if b.PairBandwidth(at[e.A], at[e.B]) == 0 {
				return
			}
			for _, l := range r.linksBetween(at[e.A], at[e.B]) {
				load[l] += e.Weight
			}
		}
		for l, w := range load {
			if w > 0 {
				value = math.Min(value, n.Links[l].Mbps/w)
			}
		}
		if value > 0 {
			best[hostSet(at)] = math.Max(best[hostSet(at)], value)
		}
	}
	try()
	return best
}

func hostSet(hosts []int) string { return fmt.Sprint(slices.Sorted(slices.Values(hosts))) }

func mostShared(n *Network, b *Bandwidths, p *Pattern) float64 {
	most := 0.0
	for _, value := range everyShared(n, b, p) {
		most = math.Max(most, value)
	}
	return most
}

func TestTheLinksOfARouteAreAsWideAsThePair(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for i := range 200 {
		n := randomSites(rnd, 2+rnd.IntN(7), 1+rnd.IntN(4))
		b, err := n.WidestBandwidths()
		if err != nil {
			t.Fatal(err)
		}
		r := n.findRoutes()
		for u := range n.Hosts {
			for v := range u {
				least := math.Inf(1)
				for _, l := range r.linksBetween(v, u) {
					least = math.Min(least, r.mbps[l])
				}
				if r.linksBetween(u, v) == nil {
					least = 0
				}
				if least != b.PairBandwidth(u, v) {
					t.Fatalf("network %d %v: the route %v of %d-%d is %g wide, the pair has %g", i, n.Links, r.linksBetween(u, v), u,
						v, least, b.PairBandwidth(u, v))
				}
			}
		}
	}
}

func TestSharedLinksAreDividedAsWellAsCanBe(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	for i := range 60 {
		n := randomSites(rnd, 3+rnd.IntN(4), 1+rnd.IntN(4))
		b, err := n.WidestBandwidths()
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			b.CapHost(rnd.IntN(len(n.Hosts)), float64(rnd.IntN(12)))
		}
		for _, p := range []*Pattern{named(t, "ring", 3), named(t, "star", 3), named(t, "all", 3),
			randomPattern(rnd, min(5, len(n.Hosts)))} {
			what := fmt.Sprintf("network %d %v, %s of %d %v", i, n.Links, p.Name, p.Nodes, p.Edges)
			want := mostShared(n, b, p)
			got, err := SelectShared(n, b, p, Options{Groups: 3})
			if want == 0 {
				if err == nil {
					t.Fatalf("%s: %v, no choice exists", what, got)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v, the best is %g", what, err, want)
			}
			if math.Abs(got.Mbps-want) > 1e-9*want || !got.Optimal || got.Bound != got.Mbps {
				t.Fatalf("%s: %+v, the best is %g", what, got, want)
			}
		}
	}
}

func TestFurtherGroupsAreTheBestWithSharedLinksToo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 11))
	reordered := false // the groups that are best without sharing are others
	for i := range 40 {
		n := randomSites(rnd, 6+rnd.IntN(3), 1+rnd.IntN(4))
		for l := range n.Links {
			n.Links[l].Mbps *= 0.5 + rnd.Float64() // hardly any two alike
		}
		b, err := n.WidestBandwidths()
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			b.CapHost(rnd.IntN(len(n.Hosts)), float64(rnd.IntN(12)))
		}
		for _, p := range []*Pattern{named(t, "ring", 4), named(t, "star", 4), named(t, "path", 4), randomPattern(rnd, 4)} {
			every := everyShared(n, b, p)
			want := slices.SortedFunc(maps.Values(every), func(x, y float64) int { return cmp.Compare(y, x) })
			got, err := SelectShared(n, b, p, Options{Groups: 5})
			if err != nil {
				if len(want) > 0 {
					t.Fatal(err)
				}
				continue
			}
			what := fmt.Sprintf("network %d %v, %s of %d %v", i, n.Links, p.Name, p.Nodes, p.Edges)
			if len(got.Groups) != min(5, len(want)) {
				t.Fatalf("%s: %d groups, there are %d", what, len(got.Groups), len(want))
			}
			seen := map[string]bool{}
			for k, g := range got.Groups {
				if math.Abs(g.Mbps-want[k]) > 1e-9*want[k] || !g.Optimal || seen[hostSet(g.Hosts)] ||
					every[hostSet(g.Hosts)] < g.Mbps*(1-1e-9) {
					t.Fatalf("%s: group %d is %+v, the best are worth %v", what, k+1, g, want)
				}
				seen[hostSet(g.Hosts)] = true
			}
			apart, err := Select(b, p, Options{Groups: len(got.Groups)})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range apart.Groups {
				reordered = reordered || every[hostSet(g.Hosts)] < want[len(apart.Groups)-1]*(1-1e-9)
			}
		}
	}
	if !reordered {
		t.Error("the groups without sharing would have done")
	}
}

func TestSharingStopsWhenTimeIsUpAndKeepsTheBound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	n := randomSites(rnd, 40, 6)
	b, err := n.WidestBandwidths()
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	stop := func() bool { steps++; return steps > 3000 }
	got, err := SelectShared(n, b, named(t, "hypercube", 16), Options{Groups: 2, Stop: stop})
	if err != nil {
		t.Fatal(err)
	}
	if got.Bound < got.Mbps || !(got.Mbps > 0) {
		t.Fatalf("%+v", got)
	}
}

func TestABusyHostCapsWhatItTakesPartIn(t *testing.T) {
	rnd := rand.New(rand.NewPCG(10, 10))
	for i := range 100 {
		b := randomBandwidths(rnd, 3+rnd.IntN(5), 0.9, 8)
		for range 1 + rnd.IntN(3) {
			b.CapHost(rnd.IntN(b.n), float64(rnd.IntN(80)))
		}
		p := randomPattern(rnd, b.n)
		want := exhaustive(b, p)
		got, err := Select(b, p, Options{Groups: 2})
		if want == 0 && err == nil || want > 0 && (err != nil || got.Mbps != want || !got.Optimal) {
			t.Fatalf("graph %d, %v, caps %v: %+v, %v; the best is %g", i, p.Edges, b.most, got, err, want)
		}
	}
}
