package flow

import (
	"cmp"
	"slices"
)

// Subsets are tried only while that is cheap.
const (
	subsetSites = 16
	subsetWork  = 1 << 20
)

// planSubset is HEFT on part of the grid: on the strongest site alone, on the two
// strongest, and so on. HEFT sends a task to a far site as soon as it would end
// a little earlier there, and pays when the results have to come back.
func planSubset(d *DAG, g *Grid) *Schedule {
	sites := g.bySpeed()
	if len(sites) < 2 || len(sites) > subsetSites || len(d.Tasks)*len(g.groups)*len(sites) > subsetWork {
		return nil
	}
	only := make([]bool, len(g.groups))
	var best *Schedule
	for _, s := range sites[:len(sites)-1] {
		for gr := range g.groups {
			only[gr] = only[gr] || g.groups[gr].kind.site == s
		}
		if x := heftOn(d, g, only); x != nil && (best == nil || x.Makespan < best.Makespan) {
			best = x
		}
	}
	return best
}

// bySpeed is the sites, that of the greatest speed over all cores first.
func (g *Grid) bySpeed() []int {
	speed := make([]float64, g.sites)
	sites := make([]int, g.sites)
	for s := range sites {
		sites[s] = s
	}
	for _, h := range g.Hosts {
		speed[h.Site] += h.Speed * float64(h.Cores)
	}
	slices.SortStableFunc(sites, func(a, b int) int { return cmp.Compare(speed[b], speed[a]) })
	return sites
}
