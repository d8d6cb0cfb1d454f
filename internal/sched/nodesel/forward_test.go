package nodesel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// clusteredGraph has dense groups, with a pair missing here and there, and hosts
// between them.
func clusteredGraph(rnd *rand.Rand, n int) *graph {
	g := newGraph(n)
	for u := range n {
		for v := range u {
			density := 0.08 + 0.02*float64(n%7)
			if u/7 == v/7 && u/7 < 2 {
				density = 0.9
			}
			if rnd.Float64() < density {
				g.joinPair(u, v)
			}
		}
	}
	return g
}

func TestForwardSearchAgreesWithTheSearchHostByHost(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 14))
	patterns := []*Pattern{named(t, "mesh:3x3", 9), named(t, "mesh:3x4", 12), named(t, "mesh:4x4", 16),
		named(t, "mesh:2x5", 10), named(t, "mesh:2x2x3", 12)}
	found := map[answer]int{}
	for i := range 60 {
		g := clusteredGraph(rnd, 16+i%7)
		for _, p := range patterns {
			s := newShape(p)
			e := newEmbedder(s, &target{hosts: identityImage(g.n), class: []*graph{g}}, &meter{left: 1 << 40})
			dom := e.initialDomains()
			f := newForward(e)
			if dom == nil || f == nil {
				continue
			}
			f.patience *= i % 2 // every second search shaves wherever it can
			a, at := f.decideWithRestarts(cloneSets(dom))
			if want, _ := e.runOnce(dom, 1<<30, nil, false); a != want {
				t.Fatalf("graph %d, %s of %d: %d, the other search says %d", i, p.Name, p.Nodes, a, want)
			}
			found[a]++
			if a != yes {
				continue
			}
			used := newSet(g.n)
			for _, v := range at {
				if used.has(v) {
					t.Fatalf("graph %d, %s: host %d twice", i, p.Name, v)
				}
				used.add(v)
			}
			for _, edge := range p.Edges {
				if !g.adj[at[edge.A]].has(at[edge.B]) {
					t.Fatalf("graph %d, %s: %d-%d is no pair", i, p.Name, at[edge.A], at[edge.B])
				}
			}
		}
	}
	if found[yes] < 20 || found[no] < 20 {
		t.Errorf("too few of a kind: %v", found)
	}
}

func cloneSets(sets []set) []set {
	var clones []set
	for _, s := range sets {
		clones = append(clones, slices.Clone(s))
	}
	return clones
}

// stopAfter is a limit of time that ends after so many questions.
func stopAfter(questions int) func() bool {
	return func() bool {
		questions--
		return questions < 0
	}
}

func TestNoChoiceThatOneMoveImprovesIsLeft(t *testing.T) {
	for seed := range uint64(10) {
		b := cloudRegions(rand.New(rand.NewPCG(seed, 3)))
		p := named(t, "mesh:4x5", 20)
		s := newShape(p)
		// Time is up at once, or after a while: what is returned is improved.
		for _, questions := range []int{0, 10, 100} {
			sel, err := Select(b, p, Options{Groups: 1, Stop: stopAfter(questions)})
			if err != nil {
				t.Fatal(err)
			}
			for node := range sel.Hosts {
				for h := range b.HostCount() {
					hosts := movedNode(sel.Hosts, node, h)
					if x := choiceValue(b, s, hosts); x > sel.Mbps {
						t.Fatalf("seed %d: %g, with node %d on host %d it is %g", seed, sel.Mbps, node, h, x)
					}
				}
			}
		}
	}
}

// movedNode is a choice with a node on another host, whose node comes in its place.
func movedNode(hosts []int, node, host int) []int {
	moved := slices.Clone(hosts)
	if other := slices.Index(hosts, host); other >= 0 {
		moved[other] = hosts[node]
	}
	moved[node] = host
	return moved
}

// climbPlainly is a simple local search: moves by chance, of which those stay that make no
// pair slower than the slowest and do not add to the slowest ones.
func climbPlainly(rnd *rand.Rand, b *Bandwidths, p *Pattern, hosts []int, moves int) float64 {
	worth := func(hosts []int) (least float64, slowest int) {
		least = math.Inf(1)
		for _, e := range p.Edges {
			switch x := b.PairBandwidth(hosts[e.A], hosts[e.B]) / e.Weight; {
			case x < least:
				least, slowest = x, 1
			case x == least:
				slowest++
			}
		}
		return least, slowest
	}
	value, slowest := worth(hosts)
	for range moves {
		moved := movedNode(hosts, rnd.IntN(p.Nodes), rnd.IntN(b.HostCount()))
		if v, n := worth(moved); v > value || v == value && n <= slowest {
			hosts, value, slowest = moved, v, n
		}
	}
	return value
}

func TestASimpleLocalSearchFindsNothingBetterThanWhatIsLeftAtTheEndOfTime(t *testing.T) {
	for seed := range uint64(6) {
		b := cloudRegions(rand.New(rand.NewPCG(seed, 71)))
		p := named(t, "mesh:5x5", 25)
		for _, questions := range []int{0, 30} {
			sel, err := Select(b, p, Options{Groups: 1, Stop: stopAfter(questions)})
			if err != nil {
				t.Fatal(err)
			}
			check(t, b, p, sel.Group)
			if x := climbPlainly(rand.New(rand.NewPCG(seed, 1)), b, p, sel.Hosts, 20_000); x > sel.Mbps {
				t.Errorf("seed %d, %d questions: %g of at most %g; a simple search from there finds %g", seed, questions,
					sel.Mbps, sel.Bound, x)
			}
		}
	}
}

// Nodes of the search tree are counted by the questions whether time is up, so that the machine
// does not matter.
func TestMeshesThatNeedNearlyAllHostsAreProven(t *testing.T) {
	for _, c := range []struct {
		name      string
		b         *Bandwidths
		questions int
	}{
		{"46 hosts", cloudRegions(rand.New(rand.NewPCG(0, 71))), 2000},
		{"36 of 87 hosts are left", cloudRegions(rand.New(rand.NewPCG(31, 71))), 1500},
		{"39 of 72 hosts in four groups are left", madeRegions(rand.New(rand.NewPCG(19, 72))), 1500},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := named(t, "mesh:6x6", 36)
			sel, err := Select(c.b, p, Options{Groups: 1, Stop: stopAfter(c.questions)})
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.b, p, sel.Group)
			if !sel.Optimal {
				t.Errorf("%g of at most %g", sel.Mbps, sel.Bound)
			}
		})
	}
}
