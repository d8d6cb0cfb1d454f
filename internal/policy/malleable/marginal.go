package malleable

import (
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

// Marginal gives each processor to the job whose predicted remaining time
// falls most for it.
type Marginal struct {
	Beta, Hyst float64
	Rank       bool
	Alpha      float64
}

func (m Marginal) weigh(list []candidate) {
	order := make([]int, len(list))
	size := make([]float64, len(list))
	for i := range list {
		order[i] = i
		size[i] = list[i].work * list[i].part.Job().Scaling().Relative(1)
		size[i] = list[i].work / list[i].part.Job().Scaling().Relative(1)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case size[a] > size[b]:
			return -1
		case size[a] < size[b]:
			return 1
		}
		return 0
	})
	alpha := m.Alpha
	if alpha == 0 {
		sum := 0.0
		for i := range list {
			c := &list[i]
			n := c.rest + c.part.Size()
			s := c.part.Job().Scaling()
			sum += math.Log2(s.Relative(2*n) / s.Relative(n))
		}
		alpha = min(0.9, max(0.1, sum/float64(len(list))))
	}
	e := 1 / (1 - alpha)
	for r, i := range order {
		k := float64(r + 1)
		list[i].weight = math.Pow(math.Pow(k, e)-math.Pow(k-1, e), 1/e)
	}
}

type candidate struct {
	part   *world.Part
	work   float64 // remaining seconds at relative speed 1
	rest   int     // processors of the job's other parts
	size   int     // reached so far
	next   int     // the size it would go to next
	gain   float64 // per processor
	weight float64
}

func (m Marginal) time(c *candidate, n int) float64 {
	return c.work / c.part.Job().Scaling().Relative(c.rest+n)
}

func newCandidate(v world.View, p *world.Part) candidate {
	j := p.Job()
	total := j.Size()
	done, rate := j.Pace(total, v.Now)
	return candidate{part: p, size: p.Size(), rest: total - p.Size(), work: (1 - done) / rate * j.Scaling().Relative(total)}
}

// up finds the next step upwards and what it is worth.
func (m Marginal) up(c *candidate, free int) {
	s := c.part.Job().Scaling()
	c.gain, c.next = 0, 0
	limit := min(c.part.Max(), c.size+free)
	for n := s.Next(c.size, limit); n > 0; n = s.Next(n, limit) {
		if n > c.part.Size() && n-c.part.Size() <= c.part.Refused() {
			continue
		}
		now, then := m.time(c, c.size), m.time(c, n)
		gain := (now - then) / math.Pow(then, m.Beta) / float64(n-c.size)
		if m.Rank {
			gain = c.weight * (s.Relative(c.rest+n) - s.Relative(c.rest+c.size)) / s.Relative(1) / float64(n-c.size)
		}
		if gain > c.gain {
			c.gain, c.next = gain, n
		} else {
			break
		}
	}
}

// pour raises candidates while it helps.
func (m Marginal) pour(list []candidate, free int) int {
	m.weigh(list)
	for i := range list {
		m.up(&list[i], free)
	}
	for free > 0 {
		best := -1
		for i := range list {
			if list[i].next > 0 && (best < 0 || list[i].gain > list[best].gain) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		c := &list[best]
		if c.next-c.size > free {
			m.up(c, free)
			continue
		}
		free -= c.next - c.size
		c.size = c.next
		m.up(c, free)
	}
	return free
}

// Grow offers.
func (m Marginal) Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	var list []candidate
	for _, p := range c.Growable() {
		list = append(list, newCandidate(v, p))
	}
	left := m.pour(list, free)
	for i := range list {
		if n := list[i].size - list[i].part.Size(); n > 0 {
			dst = append(dst, Offer{list[i].part, n, core.Reason{Code: core.LargestGain, B: float64(n)}})
		}
	}
	if len(dst) == 0 {
		return FPSMA{}.Grow(v, c, left, dst)
	}
	return dst
}

// Shrink asks.
func (m Marginal) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	need = min(need, c.Reclaimable())
	var list []candidate
	total := 0
	for _, p := range c.Shrinkable() {
		cd := newCandidate(v, p)
		total += p.Size()
		cd.size = p.Min()
		total -= p.Min()
		list = append(list, cd)
	}
	m.pour(list, total-need)
	got := 0
	for i := range list {
		if n := list[i].part.Size() - list[i].size; n > 0 {
			got += n
			dst = append(dst, Offer{list[i].part, -n, core.Reason{Code: core.SmallestLoss, B: float64(n)}})
		}
	}
	return dst
}

// Rebalance asks.
func (m Marginal) Rebalance(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	var list []candidate
	pool := free
	for _, p := range c.Malleable() {
		cd := newCandidate(v, p)
		pool += p.Size() - p.Min()
		cd.size = p.Min()
		list = append(list, cd)
	}
	m.pour(list, pool)
	// worth it?
	util := func(t float64) float64 {
		if m.Beta == 1 {
			return -math.Log(t)
		}
		return math.Pow(t, 1-m.Beta) / (m.Beta - 1)
	}
	var before, after float64
	for i := range list {
		cd := &list[i]
		if m.Rank {
			s := cd.part.Job().Scaling()
			before += cd.weight * s.Relative(cd.rest+cd.part.Size()) / s.Relative(1)
			after += cd.weight * s.Relative(cd.rest+cd.size) / s.Relative(1)
			continue
		}
		before += util(m.time(cd, cd.part.Size()))
		after += util(m.time(cd, cd.size))
	}
	if after-before < m.Hyst*math.Abs(before) {
		return dst
	}
	for i := range list {
		if n := list[i].part.Size() - list[i].size; n > 0 {
			dst = append(dst, Offer{list[i].part, -n, core.Reason{Code: core.SmallestLoss, B: float64(n)}})
		}
	}
	return dst
}
