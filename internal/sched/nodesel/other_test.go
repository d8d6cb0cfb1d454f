package nodesel

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainMatcher is another exact method, which shares no code with Select: it
// puts the nodes on hosts one after the other and looks one step ahead, at
// which hosts are left for each of the others. It knows neither cores nor
// blocks, squares, flows or symmetry.
type plainMatcher struct {
	b     *Bandwidths
	p     *Pattern
	value float64
	at    []int
	steps int // it gives up when there are none left
}

// fits reports whether the pattern fits at a value, and whether that is known. There
// are at most 64 hosts.
func fits(b *Bandwidths, p *Pattern, value float64, steps int) (yes, known bool) {
	return fitsWith(b, p, value, -1, 0, steps)
}

// fitsWith is fits with a node, if it is not -1, on a given host.
func fitsWith(b *Bandwidths, p *Pattern, value float64, node, host, steps int) (yes, known bool) {
	m := &plainMatcher{b: b, p: p, value: value, at: make([]int, p.Nodes), steps: steps}
	left := make([]uint64, p.Nodes)
	for other := range left {
		m.at[other] = -1
		for h := range b.HostCount() {
			if b.mostOf(h) >= value && (other != node || h == host) {
				left[other] |= 1 << h
			}
		}
	}
	yes = m.place(left)
	return yes, yes || m.steps >= 0
}

func (m *plainMatcher) place(left []uint64) bool {
	next := -1
	for node, hosts := range left {
		if m.at[node] < 0 && (next < 0 || bits.OnesCount64(hosts) < bits.OnesCount64(left[next])) {
			next = node
		}
	}
	if next < 0 {
		return true
	}
	for hosts := left[next]; hosts != 0; hosts &= hosts - 1 {
		if m.steps--; m.steps < 0 {
			return false
		}
		h := bits.TrailingZeros64(hosts)
		m.at[next] = h
		if after := m.after(left, next, h); after != nil && m.place(after) {
			return true
		}
		m.at[next] = -1
	}
	return false
}

// after is which hosts are left when a node is on one; nil: none for some node.
func (m *plainMatcher) after(left []uint64, node, host int) []uint64 {
	after := slices.Clone(left)
	for other := range after {
		after[other] &^= 1 << host
	}
	for _, e := range m.p.Edges {
		other := e.B
		switch node {
		case e.A:
		case e.B:
			other = e.A
		default:
			continue
		}
		for hosts := after[other]; hosts != 0; hosts &= hosts - 1 {
			if h := bits.TrailingZeros64(hosts); m.b.PairBandwidth(h, host)/e.Weight < m.value {
				after[other] &^= 1 << h
			}
		}
	}
	for other, hosts := range after {
		if other != node && m.at[other] < 0 && hosts == 0 {
			return nil
		}
	}
	return after
}

func TestAnotherExactMethodAgreesAtAndAboveTheAnswer(t *testing.T) {
	agreed, gaveUp := 0, 0
	for i := range 24 {
		rnd := rand.New(rand.NewPCG(uint64(i), 5))
		var b *Bandwidths
		switch i % 4 {
		case 0:
			b = randomBandwidths(rnd, 24, 1, 0)
		case 1:
			b = randomBandwidths(rnd, 30, 0.4, 5)
		case 2: // dense parts, few links between them
			b = pairwise(30, func(u, v int) float64 {
				if u/6 == v/6 {
					return 500 + 500*rnd.Float64()
				}
				return 100 * rnd.Float64()
			})
		case 3:
			var err error
			if b, err = randomSites(rnd, 24, 5).WidestBandwidths(); err != nil {
				t.Fatal(err)
			}
		}
		patterns := []*Pattern{named(t, "ring", 8), named(t, "path", 10), named(t, "all", 5), named(t, "star", 7),
			named(t, "tree:2", 9), named(t, "mesh:3x3", 9),
			named(t, "mesh:3x4", 12), named(t, "torus:3x3", 9), named(t, "hypercube", 8), named(t, "butterfly", 12),
			named(t, "mesh:2x2x3", 12)}
		for _, p := range patterns[:len(patterns):len(patterns)] {
			patterns = append(patterns, weighted(rnd, p))
		}
		for _, p := range patterns {
			sel, err := Select(b, p, Options{Groups: 1})
			at, above := 0.0, math.SmallestNonzeroFloat64
			if err == nil {
				check(t, b, p, sel.Group)
				at, above = sel.Mbps, math.Nextafter(sel.Mbps, math.Inf(1))
			}
			what := fmt.Sprintf("network %d, %s of %d", i, p.Name, p.Nodes)
			if at > 0 {
				if yes, known := fits(b, p, at, 10_000); known && !yes {
					t.Errorf("%s: %g is said to be had", what, at)
				}
			}
			switch yes, known := fits(b, p, above, 10_000); {
			case yes:
				t.Errorf("%s: more than %g can be had", what, at)
			case known:
				agreed++
			default:
				gaveUp++
			}
		}
	}
	t.Logf("the other method agrees on %d answers and gave up on %d", agreed, gaveUp)
	if agreed < gaveUp {
		t.Errorf("it gave up too often: %d times, and agreed %d times", gaveUp, agreed)
	}
}
