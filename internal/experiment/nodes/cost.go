package nodes

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

// Cost is what one choice took.
type Cost struct {
	Pattern string
	Nodes   int
	Hosts   int
	Seed    uint64
	Seconds float64
	Proven  bool
	Gap     float64 // what the bound leaves open, as a part of it
}

// sized are the patterns whose choice is timed.
var sized = []struct {
	name  string
	nodes int
}{{"all", 8}, {"ring", 16}, {"mesh:4x4", 16}, {"tree:2", 31}, {"hypercube", 16}}

// budget is how long one choice may take.
const budget = 10.0 // seconds

// MeasureCosts times choices on complete networks of growing size with bandwidths by
// chance, uniform from 1 to 1,000 Mbit/s.
func MeasureCosts(ctx context.Context, hosts []int, seeds int, now clock.Clock) ([]Cost, error) {
	var list []Cost
	for _, n := range hosts {
		for seed := range uint64(seeds) {
			b := randomBandwidths(n, seed+1)
			for _, p := range sized {
				talk, err := pattern.MakeNamed(p.name, p.nodes)
				if err != nil {
					return nil, err
				}
				if p.nodes > n {
					continue
				}
				start := now()
				sel, err := nodesel.Select(b, talk, nodesel.Options{Groups: 1, Stop: func() bool {
					return ctx.Err() != nil || now.Since(start).Seconds() > budget
				}})
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if err != nil {
					return nil, err
				}
				list = append(list, Cost{Pattern: p.name, Nodes: p.nodes, Hosts: n, Seed: seed + 1,
					Seconds: now.Since(start).Seconds(),
					Proven:  sel.Optimal, Gap: 1 - sel.Mbps/sel.Bound})
			}
		}
	}
	return list, nil
}

func randomBandwidths(hosts int, seed uint64) *nodesel.Bandwidths {
	rnd := rand.New(rand.NewPCG(seed, uint64(hosts)))
	b := nodesel.NewBandwidths(hosts)
	for u := range hosts {
		for v := range u {
			b.RaisePair(u, v, 1+999*rnd.Float64())
		}
	}
	return b
}

// slowestCost is the longest time that a pattern took on networks of a size, and
// whether all of these choices were proven; NaN if there were none.
func slowestCost(costs []Cost, pattern string, hosts int) (seconds float64, proven bool) {
	var list []float64
	proven = true
	for _, c := range costs {
		if c.Pattern == pattern && c.Hosts == hosts {
			list, proven = append(list, c.Seconds), proven && c.Proven
		}
	}
	if len(list) == 0 {
		return math.NaN(), false
	}
	return slices.Max(list), proven
}
