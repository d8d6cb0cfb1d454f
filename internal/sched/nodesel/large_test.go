package nodesel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// proven selects with a budget far above the 2 s that the benchmarks watch,
// so that a busy machine does not fail the test.
func proven(t *testing.T, b *Bandwidths, p *Pattern) {
	t.Helper()
	start := time.Now()
	got, err := Select(b, p, Options{Groups: 1, Stop: func() bool { return time.Since(start) > 60*time.Second }})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.4g of at most %.4g Mbit/s after %v, %d graphs", got.Mbps, got.Bound,
		time.Since(start).Round(time.Millisecond), got.Matches)
	check(t, b, p, got.Group)
	if !got.Optimal {
		t.Errorf("not proven: %g of at most %g", got.Mbps, got.Bound)
	}
}

// largeCases are the sizes that must be proven within 2 s.
func largeCases(t testing.TB) []largeCase {
	hosts200 := randomBandwidths(rand.New(rand.NewPCG(200, 1)), 200, 1, 0)
	hosts1000 := randomBandwidths(rand.New(rand.NewPCG(1000, 1)), 1000, 1, 0)
	return []largeCase{
		{hosts200, named(t, "all", 8)}, {hosts200, named(t, "ring", 16)},
		{hosts200, named(t, "mesh:4x4", 16)}, {hosts200, named(t, "hypercube", 16)},
		{hosts1000, named(t, "ring", 64)}, {hosts1000, named(t, "tree:2", 64)},
	}
}

type largeCase struct {
	b *Bandwidths
	p *Pattern
}

func (c largeCase) String() string {
	return fmt.Sprintf("%s of %d on %d hosts", c.p.Name, c.p.Nodes, c.b.HostCount())
}

func TestLargeRandomGraphsAreProven(t *testing.T) {
	for _, c := range largeCases(t) {
		t.Run(c.String(), func(t *testing.T) { proven(t, c.b, c.p) })
	}
}
