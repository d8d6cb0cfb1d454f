package nodesel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// family makes networks of one kind by chance.
type family struct {
	name string
	make func(rnd *rand.Rand) *Bandwidths
}

func families() []family {
	uniform := func(rnd *rand.Rand) float64 { return 1 + 999*rnd.Float64() }
	return []family{
		{"random", func(rnd *rand.Rand) *Bandwidths { return randomBandwidths(rnd, 200, 1, 0) }},
		{"ties", func(rnd *rand.Rand) *Bandwidths { return randomBandwidths(rnd, 100, 1, 6) }},
		{"powers of two", func(rnd *rand.Rand) *Bandwidths {
			return pairwise(100, func(_, _ int) float64 { return math.Exp2(math.Floor(rnd.ExpFloat64())) })
		}},
		{"sparse", func(rnd *rand.Rand) *Bandwidths { return randomBandwidths(rnd, 150, 0.06, 0) }},
		{"clusters", func(rnd *rand.Rand) *Bandwidths {
			return pairwise(96, func(u, v int) float64 {
				if u/12 == v/12 {
					return 500 + uniform(rnd)/2
				}
				return uniform(rnd) / 10
			})
		}},
		{"uneven clusters", func(rnd *rand.Rand) *Bandwidths {
			of, inside := make([]int, 120), make([]float64, 20)
			for h := range of {
				of[h] = rnd.IntN(len(inside))
			}
			for c := range inside {
				inside[c] = 300 + 700*rnd.Float64()
			}
			return pairwise(120, func(u, v int) float64 {
				if of[u] == of[v] {
					return inside[of[u]] * (0.8 + 0.4*rnd.Float64())
				}
				return 20 + uniform(rnd)/4
			})
		}},
		{"geometric", func(rnd *rand.Rand) *Bandwidths {
			x, y := make([]float64, 150), make([]float64, 150)
			for h := range x {
				x[h], y[h] = rnd.Float64(), rnd.Float64()
			}
			return pairwise(150, func(u, v int) float64 { return 1000 / (1 + 10*math.Hypot(x[u]-x[v], y[u]-y[v])) })
		}},
		{"geometric, noisy", func(rnd *rand.Rand) *Bandwidths {
			x, y := make([]float64, 100), make([]float64, 100)
			for h := range x {
				x[h], y[h] = rnd.Float64(), rnd.Float64()
			}
			return pairwise(100, func(u, v int) float64 {
				return 1000 / (1 + 10*math.Hypot(x[u]-x[v], y[u]-y[v])) * math.Exp(0.4*rnd.NormFloat64())
			})
		}},
		{"access links", func(rnd *rand.Rand) *Bandwidths {
			own := make([]float64, 150)
			for h := range own {
				own[h] = uniform(rnd)
			}
			return pairwise(150, func(u, v int) float64 { return math.Min(own[u], own[v]) * (0.7 + 0.3*rnd.Float64()) })
		}},
		{"routers", func(rnd *rand.Rand) *Bandwidths {
			n := randomSites(rnd, 120, 15)
			for i := range n.Links {
				n.Links[i].Mbps = math.Ceil(uniform(rnd))
			}
			b, err := n.WidestBandwidths()
			if err != nil {
				panic(err)
			}
			return b
		}},
		{"two sides", func(rnd *rand.Rand) *Bandwidths { // fast between sides only
			return pairwise(100, func(u, v int) float64 {
				if u%2 != v%2 {
					return 300 + uniform(rnd)
				}
				return uniform(rnd) / 3
			})
		}},
	}
}

func pairwise(n int, mbps func(u, v int) float64) *Bandwidths {
	b := NewBandwidths(n)
	for u := range n {
		for v := range u {
			b.RaisePair(u, v, mbps(u, v))
		}
	}
	return b
}

// sweepPatterns are of all kinds.
var sweepPatterns = []struct {
	name string
	m    int
}{
	{"ring", 8}, {"ring", 16}, {"ring", 32}, {"path", 16}, {"path", 40}, {"all", 8}, {"all", 12}, {"star", 16},
	{"tree:2", 15}, {"tree:2", 31}, {"tree:3", 40},
	{"mesh:3x3", 9}, {"mesh:4x4", 16}, {"mesh:5x5", 25}, {"mesh:2x3x4", 24}, {"torus:4x4", 16}, {"torus:3x5", 15},
	{"hypercube", 8}, {"hypercube", 16}, {"butterfly", 12}, {"butterfly", 32},
}

// BenchmarkFamilies shows the worst time to a proof, and the widest gap after
// 100 ms, over networks of many kinds. GODWIT_SEEDS says over how many of each.
func BenchmarkFamilies(b *testing.B) {
	seeds := benchSeeds(3)
	for _, f := range families() {
		nets := make([]*Bandwidths, seeds)
		for i := range nets {
			nets[i] = f.make(rand.New(rand.NewPCG(uint64(i), 77)))
		}
		for _, c := range sweepPatterns {
			b.Run(fmt.Sprintf("%s/%s of %d", f.name, c.name, c.m), func(b *testing.B) { sweep(b, nets, named(b, c.name, c.m)) })
		}
	}
}

