package place

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// roomiestClusters lists the clusters with room, most room first.
func roomiestClusters(v world.View) []roomyCluster {
	var list []roomyCluster
	for _, c := range v.Clusters() {
		if r := v.RoomIn(c); r > 0 {
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
	clusters := roomiestClusters(v)
	order := largestFirst(job)
	j := v.Job(job.ID)
	fits := make([][]bool, len(order))
	for i, comp := range order {
		fits[i] = make([]bool, len(clusters))
		for k, c := range clusters {
			_, wait := CountSeats(v, c.Cluster, &job.Components[comp])
			fits[i][k] = !wait && isEligible(&v, j, &job.Components[comp], c.Cluster)
		}
	}
	for k := 1; k <= min(len(clusters), len(order)); k++ {
		p := packing{job: job, order: order, clusters: clusters, fits: fits, most: k, budget: packingBudget,
			place: make([]int, len(order)), left: make([]int, len(clusters)), used: make([]int, len(clusters))}
		for i, c := range clusters {
			p.left[i] = c.room
		}
		if p.packFrom(0, 0) {
			return p.toChoices(v, dst), core.Reason{Code: core.FewestClusters, A: float64(k), B: float64(len(order))}, true
		}
	}
	widest, _ := v.WidestRoom()
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
	fits     [][]bool // whether order[i] may run in a cluster at all
	most     int
	budget   int
	place    []int // cluster of order[i]
	left     []int
	used     []int // components in each cluster
}

func (p *packing) packFrom(i, opened int) bool {
	if i == len(p.order) {
		return true
	}
	if p.budget--; p.budget < 0 {
		return false
	}
	comp := &p.job.Components[p.order[i]]
	for k := p.firstCluster(i); k < len(p.clusters); k++ {
		opens := p.used[k] == 0
		if p.left[k] < comp.Min || opens && opened == p.most || !p.fits[i][k] {
			continue
		}
		more := opened
		if opens {
			more++
		}
		p.place[i], p.left[k] = k, p.left[k]-comp.Min
		p.used[k]++
		if p.packFrom(i+1, more) {
			return true
		}
		p.used[k]--
		p.left[k] += comp.Min
	}
	return false
}

// firstCluster is the first cluster worth a try for order[i]. Of components that are
// alike only one order is tried: the others differ by their names.
func (p *packing) firstCluster(i int) int {
	if i == 0 {
		return 0
	}
	a, b := &p.job.Components[p.order[i-1]], &p.job.Components[p.order[i]]
	if a.Min == b.Min && slices.Equal(p.fits[i-1], p.fits[i]) {
		return p.place[i-1]
	}
	return 0
}

// toChoices turns a packing into choices.
func (p *packing) toChoices(v world.View, dst []Choice) []Choice {
	start := len(dst)
	for i, comp := range p.order {
		c := p.clusters[p.place[i]]
		cp := &p.job.Components[comp]
		dst = append(dst, Choice{Component: comp, Cluster: c.ID(), Size: cp.Min, Min: cp.Min,
			Max: min(cp.Max, c.UsableProcs())})
	}
	shareRoom(v, p.job, dst[start:])
	return dst
}

// flexibleMin: like clusterMin, but the job is one pool of processors, cut to
// what is idle in the roomiest clusters, so that it starts as soon as enough
// is idle anywhere.
func flexibleMin(v world.View, job *core.Job, dst []Choice) ([]Choice, core.Reason, bool) {
	start := len(dst)
	want, least, most := job.MinSize(), job.MinSize(), job.MaxSize()
	clusters := slices.DeleteFunc(roomiestClusters(v),
		func(c roomyCluster) bool { return !eligibleForAll(v, job, c.Cluster) })
	total := 0
	for _, c := range clusters {
		total += c.room
	}
	if total < least {
		return dst, core.Reason{Code: core.NoRoomInAll, A: float64(least), B: float64(total)}, false
	}
	if job.Kind != core.Rigid {
		pool := core.Component{Min: least, Max: most, Initial: initialCores(job)}
		want = firstSize(spot{view: v, job: job, comp: &pool, room: total})
	}
	for _, c := range clusters {
		if want == 0 {
			break
		}
		n := min(c.room, want)
		want -= n
		keep := min(n, max(1, least-want)) // what must stay here so that all parts keep the minimum
		least -= keep
		dst = append(dst, Choice{Cluster: c.ID(), Size: n, Min: keep, Max: n})
	}
	growth := most - totalSize(dst[start:])
	for i := start; i < len(dst); i++ { // what it may grow by goes to the first parts
		g := min(growth, v.Cluster(dst[i].Cluster).UsableProcs()-dst[i].Size)
		dst[i].Max += g
		growth -= g
	}
	return dst, core.Reason{Code: core.SplitByIdle, A: float64(len(dst) - start), B: float64(totalSize(dst[start:]))}, true
}

// eligibleForAll reports whether any piece of the job could run in the cluster.
func eligibleForAll(v world.View, job *core.Job, c *world.Cluster) bool {
	for i := range job.Components {
		if !isEligible(&v, v.Job(job.ID), &job.Components[i], c) {
			return false
		}
	}
	return true
}

func initialCores(job *core.Job) int {
	n := 0
	for i := range job.Components {
		n += job.Components[i].Initial
	}
	return n
}

func totalSize(list []Choice) int {
	n := 0
	for _, c := range list {
		n += c.Size
	}
	return n
}
