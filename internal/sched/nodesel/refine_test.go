package nodesel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pairTime is what all pairs of a choice need together.
func pairTime(b *Bandwidths, p *Pattern, hosts []int) float64 {
	sum := 0.0
	for _, e := range p.Edges {
		sum += e.Weight / b.PairBandwidth(hosts[e.A], hosts[e.B])
	}
	return sum
}

// quickest is the dumb twin of refine: the least time of all choices with a value.
func quickest(b *Bandwidths, p *Pattern, value float64) float64 {
	least := math.Inf(1)
	hosts := make([]int, p.Nodes)
	var try func(i int, used uint)
	try = func(i int, used uint) {
		if i == p.Nodes {
			if choiceValue(b, p, hosts) >= value {
				least = math.Min(least, pairTime(b, p, hosts))
			}
			return
		}
		for h := range b.HostCount() {
			if used>>h&1 == 0 {
				hosts[i] = h
				try(i+1, used|1<<h)
			}
		}
	}
	try(0, 0)
	return least
}

func TestOfEqualChoicesAQuickOneIsTaken(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 15))
	first, all := 0, 0
	for range 80 {
		b := randomBandwidths(rnd, 7, 1, 4)
		p := randomPattern(rnd, 5)
		sel, err := Select(b, p, Options{Groups: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range sel.Groups {
			check(t, b, p, g)
		}
		want, got := quickest(b, p, sel.Mbps), pairTime(b, p, sel.Hosts)
		if got < want*(1-1e-9) || got > 1.3*want {
			t.Errorf("%s: %v take %g, the quickest with this value %g", p.Name, sel.Hosts, got, want)
		}
		if all++; got <= want*(1+1e-9) {
			first++
		}
	}
	if first < all*8/10 { // moves one at a time do not always find the best
		t.Errorf("%d of %d choices are the quickest", first, all)
	}
}

func TestGroupsStayDifferentWhenTheyAreMadeQuicker(t *testing.T) {
	rnd := rand.New(rand.NewPCG(16, 16))
	for range 50 {
		b := randomBandwidths(rnd, 8, 1, 2)
		sel, err := Select(b, named(t, "ring", 4), Options{Groups: 6})
		if err != nil {
			t.Fatal(err)
		}
		var sets [][]int
		for _, g := range sel.Groups {
			set := slices.Sorted(slices.Values(g.Hosts))
			if slices.ContainsFunc(sets, func(other []int) bool { return slices.Equal(set, other) }) {
				t.Fatalf("%v twice", set)
			}
			sets = append(sets, set)
		}
	}
}

func TestRoundingMakesAlikeWhatIsClose(t *testing.T) {
	b := NewBandwidths(4)
	b.RaisePair(0, 1, 100)
	b.RaisePair(0, 2, 101)
	b.RaisePair(1, 2, 120)
	b.CapHost(0, 50)
	r := b.RoundedDown(0.05)
	if x, y, z := r.PairBandwidth(0, 1), r.PairBandwidth(0, 2), r.PairBandwidth(2, 1); x != y || z <= y || x > 100 ||
		x < 100/1.05 || r.PairBandwidth(0, 3) != 0 || r.mostOf(0) != 50 {
		t.Errorf("%g %g %g", x, y, z)
	}
	if b.PairBandwidth(0, 2) != 101 {
		t.Error("the table itself was changed")
	}
	for _, step := range []float64{1e-12, 1e-300, 5e-324} {
		if x := b.RoundedDown(step).PairBandwidth(0, 2); math.Abs(x-101) > 1e-6 {
			t.Errorf("with steps of %g: %g", step, x)
		}
	}
}
