package nodesel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

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
		// Time is up at once, or after a while: what is returned is improved.
		for _, questions := range []int{0, 10, 100} {
			sel, err := Select(b, p, Options{Groups: 1, Stop: stopAfter(questions)})
			if err != nil {
				t.Fatal(err)
			}
			for node := range sel.Hosts {
				for h := range b.HostCount() {
					hosts := movedNode(sel.Hosts, node, h)
					if x := choiceValue(b, p, hosts); x > sel.Mbps {
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

// Two dense halves with few pairs between them: whether a mesh fits is a question of
// which pairs those are.
func TestMeshesAcrossAThinCutAreProven(t *testing.T) {
	fitted := 0
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		between := 2 + rnd.IntN(5)
		b := pairwise(16, func(u, v int) float64 {
			if (u < 8) == (v < 8) && rnd.Float64() < 0.85 {
				return 500 + 500*rnd.Float64()
			}
			return rnd.Float64()
		})
		for range between {
			b.RaisePair(rnd.IntN(8), 8+rnd.IntN(8), 400+100*rnd.Float64())
		}
		p := named(t, "mesh:3x4", 12)
		sel, err := Select(b, p, Options{Groups: 1})
		if err != nil || !sel.Optimal {
			t.Fatalf("seed %d: %+v, %v", seed, sel, err)
		}
		check(t, b, p, sel.Group)
		if sel.Mbps >= 400 {
			fitted++
		}
		if yes, known := fits(b, p, sel.Mbps*(1+1e-12), 5_000); known && yes {
			t.Errorf("seed %d: more than %g can be had", seed, sel.Mbps)
		}
	}
	if fitted == 0 || fitted == 40 {
		t.Errorf("%d of 40 fit across the cut: all networks are alike", fitted)
	}
}
