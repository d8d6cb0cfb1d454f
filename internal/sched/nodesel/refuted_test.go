package nodesel

import (
	"math/rand/v2"
	"testing"
)

// clusteredNetwork is clusteredGraph with bandwidths: its pairs have some, the others less.
func clusteredNetwork(rnd *rand.Rand, n int) *Bandwidths {
	g := clusteredGraph(rnd, n)
	return pairwise(n, func(u, v int) float64 {
		if g.adj[u].has(v) {
			return 500 + float64(rnd.IntN(500))
		}
		return 1 + float64(rnd.IntN(400))
	})
}

func TestPairsThatShavingRefutesAreInNoPlacement(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 17))
	refuted, decided := 0, 0
	for i := range 60 {
		b := clusteredNetwork(rnd, 16+i%7)
		for _, p := range []*Pattern{named(t, "mesh:3x3", 9), named(t, "mesh:3x4", 12)} {
			const value = 500
			s := newShape(p)
			e := newEmbedder(s, thresholdTarget(b, identityImage(b.n), s, value), &meter{left: 1 << 40})
			dom := e.initialDomains()
			f := newForward(e)
			if dom == nil || f == nil {
				continue
			}
			before := cloneSets(dom)
			a, _ := f.shaveDomains(dom, i%3*200)
			if a != unknown {
				decided++
				if fit, known := fits(b, p, value, 30_000); known && fit != (a == yes) {
					t.Fatalf("network %d, %s: shaving says %d", i, p.Name, a)
				}
				continue
			}
			for q := range dom {
				for v := before[q].first(); v >= 0; v = before[q].next(v) {
					if dom[q].has(v) {
						continue
					}
					refuted++
					if fit, _ := fitsWith(b, p, value, q, v, 2_000); fit {
						t.Fatalf("network %d, %s: node %d can be on host %d", i, p.Name, q, v)
					}
				}
			}
		}
	}
	if refuted < 50 || decided < 5 {
		t.Errorf("%d pairs refuted and %d graphs decided: the networks are too easy", refuted, decided)
	}
}

func TestPairsThatASelectionRefutesReachNoSuchValue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 18))
	kept := 0
	for i := range 40 {
		b := clusteredNetwork(rnd, 16+i%7)
		p := named(t, "mesh:3x4", 12)
		q := newSearch(b, newShape(p), Options{})
		q.chooseGreedily()
		for at := q.low + 1; at < len(q.values); at += 1 + len(q.values)/12 {
			q.known.at = at
			part := q.targetAt(at)
			e := newEmbedder(q.s, part, &meter{left: 1 << 40})
			dom := e.initialDomains()
			f := newForward(e)
			if dom == nil || f == nil || !q.known.leaveOut(part, dom) {
				continue
			}
			if a, _ := f.shaveDomains(dom, 0); a == unknown {
				q.known.keepFrom(part, dom)
			}
		}
		for k, from := range q.known.from {
			if from >= len(q.values) {
				continue
			}
			kept++
			if fit, _ := fitsWith(b, p, q.values[from], k/b.n, k%b.n, 1_000); fit {
				t.Fatalf("network %d: node %d on host %d reaches %g", i, k/b.n, k%b.n, q.values[from])
			}
		}
	}
	if kept < 500 {
		t.Errorf("only %d pairs", kept)
	}
}
