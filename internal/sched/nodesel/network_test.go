package nodesel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestThePathOfAPairPassesRoutersButNoOtherHost(t *testing.T) {
	n := &Network{Hosts: []string{"a", "b", "c"}, Routers: []string{"r", "s"}, Links: []Link{
		{A: 0, B: 1, Mbps: 100}, {A: 1, B: 2, Mbps: 100}, // a-b-c, over a host
		{A: 0, B: 3, Mbps: 50}, {A: 3, B: 4, Mbps: 20}, {A: 4, B: 2, Mbps: 60}, // a-r-s-c
		{A: 0, B: 1, Mbps: 7}, // beside a better one
	}}
	b, err := n.WidestBandwidths()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		u, v int
		want float64
	}{{0, 1, 100}, {1, 2, 100}, {0, 2, 20}, {2, 0, 20}} {
		if got := b.PairBandwidth(c.u, c.v); got != c.want {
			t.Errorf("pair %d-%d has %g, want %g", c.u, c.v, got, c.want)
		}
	}
}

func TestTheLatencyOfAPairIsThatOfItsWidestPath(t *testing.T) {
	n := &Network{Hosts: []string{"a", "b", "c", "d"}, Routers: []string{"r", "s"}, Links: []Link{
		{A: 0, B: 4, Mbps: 50, Ms: 0.25}, {A: 4, B: 5, Mbps: 20, Ms: 4}, {A: 5, B: 1, Mbps: 60, Ms: 0.5}, // a-r-s-b
		{A: 0, B: 1, Mbps: 10, Ms: 0.1},                              // quick, but narrow
		{A: 2, B: 4, Mbps: 20, Ms: 9}, {A: 2, B: 5, Mbps: 20, Ms: 1}, // c has two ways to b that are equally wide
		{A: 2, B: 1, Mbps: 20, Ms: 3}, // and a third
	}}
	b, ms, err := n.WidestLatencies()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		u, v     int
		mbps, ms float64
	}{{0, 1, 20, 4.75}, {1, 0, 20, 4.75}, {1, 2, 20, 1.5}, {2, 1, 20, 1.5}, {0, 3, 0, 0}} {
		if b.PairBandwidth(c.u, c.v) != c.mbps || ms(c.u, c.v) != c.ms {
			t.Errorf("pair %d-%d has %g Mbit/s and %g ms, want %g and %g", c.u, c.v, b.PairBandwidth(c.u, c.v), ms(c.u, c.v),
				c.mbps, c.ms)
		}
	}
	direct := &Network{Hosts: []string{"a", "b"}, Links: []Link{{A: 0, B: 1, Mbps: 7}}}
	if _, ms, err := direct.WidestLatencies(); err != nil || ms(0, 1) != 0 {
		t.Errorf("%g ms, %v", ms(0, 1), err)
	}
}

// closure is the dumb twin of the widest paths: better paths over routers are
// put together until there are none.
func closure(n *Network) [][]float64 {
	all := len(n.Hosts) + len(n.Routers)
	best := make([][]float64, all)
	for i := range best {
		best[i] = make([]float64, all)
	}
	for _, l := range n.Links {
		best[l.A][l.B] = math.Max(best[l.A][l.B], l.Mbps)
		best[l.B][l.A] = best[l.A][l.B]
	}
	for k := len(n.Hosts); k < all; k++ {
		for i := range all {
			for j := range all {
				if i != j {
					best[i][j] = math.Max(best[i][j], math.Min(best[i][k], best[k][j]))
				}
			}
		}
	}
	return best
}

func TestWidestPathsEqualTheClosureOverRouters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		n := &Network{Hosts: make([]string, 2+rnd.IntN(6)), Routers: make([]string, rnd.IntN(6))}
		all := len(n.Hosts) + len(n.Routers)
		for range rnd.IntN(3 * all) {
			if a, b := rnd.IntN(all), rnd.IntN(all); a != b {
				n.Links = append(n.Links, Link{A: a, B: b, Mbps: float64(1 + rnd.IntN(20))})
			}
		}
		got, err := n.WidestBandwidths()
		if err != nil {
			t.Fatal(err)
		}
		want := closure(n)
		for u := range n.Hosts {
			for v := range n.Hosts {
				if u != v && got.PairBandwidth(u, v) != want[u][v] {
					t.Fatalf("%v: pair %d-%d has %g, want %g", n.Links, u, v, got.PairBandwidth(u, v), want[u][v])
				}
			}
		}
	}
}

func TestLinksThatCannotBeAreRefused(t *testing.T) {
	for _, l := range []Link{{0, 9, 1, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}, {0, 1, -1, 0}, {0, 1, math.NaN(), 0},
		{0, 1, math.Inf(1), 0}} {
		n := &Network{Hosts: []string{"a", "b"}, Links: []Link{l}}
		if _, err := n.WidestBandwidths(); err == nil {
			t.Errorf("link %v is accepted", l)
		}
	}
}

func TestSortingByDigitsSorts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for n := range 200 {
		list := make([]float64, n)
		for i := range list {
			list[i] = math.Exp(20 * rnd.NormFloat64())
		}
		want := slices.Sorted(slices.Values(list))
		if got := radixSorted(list); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
