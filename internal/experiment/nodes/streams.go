package nodes

import "math/rand/v2"

// The network of the paper: the way of each pair has 100 Mbit/s and carries up to
// nine streams of others, with whom a newcomer shares it alike.
const (
	wholeMbps   = 100
	mostStreams = 9
)

// streams counts those on the way of each pair.
type streams struct {
	rnd *rand.Rand
	n   int
	on  map[[2]int]int
}

// newStreams puts as many on each way as chance has it.
func newStreams(n int, seed uint64) *streams {
	s := &streams{rnd: rand.New(rand.NewPCG(seed, 2002)), n: n, on: map[[2]int]int{}}
	for u := range n {
		for v := range u {
			s.on[[2]int{v, u}] = s.rnd.IntN(mostStreams + 1)
		}
	}
	return s
}

// changeOne lets one stream come or go, and says where.
func (s *streams) changeOne() (pair [2]int, mbps float64) {
	for {
		u, v := s.rnd.IntN(s.n), s.rnd.IntN(s.n)
		pair = [2]int{min(u, v), max(u, v)}
		to := s.on[pair] + 1 - 2*s.rnd.IntN(2)
		if u != v && to >= 0 && to <= mostStreams {
			s.on[pair] = to
			return pair, s.newcomerRate(pair)
		}
	}
}

// newcomerRate is what a newcomer gets between two hosts.
func (s *streams) newcomerRate(pair [2]int) float64 { return wholeMbps / float64(s.on[pair]+1) }
