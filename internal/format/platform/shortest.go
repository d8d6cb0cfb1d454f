package platform

import (
	"cmp"
	"sync"

	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// noTable is a zone with routing None: nobody reaches anybody.
type noTable struct{}

func (noTable) legsBetween(_, _ int) []leg { return nil }
func (noTable) loopbackLinks(int) []int    { return nil }

// A fullTable holds every route as the file gives it.
type fullTable struct {
	legs map[[2]int]leg
}

// addRoute enters a route; false means that it is there already.
func (t *fullTable) addRoute(src, dst int, l leg) bool {
	if _, ok := t.legs[[2]int{src, dst}]; ok {
		return false
	}
	if t.legs == nil {
		t.legs = map[[2]int]leg{}
	}
	t.legs[[2]int{src, dst}] = l
	return true
}

func (t *fullTable) legsBetween(src, dst int) []leg {
	l, ok := t.legs[[2]int{src, dst}]
	if !ok {
		return nil
	}
	return []leg{l}
}

func (t *fullTable) loopbackLinks(id int) []int { return t.legs[[2]int{id, id}].links }

// A shortestTable strings the given routes together so that the fewest links
// are crossed (which is what SimGrid's Dijkstra counts too, whatever the
// latencies). Among equally short ways it takes the one that SimGrid takes;
// only in Floyd zones of more than floydSize members the choice may differ.
type shortestTable struct {
	fullTable
	zone  *zone
	floyd bool

	order []int       // members by their first mention in a route
	rank  map[int]int // the inverse
	out   [][]int     // by rank: the ranks that routes lead to, in the order given

	once    sync.Once
	toFrom  [][]int32 // Floyd: by source and destination the member before
	mu      sync.Mutex
	sources map[int][]int32 // Dijkstra: by source, each rank's rank before
}

// floydSize bounds the work and memory of Floyd's algorithm.
const floydSize = 400

func (t *shortestTable) addRoute(src, dst int, l leg) bool {
	if !t.fullTable.addRoute(src, dst, l) {
		return false
	}
	from, to := t.rankOf(src), t.rankOf(dst)
	t.out[from] = append(t.out[from], to)
	return true
}

func (t *shortestTable) rankOf(id int) int {
	r, ok := t.rank[id]
	if !ok {
		if t.rank == nil {
			t.rank = map[int]int{}
		}
		r = len(t.order)
		t.rank[id] = r
		t.order = append(t.order, id)
		t.out = append(t.out, nil)
	}
	return r
}

func (t *shortestTable) legsBetween(src, dst int) []leg {
	var way []int // members, last first
	if t.floyd && t.zone.members <= floydSize {
		t.once.Do(t.runFloyd)
		way = climbBack(src, dst, t.toFrom[src])
	} else {
		way = t.shortestPath(src, dst)
	}
	var legs []leg
	for i := len(way) - 1; i > 0; i-- {
		legs = append(legs, t.legs[[2]int{way[i], way[i-1]}])
	}
	return legs
}

// climbBack goes from dst back to src; nil if it does not get there.
func climbBack(src, dst int, before []int32) []int {
	way := []int{dst}
	for at := dst; at != src; way = append(way, at) {
		if before[at] < 0 {
			return nil
		}
		at = int(before[at])
	}
	return way
}

// runFloyd fills toFrom. A shorter way replaces one found earlier, an equal one
// does not; middles are tried in the order of members.
func (t *shortestTable) runFloyd() {
	n := t.zone.members
	const far = 1 << 60
	cost := make([][]int, n)
	t.toFrom = make([][]int32, n)
	for a := range n {
		cost[a], t.toFrom[a] = make([]int, n), make([]int32, n)
		for b := range n {
			cost[a][b], t.toFrom[a][b] = far, -1
			if l, ok := t.legs[[2]int{a, b}]; ok {
				cost[a][b], t.toFrom[a][b] = len(l.links), int32(a)
			}
		}
	}
	for c := range n {
		for a := range n {
			if cost[a][c] == far || a == c {
				continue
			}
			for b := range n {
				if b != c && cost[a][c]+cost[c][b] < cost[a][b] {
					cost[a][b] = cost[a][c] + cost[c][b]
					t.toFrom[a][b] = t.toFrom[c][b]
				}
			}
		}
	}
}

// shortestPath is the members from dst back to src, or nil.
func (t *shortestTable) shortestPath(src, dst int) []int {
	from, ok := t.rank[src]
	to, ok2 := t.rank[dst]
	if !ok || !ok2 {
		return nil
	}
	way := climbBack(from, to, t.predecessorsFrom(from))
	for i, r := range way {
		way[i] = t.order[r]
	}
	return way
}

// predecessorsFrom remembers how everything is reached from one member: the answer is
// linear in the zone, and a simulation asks for the same sources again.
func (t *shortestTable) predecessorsFrom(from int) []int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, ok := t.sources[from]
	if !ok {
		before = t.runDijkstra(from)
		if t.sources == nil {
			t.sources = map[int][]int32{}
		}
		t.sources[from] = before
	}
	return before
}

// A visit is a member that runDijkstra has a way to.
type visit struct{ cost, rank int }

// IsBefore orders visits by cost.
func (v visit) IsBefore(w visit) bool { return cmp.Or(v.cost-w.cost, v.rank-w.rank) < 0 }

// SetPosition is not needed: a visit is never moved.
func (v visit) SetPosition(int) {}

func (t *shortestTable) runDijkstra(from int) []int32 {
	before := make([]int32, len(t.order))
	cost := make([]int, len(t.order))
	for r := range before {
		before[r], cost[r] = -1, -1
	}
	cost[from] = 0
	border := heap.Heap[visit]{{0, from}}
	for len(border) > 0 {
		v := border.Pop()
		if v.cost > cost[v.rank] {
			continue // a shorter way came up after this one
		}
		for _, next := range t.out[v.rank] {
			c := v.cost + len(t.legs[[2]int{t.order[v.rank], t.order[next]}].links)
			if cost[next] < 0 || c < cost[next] {
				cost[next], before[next] = c, int32(v.rank)
				border.Push(visit{c, next})
			}
		}
	}
	return before
}
