package nodesel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkProof measures the time to a proven optimum; 2 s are asked for.
func BenchmarkProof(b *testing.B) {
	cases := largeCases(b)
	clouds := regions(b)
	for _, c := range regionCases {
		cases = append(cases, largeCase{clouds, named(b, c.name, c.m)})
	}
	for _, c := range cases {
		b.Run(c.String(), func(b *testing.B) {
			for b.Loop() {
				if sel, err := Select(c.b, c.p, Options{Groups: 1}); err != nil || !sel.Optimal {
					b.Fatalf("%v, %v", sel, err)
				}
			}
		})
	}
}

// BenchmarkEarly measures how close to its bound the answer after 100 ms is;
// within 5 % is asked for.
func BenchmarkEarly(b *testing.B) {
	for _, c := range largeCases(b) {
		b.Run(c.String(), func(b *testing.B) {
			gap := 0.0
			for b.Loop() {
				start := time.Now()
				sel, err := Select(c.b, c.p, Options{Groups: 1, Stop: func() bool { return time.Since(start) > 100*time.Millisecond }})
				if err != nil {
					b.Fatal(err)
				}
				gap = 100 * (1 - sel.Mbps/sel.Bound)
			}
			b.ReportMetric(gap, "%gap")
		})
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
