package flow

import (
	"cmp"
	"math"
	"slices"
)

// A task that occupies several cores gets them all at once, at one site, behind
// everything that is planned on them: it is not put into pauses. Its time is that
// of the slowest of them.

// bestWide is the site where such a task ends first, and its end at the best other
// one.
func (b *board) bestWide(t int32, a *arrival) (best choice, second float64) {
	best, second = choice{gap: none, end: math.Inf(1)}, math.Inf(1)
	for s := range b.g.sites {
		_, start, end := b.coresAtSite(t, s, a.at[s])
		if end < best.end {
			second = best.end
			best = choice{group: int32(s), gap: none, start: start, end: end, moved: max(0, a.at[s]-a.parents)}
		} else {
			second = min(second, end)
		}
	}
	return best, second
}

// coresAtSite is the cores of a site that are through first, and when the task would run
// on them; it never ends where there are too few.
func (b *board) coresAtSite(t int32, site int, ready float64) (cores []int32, start, end float64) {
	task := &b.d.Tasks[t]
	for gr := range b.g.groups {
		k := &b.g.groups[gr].kind
		if k.site != site || !k.meetsRequirements(task) || b.only != nil && !b.only[gr] {
			continue
		}
		for _, h := range b.g.groups[gr].hosts {
			for c := b.g.core[h]; c < b.g.core[h+1]; c++ {
				cores = append(cores, c)
			}
		}
	}
	if len(cores) < task.coreCount() {
		return nil, 0, math.Inf(1)
	}
	through := func(c int32) float64 { return b.idle.all[b.idle.last[c]].start }
	slices.SortFunc(cores, func(x, y int32) int { return cmp.Or(cmp.Compare(through(x), through(y)), cmp.Compare(x, y)) })
	cores = cores[:task.coreCount()]
	start = max(ready, through(cores[len(cores)-1]))
	takes := 0.0
	for _, c := range cores {
		takes = max(takes, b.g.HostRuntime(task, b.g.HostOf(int(c))))
	}
	return cores, start, start + takes
}

// putWide places a task as bestWide chose.
func (b *board) putWide(t int32, c choice) {
	cores, start, end := b.coresAtSite(t, int(c.group), c.start)
	for _, core := range cores {
		h := b.g.HostOf(int(core))
		b.idle.useGap(b.g.in[h], b.idle.last[core], start, end)
	}
	h := b.g.HostOf(int(cores[0]))
	b.slots[t] = Slot{h, int(cores[0] - b.g.core[h]), start, end}
	if b.wide == nil {
		b.wide = map[int32][]int32{}
	}
	b.wide[t] = cores
}

// HostOf is the host that has a core, counted over all hosts.
func (g *Grid) HostOf(core int) int {
	h, found := slices.BinarySearch(g.core, int32(core))
	for found && h+1 < len(g.core) && g.core[h+1] == int32(core) {
		h++ // hosts without cores
	}
	if !found {
		h--
	}
	return h
}
