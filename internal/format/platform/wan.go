package platform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// A wan routes over a YAML platform: from a host up to its switch, over the
// links between clusters, down to the other host. Of several ways between two
// clusters it takes that of least latency, then of fewest links. In a tree
// there is only one.
type wan struct {
	base  []int // of each cluster the first of its hosts' links: up, down, up, down, …
	ways  [][]wanLink
	trees []tree
	pairs map[[2]int]bool
	group []int // of each cluster another one that it is connected with, in the end itself
}

// A wanLink is a link out of a cluster.
type wanLink struct {
	to   int
	link int
	ms   float64
}

// A tree holds the best ways out of one cluster. It is made when the first
// route out of that cluster is asked for.
type tree struct {
	once sync.Once
	into []step // how each cluster is reached; link -1: not at all
}

type step struct {
	from int
	link int
}

func newWAN(clusters int) *wan {
	w := &wan{
		ways:  make([][]wanLink, clusters),
		trees: make([]tree, clusters),
		pairs: make(map[[2]int]bool),
		group: make([]int, clusters),
	}
	for c := range w.group {
		w.group[c] = c
	}
	return w
}

// connectClusters joins two clusters by link (from a) and link+1 (from b).
func (w *wan) connectClusters(a, b int, ms float64, link int) {
	w.ways[a] = append(w.ways[a], wanLink{b, link, ms})
	w.ways[b] = append(w.ways[b], wanLink{a, link + 1, ms})
	w.pairs[orderedPair(a, b)] = true
	w.group[w.groupLeader(a)] = w.groupLeader(b)
}

func orderedPair(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// groupLeader is the same for all clusters that are connected with c.
func (w *wan) groupLeader(c int) int {
	for w.group[c] != c {
		w.group[c] = w.group[w.group[c]]
		c = w.group[c]
	}
	return c
}

// linkProblem says what is wrong with a further link between a and b, or "".
func (w *wan) linkProblem(a, b int, tree bool, clusters []Cluster) string {
	if a == b {
		return "two different clusters; hosts of one cluster are joined by its own link"
	}
	if w.pairs[orderedPair(a, b)] {
		return "one link for a pair of clusters; this pair has one already"
	}
	if !tree || w.groupLeader(a) != w.groupLeader(b) {
		return ""
	}
	var names []string
	for _, c := range append(w.clusterPath(a, b), a) {
		names = append(names, clusters[c].Name)
	}
	return fmt.Sprintf("links that form a tree; this one closes the cycle %s, so a route would be ambiguous. "+
		"Leave a link out, or write \"routing: shortest\" to take the route of least latency", strings.Join(names, "-"))
}

// clusterPath is the clusters from a to b, which are connected.
func (w *wan) clusterPath(a, b int) []int {
	from := map[int]int{a: a}
	for queue := []int{a}; len(queue) > 0; queue = queue[1:] {
		for _, x := range w.ways[queue[0]] {
			if _, ok := from[x.to]; !ok {
				from[x.to] = queue[0]
				queue = append(queue, x.to)
			}
		}
	}
	path := []int{b}
	for c := b; c != a; c = from[c] {
		path = append(path, from[c])
	}
	slices.Reverse(path)
	return path
}

func (w *wan) walkRoute(from, to RouteEnd, links []int) ([]int, float64, bool) {
	if from.Host != FrontEnd {
		links = append(links, w.base[from.Cluster]+2*from.Host)
	}
	if from.Cluster != to.Cluster {
		into := w.treeOf(from.Cluster)
		if into[to.Cluster].link < 0 {
			return links, 0, false
		}
		first := len(links)
		for c := to.Cluster; c != from.Cluster; c = into[c].from {
			links = append(links, into[c].link)
		}
		slices.Reverse(links[first:])
	}
	if to.Host != FrontEnd {
		links = append(links, w.base[to.Cluster]+2*to.Host+1)
	}
	return links, 0, true
}

func (w *wan) loopbackRoute(_ RouteEnd, links []int) []int { return links }

func (w *wan) treeOf(root int) []step {
	t := &w.trees[root]
	t.once.Do(func() { t.into = w.shortestTree(root) })
	return t.into
}

// A front is a cluster on the border of what grow has reached.
type front struct {
	ms   float64
	hops int
	step
	cluster int
}

// IsBefore orders fronts by latency, then by the number of links.
func (f front) IsBefore(g front) bool {
	return cmp.Or(cmp.Compare(f.ms, g.ms), cmp.Compare(f.hops, g.hops), cmp.Compare(f.link, g.link)) < 0
}

// SetPosition is not needed: a front is never moved.
func (f front) SetPosition(int) {}

// shortestTree is Dijkstra's algorithm from root.
func (w *wan) shortestTree(root int) []step {
	into := make([]step, len(w.ways))
	for c := range into {
		into[c].link = -1
	}
	var border heap.Heap[front]
	done := make([]bool, len(w.ways))
	done[root] = true
	reach := func(c, hops int, ms float64) {
		for _, x := range w.ways[c] {
			if !done[x.to] {
				border.Push(front{ms + x.ms, hops + 1, step{c, x.link}, x.to})
			}
		}
	}
	reach(root, 0, 0)
	for len(border) > 0 {
		f := border.Pop()
		if done[f.cluster] {
			continue
		}
		done[f.cluster] = true
		into[f.cluster] = f.step
		reach(f.cluster, f.hops, f.ms)
	}
	return into
}
