package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestPairsThatShavingRefutesAreInNoPlacement(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 17))
	refuted, decided := 0, 0
	for i := range 60 {
		b := clusteredTable(rnd, 16+i%7)
		for _, p := range []*core.Pattern{named(t, "mesh:3x3", 9), named(t, "mesh:3x4", 12)} {
			const value = 500
			s := NewShape(p)
			e := newEmbedder(s, b.targetAt(s, value), &Meter{left: 1 << 40})
			dom := e.initialDomains()
			f := newForward(e)
			if dom == nil || f == nil {
				continue
			}
			before := cloneSets(dom)
			a, _ := f.shaveDomains(dom, i%3*200)
			if a != Unknown {
				decided++
				if fit, known := b.fitsWith(p, value, -1, 0, 30_000); known && fit != (a == Yes) {
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
					if fit, _ := b.fitsWith(p, value, q, v, 2_000); fit {
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

func TestPairsThatAreKeptAsRefutedReachNoSuchValue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 18))
	kept := 0
	for i := range 40 {
		b := clusteredTable(rnd, 16+i%7)
		p := named(t, "mesh:3x4", 12)
		s, values := NewShape(p), slices.Compact(slices.Sorted(slices.Values(b.mbps)))[1:] // without 0
		known := NewRefutedPairs(s, b.n)
		for at := 0; at < len(values); at += 1 + len(values)/24 {
			known.AskFor(at)
			part := b.targetAt(s, values[at])
			e := newEmbedder(s, part, &Meter{left: 1 << 40})
			dom := e.initialDomains()
			f := newForward(e)
			if dom == nil || f == nil || !known.leaveOut(part, dom) {
				continue
			}
			if a, _ := f.shaveDomains(dom, 0); a == Unknown {
				known.keepFrom(part, dom)
			}
		}
		for k, from := range known.from {
			if from >= len(values) {
				continue
			}
			kept++
			if fit, _ := b.fitsWith(p, values[from], k/b.n, k%b.n, 1_000); fit {
				t.Fatalf("network %d: node %d on host %d reaches %g", i, k/b.n, k%b.n, values[from])
			}
		}
	}
	if kept < 500 {
		t.Errorf("only %d pairs", kept)
	}
}