// benchSeeds is how many networks of a kind are drawn.
func benchSeeds(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("GODWIT_SEEDS")); err == nil && n > 0 {
		return n
	}
	return usual
}

// cloudRegions is a matrix like those measured between the regions of cloud providers: 40
// to 90 of them. Machines of one provider have a low limit and all come close to it; those
// of another have a high one among themselves; a third's depend on the distance. Between
// providers the lower limit counts. Of the two directions the worse counts, and a few
// pairs were not measured.
func cloudRegions(rnd *rand.Rand) *Bandwidths {
	n := 40 + rnd.IntN(51)
	provider, x, y := make([]int, n), make([]float64, n), make([]float64, n)
	for h := range n {
		provider[h], x[h], y[h] = rnd.IntN(3), 2*rnd.Float64(), rnd.Float64()
	}
	limit := [3]float64{5_000, 14_000 + 4_000*rnd.Float64(), 7_000 + 2_000*rnd.Float64()}
	reach := [3]float64{0.1, 0.15, 0.3 + 0.2*rnd.Float64()} // what distance takes
	missing := 0.03 * rnd.Float64()
	return pairwise(n, func(u, v int) float64 {
		if rnd.Float64() < missing {
			return 0
		}
		a, b := provider[u], provider[v]
		away := math.Hypot(x[u]-x[v], y[u]-y[v])
		best := math.Min(limit[a], limit[b]) * math.Exp(-away*math.Max(reach[a], reach[b]))
		if a != b {
			best *= 1 - 0.3*rnd.Float64()
		}
		noise := func() float64 { return math.Exp(0.06 * rnd.NormFloat64()) }
		return math.Round(1000*best*math.Min(noise(), noise())) / 1000
	})
}

// madeRegions is a matrix of the same kind made in another way: 40 to 80 regions of one to five
// providers, of unequal size, on two to six continents, with more or less noise and up to 8 % of
// the pairs missing.
func madeRegions(rnd *rand.Rand) *Bandwidths {
	n, providers, continents := 40+rnd.IntN(41), 1+rnd.IntN(5), 2+rnd.IntN(5)
	limit, reach := make([]float64, providers), make([]float64, providers)
	for p := range providers {
		limit[p], reach[p] = 2_000*math.Exp(2.2*rnd.Float64()), 0.6*rnd.Float64()
	}
	centre := make([][2]float64, continents)
	for c := range centre {
		centre[c] = [2]float64{2 * rnd.Float64(), rnd.Float64()}
	}
	noise, missing, across, spread := 0.02+0.1*rnd.Float64(), 0.08*rnd.Float64(), 0.5*rnd.Float64(), 0.3*rnd.Float64()
	provider, x, y := make([]int, n), make([]float64, n), make([]float64, n)
	for h := range n {
		provider[h] = min(rnd.IntN(providers), rnd.IntN(providers)+1)
		c := centre[rnd.IntN(continents)]
		x[h], y[h] = c[0]+spread*rnd.NormFloat64(), c[1]+spread*rnd.NormFloat64()
	}
	return pairwise(n, func(u, v int) float64 {
		a, b := provider[u], provider[v]
		best := math.Min(limit[a], limit[b]) * math.Exp(-math.Hypot(x[u]-x[v], y[u]-y[v])*math.Max(reach[a], reach[b]))
		if a != b {
			best *= 1 - across*rnd.Float64()
		}
		best *= math.Exp(noise * math.Min(rnd.NormFloat64(), rnd.NormFloat64()))
		if rnd.Float64() < missing {
			return 0
		}
		return math.Round(1000*best) / 1000
	})
}

// cpuTime is what this process has used, so that others do not count.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sweep selects on several networks and reports the worst.
func sweep(b *testing.B, nets []*Bandwidths, p *Pattern) {
	const most = 10 * time.Second
	early, gap, unproven := 0.0, 0.0, 0
	var times []float64
	for range b.N {
		times, unproven, early, gap = nil, 0, 0, 0
		for i, net := range nets {
			start := cpuTime()
			sel, err := Select(net, p, Options{Groups: 1, Stop: func() bool { return cpuTime()-start > 100*time.Millisecond }})
			if err != nil {
				b.Logf("network %d after 100 ms: %v", i, err)
				continue
			}
			early = max(early, 100*(1-sel.Mbps/sel.Bound))
			if sel.Optimal {
				times = append(times, (cpuTime() - start).Seconds())
				continue
			}
			start = cpuTime()
			sel, err = Select(net, p, Options{Groups: 1, Stop: func() bool { return cpuTime()-start > most }})
			if err != nil {
				b.Fatal(err)
			}
			times = append(times, (cpuTime() - start).Seconds())
			gap = max(gap, 100*(1-sel.Mbps/sel.Bound))
			if !sel.Optimal {
				unproven++
			}
		}
	}
	slices.Sort(times)
	if len(times) == 0 {
		return
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1000*times[len(times)-1], "ms-worst")
	b.ReportMetric(1000*times[len(times)/2], "ms-median")
	b.ReportMetric(early, "%gap-100ms")
	b.ReportMetric(float64(unproven), "unproven")
	b.ReportMetric(gap, "%gap-10s")
}
