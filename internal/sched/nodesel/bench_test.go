package nodesel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkAsked measures what is asked for: the time to a proven optimum, at
// most 2 s, and how far the answer after 100 ms is from its bound, at most 5 %.
// Random networks are drawn 20 times.
func BenchmarkAsked(b *testing.B) {
	const draws = 20
	random := func(hosts int) []*Bandwidths {
		nets := make([]*Bandwidths, draws)
		for i := range nets {
			nets[i] = randomBandwidths(rand.New(rand.NewPCG(uint64(hosts), uint64(i+1))), hosts, 1, 0)
		}
		return nets
	}
	ask := func(nets []*Bandwidths, p *Pattern) {
		c := largeCase{nets[0], p}
		b.Run(c.String(), func(b *testing.B) { sweep(b, nets, p) })
	}
	hosts200 := random(200)
	for _, p := range []*Pattern{named(b, "all", 8), named(b, "ring", 16), named(b, "mesh:4x4", 16),
		named(b, "hypercube", 16)} {
		ask(hosts200, p)
	}
	hosts1000 := random(1000)
	for _, p := range []*Pattern{named(b, "ring", 64), named(b, "tree:2", 64)} {
		ask(hosts1000, p)
	}
	clouds := []*Bandwidths{regions(b)}
	for _, c := range regionCases {
		ask(clouds, named(b, c.name, c.m))
	}
	ask(clouds, named(b, "mesh:6x6", 36))
}

// BenchmarkMeshes shows how long a proof takes for every mesh up to 6×6 on matrices
// like that of the cloud regions, and how many are proven within 2 s of CPU time.
// GODWIT_SEEDS says on how many matrices.
func BenchmarkMeshes(b *testing.B) {
	const allowed = 2 * time.Second
	seeds := benchSeeds(4)
	for r := 2; r <= 6; r++ {
		for c := r; c <= 6; c++ {
			p := named(b, fmt.Sprintf("mesh:%dx%d", r, c), r*c)
			b.Run(fmt.Sprintf("%dx%d", r, c), func(b *testing.B) {
				var times []float64
				proven, gap := 0, 0.0
				for seed := range seeds {
					net := cloudRegions(rand.New(rand.NewPCG(uint64(seed), 71)))
					start := cpuTime()
					sel, err := Select(net, p, Options{Groups: 1, Stop: func() bool { return cpuTime()-start > allowed }})
					if err != nil {
						b.Fatalf("seed %d: %v", seed, err)
					}
					times = append(times, (cpuTime() - start).Seconds())
					if gap = max(gap, 100*(1-sel.Mbps/sel.Bound)); sel.Optimal {
						proven++
					} else {
						b.Logf("seed %d, %d regions: %g to %g", seed, net.HostCount(), sel.Mbps, sel.Bound)
					}
				}
				slices.Sort(times)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(1000*times[len(times)/2], "ms-median")
				b.ReportMetric(1000*times[len(times)*99/100], "ms-p99")
				b.ReportMetric(1000*times[len(times)-1], "ms-worst")
				b.ReportMetric(100*float64(proven)/float64(seeds), "%proven")
				b.ReportMetric(gap, "%gap")
			})
		}
	}
}

// BenchmarkSize shows how the cost grows with the network.
func BenchmarkSize(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400, 800} {
		net := randomBandwidths(rand.New(rand.NewPCG(uint64(n), 1)), n, 1, 0)
		b.Run(fmt.Sprintf("ring of 16 on %d hosts", n), func(b *testing.B) {
			p := named(b, "ring", 16)
			for b.Loop() {
				if _, err := Select(net, p, Options{Groups: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
