package flow

import (
	"cmp"
	"math"
	"slices"
)

// On a grid of many groups most of them cannot be the best place for a task, and
// even to look at each takes long. So groups of one site that are about as fast
// form blocks, and what the best of a block could offer at most is known without
// a look into it.
const (
	manyGroups = 32 // up to so many there is nothing to win
	blockSize  = 16
)

type blocks struct {
	groups []int32 // by block
	first  []int32 // of each block in groups; one more than blocks
	site   []int32
	of     []int32   // block of each group
	slow   []float64 // least seconds per second of work in each block
	rows   [][]float64
}

// newBlocks is nil where groups are few.
func newBlocks(g *Grid) *blocks {
	if len(g.groups) <= manyGroups {
		return nil
	}
	b := &blocks{of: make([]int32, len(g.groups))}
	for gr := range g.groups {
		b.groups = append(b.groups, int32(gr))
	}
	slices.SortStableFunc(b.groups, func(x, y int32) int {
		return cmp.Or(cmp.Compare(g.where[x], g.where[y]), cmp.Compare(g.slow[x], g.slow[y]))
	})
	for i, gr := range b.groups {
		n := len(b.first)
		if n == 0 || b.site[n-1] != g.where[gr] || i-int(b.first[n-1]) == blockSize {
			b.first = append(b.first, int32(i))
			b.site = append(b.site, g.where[gr])
			n++
		}
		b.of[gr] = int32(n - 1)
	}
	b.first = append(b.first, int32(len(b.groups)))
	b.slow = b.leastPace(g.slow)
	return b
}

func (b *blocks) groupsOf(block int) []int32 { return b.groups[b.first[block]:b.first[block+1]] }

// leastPace is the smallest pace of each block.
func (b *blocks) leastPace(pace []float64) []float64 {
	least := make([]float64, len(b.site))
	for i := range least {
		least[i] = math.Inf(1)
		for _, gr := range b.groupsOf(i) {
			least[i] = min(least[i], pace[gr])
		}
	}
	return least
}

// taskPace is the least seconds per second of work of a task in each block.
func (b *blocks) taskPace(t *Task) []float64 {
	if b.rows == nil {
		return b.slow
	}
	return b.rows[t.Kind]
}

// noteBlock brings what a block can offer at best up to date after one of its
// groups has changed.
func (s *gaps) noteBlock(block int32) {
	idle, long, until := math.Inf(1), -1.0, -1.0
	for _, gr := range s.blocks.groupsOf(int(block)) {
		idle, long, until = min(idle, s.idle[gr]), max(long, s.long[gr]), max(until, s.until[gr])
	}
	s.blockIdle[block], s.blockLong[block], s.blockUntil[block] = idle, long, until
}

// rateBlocks fills in before when the task cannot end in each block, and says in which
// one it may end first.
func (b *board) rateBlocks(t *Task, a *arrival) (first int) {
	s, work := b.idle, t.Work
	pace, site := s.blocks.taskPace(t), s.blocks.site
	least := math.Inf(1)
	for i, idle := range s.blockIdle {
		takes, start := work*pace[i], a.low[site[i]]
		if idle > start && !(s.blockLong[i] >= takes && s.blockUntil[i] >= (start+takes)*(1-slack)) {
			start = idle
		}
		end := (start + takes) * (1 - slack)
		b.rates[i] = end
		if end < least {
			least, first = end, i
		}
	}
	return first
}
