package place

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

// roomiest lists the clusters with room, most room first.
func roomiest(v world.View) []roomyCluster {
	var list []roomyCluster
	for _, c := range v.Clusters() {
		if r := v.Room(c); r > 0 {
			list = append(list, roomyCluster{c, r})
		}
	}
	slices.SortStableFunc(list, func(a, b roomyCluster) int { return b.room - a.room })
	return list
}

type roomyCluster struct {
	*world.Cluster
	room int
}

// clusterMin: the fewest clusters. Components fit into some k clusters only
// if they fit into the k roomiest, so those are tried for growing k
// (requirements that rule clusters out make it try the later ones too).
func clusterMin(v world.View, job *core.Job, dst []Choice) ([]Choice, core.Reason, bool) {
	clusters := roomiest(v)
	order := largestFirst(job)
	for k := 1; k <= min(len(clusters), len(order)); k++ {
		p := packing{job: job, order: order, clusters: clusters, most: k, budget: packingBudget,
			place: make([]int, len(order)), left: make([]int, len(clusters)), used: make([]int, len(clusters))}
		for i, c := range clusters {
			p.left[i] = c.room
		}
		if p.pack(0, 0) {
			return p.choices(v, dst), core.Reason{Code: core.FewestClusters, A: float64(k), B: float64(len(order))}, true
		}
	}
	widest, _ := v.Widest()
	return dst, core.Reason{Code: core.NoRoom, A: float64(job.Components[order[0]].Min), B: float64(widest)}, false
}

// packingBudget bounds the search for one k; beyond it the first fit found by
// larger k is taken. Jobs with up to a dozen components never reach it.
const packingBudget = 20_000

// packing puts components into at most `most` clusters, largest component
// first, roomiest cluster first, with backtracking.
type packing struct {
	job      *core.Job
	order    []int
	clusters []roomyCluster
	most     int
	budget   int
	place    []int // cluster of order[i]
	left     []int
	used     []int // components in each cluster
}

func (p *packing) pack(i, opened int) bool {
	if i == len(p.order) {
		return true
	}
	if p.budget--; p.budget < 0 {
		return false
	}
	comp := &p.job.Components[p.order[i]]
	for k, c := range p.clusters {
		opens := p.used[k] == 0
		if p.left[k] < comp.Min || opens && opened == p.most || !eligible(comp, c.Cluster) {
			continue
		}
		more := opened
		if opens {
			more++
		}
		p.place[i], p.left[k] = k, p.left[k]-comp.Min
		p.used[k]++
		if p.pack(i+1, more) {
			return true
		}
		p.used[k]--
		p.left[k] += comp.Min
	}
	return false
}

// choices turns a packing into choices: every component has its minimum, the
// rest of each cluster's room is shared among its components.
func (p *packing) choices(v world.View, dst []Choice) []Choice {
	for i, comp := range p.order {
		k := p.place[i]
		c := p.clusters[k]
		cp := &p.job.Components[comp]
		share := cp.Min + p.left[k]/p.used[k]
		size := firstSize(spot{view: v, job: p.job, comp: cp, cluster: c.Cluster, room: share})
		p.left[k] -= size - cp.Min
		p.used[k]--
		dst = append(dst, Choice{Component: comp, Cluster: c.ID(), Size: size, Min: cp.Min, Max: min(cp.Max, c.Usable())})
	}
	return dst
}

// flexibleMin: like clusterMin, but the job is one pool of processors, cut to
// what is idle in the roomiest clusters, so that it starts as soon as enough
// is idle anywhere.
func flexibleMin(v world.View, job *core.Job, dst []Choice) ([]Choice, core.Reason, bool) {
	start := len(dst)
	want, least, most := job.MinSize(), job.MinSize(), job.MaxSize()
	comp := &job.Components[0] // its requirements stand for all
	total, clusters := 0, roomiest(v)
	for _, c := range clusters {
		if eligible(comp, c.Cluster) {
			total += c.room
		}
	}
	if total < least {
		return dst, core.Reason{Code: core.NoRoom, A: float64(least), B: float64(total)}, false
	}
	if job.Kind != core.Rigid {
		pool := core.Component{Min: least, Max: most, Initial: initial(job)}
		want = firstSize(spot{view: v, job: job, comp: &pool, room: total})
	}
	for _, c := range clusters {
		if want == 0 {
			break
		}
		if !eligible(comp, c.Cluster) {
			continue
		}
		n := min(c.room, want)
		want -= n
		keep := min(n, max(1, least-want)) // what must stay here so that all parts keep the minimum
		least -= keep
		dst = append(dst, Choice{Cluster: c.ID(), Size: n, Min: keep, Max: n})
	}
	growth := most - sizes(dst[start:])
	for i := start; i < len(dst); i++ { // what it may grow by goes to the first parts
		g := min(growth, v.Cluster(dst[i].Cluster).Usable()-dst[i].Size)
		dst[i].Max += g
		growth -= g
	}
	return dst, core.Reason{Code: core.SplitByIdle, A: float64(len(dst) - start), B: float64(sizes(dst[start:]))}, true
}

func initial(job *core.Job) int {
	n := 0
	for i := range job.Components {
		n += job.Components[i].Initial
	}
	return n
}

func sizes(list []Choice) int {
	n := 0
	for _, c := range list {
		n += c.Size
	}
	return n
}
