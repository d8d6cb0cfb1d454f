package flow

import "math"

// A board is a schedule in the making: which tasks stand where, and when cores
// are idle. Tasks are put into the first idle time that is long enough
// (insertion), so a heuristic may place them in any order that keeps parents
// before children.
type board struct {
	d     *DAG
	g     *Grid
	slots []Slot
	idle  *gaps
	only  []bool // groups that may be used; nil: all
	data  arrival
	rates []float64         // of each block of groups, a time before which a task cannot end there
	from  *State            // what has happened already; nil: nothing
	wide  map[int32][]int32 // the cores of tasks that have several
}

func newBoard(d *DAG, g *Grid, from *State) *board {
	b := &board{d: d, g: g, slots: make([]Slot, len(d.Tasks)), from: from}
	for t := range b.slots {
		b.slots[t].Host = -1
		if b.isFixed(int32(t)) {
			b.slots[t] = from.Slots[t]
		}
	}
	b.idle = newGaps(g, from)
	b.data = newArrival(g.sites)
	if g.blocks != nil {
		b.rates = make([]float64, len(g.blocks.site))
	}
	return b
}

// isFixed tells whether a task is not to be planned any more.
func (b *board) isFixed(t int32) bool { return b.from != nil && b.from.Fixed[t] }

func (b *board) toSchedule() *Schedule {
	s := newSchedule(b.slots)
	s.Wide = b.wide
	return s
}

// An arrival says when the data of a task is at each site. The parent whose
// data would come last may itself be at the site: then its host has everything
// earlier than the others there, and no other host of the site has.
type arrival struct {
	parents float64 // when the last of them ends
	at      []float64
	low     []float64 // earliest at any host of the site
	host    []int32   // that is ahead of its site; -1: none is
	ahead   []float64
	second  []float64 // latest data from any other host than that of the latest
	source  []int32
}

func newArrival(sites int) arrival {
	return arrival{
		at: make([]float64, sites), low: make([]float64, sites), host: make([]int32, sites), ahead: make([]float64, sites),
		second: make([]float64, sites), source: make([]int32, sites),
	}
}

// computeArrival works out when the data of t, whose parents are placed, is where.
func (b *board) computeArrival(t int32, a *arrival) {
	a.parents = 0
	for s := range a.at {
		a.at[s], a.second[s], a.source[s], a.host[s] = 0, 0, -1, -1
	}
	preds := b.d.pred.linksOf(t)
	for _, p := range preds {
		slot := &b.slots[p.task]
		a.parents = max(a.parents, slot.End)
		from := b.g.Hosts[slot.Host].Site
		for s := range a.at {
			a.noteData(s, int32(slot.Host), slot.End+b.g.routeBetween(from, s).transferSeconds(p))
		}
	}
	for s, h := range a.source {
		if h >= 0 && b.g.Hosts[h].Site == s {
			a.host[s], a.ahead[s] = h, a.second[s]
		}
	}
	for _, p := range preds {
		slot := &b.slots[p.task]
		if s := b.g.Hosts[slot.Host].Site; a.host[s] == int32(slot.Host) {
			a.ahead[s] = max(a.ahead[s], slot.End)
		}
	}
	for s := range a.at {
		a.low[s] = a.at[s]
		if a.host[s] >= 0 {
			a.low[s] = min(a.at[s], a.ahead[s])
		}
	}
}

// noteData keeps the latest data at a site, and the latest from elsewhere than
// where that comes from.
func (a *arrival) noteData(site int, from int32, when float64) {
	switch {
	case a.source[site] == from:
		a.at[site] = max(a.at[site], when)
	case when > a.at[site] || a.source[site] < 0:
		a.second[site] = a.at[site]
		a.at[site], a.source[site] = when, from
	default:
		a.second[site] = max(a.second[site], when)
	}
}

// A choice is where a task would run.
type choice struct {
	group      int32
	gap        int32
	start, end float64
	moved      float64 // dCost: how long data is under way after the last parent ended
}

// bestInGroup is the best place for t among the hosts of a group; false if they do not
// meet its requirements.
func (b *board) bestInGroup(t int32, gr int32, a *arrival) (choice, bool) {
	k := &b.g.groups[gr].kind
	task := &b.d.Tasks[t]
	if b.only != nil && !b.only[gr] || !k.meetsRequirements(task) {
		return choice{}, false
	}
	takes := b.g.groupRuntime(task, gr)
	ready := a.at[k.site]
	n, start := b.idle.bestGap(gr, ready, takes)
	if h := a.host[k.site]; h >= 0 && b.g.in[h] == gr && a.ahead[k.site] < start {
		m, begin := b.idle.bestOf(b.g.core[h], b.g.core[h+1], a.ahead[k.site], takes)
		if begin < start {
			n, start, ready = m, begin, a.ahead[k.site]
		}
	}
	return choice{gr, n, start, start + takes, max(0, ready-a.parents)}, true
}

// atBest is a time before which t cannot end in a group. It costs much less
// than in, and on a grid of many kinds of hosts saves asking most of them.
func (b *board) atBest(takes float64, gr int, a *arrival) float64 {
	start := a.low[b.g.where[gr]]
	if b.idle.idle[gr] > start && !(b.idle.long[gr] >= takes && b.idle.until[gr] >= start+takes) {
		start = b.idle.idle[gr]
	}
	return (start + takes) * (1 - slack)
}

// bestChoice is the place where t ends first, with what follows in each group added
// if that is known; of equals the one that starts first.
func (b *board) bestChoice(t int32, a *arrival, behind []float64) choice {
	if b.d.Tasks[t].coreCount() > 1 {
		best, _ := b.bestWide(t, a)
		return best
	}
	f := finder{b: b, t: t, a: a, behind: behind, least: math.Inf(1), work: b.d.Tasks[t].Work,
		pace: b.g.taskPace(&b.d.Tasks[t])}
	if b.rates == nil || behind != nil {
		for gr := range b.g.groups {
			f.tryGroup(int32(gr))
		}
		return f.best
	}
	first := b.rateBlocks(&b.d.Tasks[t], a)
	f.tryAll(first)
	for i, rate := range b.rates {
		if i != first && rate <= f.least {
			f.tryAll(i)
		}
	}
	return f.best
}

// A finder looks for the best place of a task.
type finder struct {
	b      *board
	t      int32
	a      *arrival
	behind []float64
	work   float64
	pace   []float64
	best   choice
	least  float64
}

func (f *finder) tryAll(block int) {
	for _, gr := range f.b.g.blocks.groupsOf(block) {
		f.tryGroup(gr)
	}
}

func (f *finder) tryGroup(gr int32) {
	more := 0.0
	if f.behind != nil {
		more = f.behind[gr]
	}
	if f.b.atBest(f.work*f.pace[gr], int(gr), f.a)+more > f.least {
		return
	}
	c, ok := f.b.bestInGroup(f.t, gr, f.a)
	if !ok {
		return
	}
	s := c.end + more
	if s < f.least || s == f.least && (c.start < f.best.start || c.start == f.best.start && gr < f.best.group) {
		f.best, f.least = c, s
	}
}

// placeTask places t as chosen.
func (b *board) placeTask(t int32, c choice) {
	if c.gap == none {
		b.putWide(t, c)
		return
	}
	core := b.idle.all[c.gap].core
	host := b.hostOf(c.group, core)
	b.slots[t] = Slot{int(host), int(core - b.g.core[host]), c.start, c.end}
	// Even a task that takes no time parts the gap: nothing may run across it.
	b.idle.useGap(c.group, c.gap, c.start, c.end)
}

// hostOf finds the host of a core among those of a group, whose cores rise with
// them.
func (b *board) hostOf(gr, core int32) int32 {
	hosts := b.g.groups[gr].hosts
	low, high := 0, len(hosts)
	for high-low > 1 {
		if mid := (low + high) / 2; b.g.core[hosts[mid]] <= core {
			low = mid
		} else {
			high = mid
		}
	}
	return hosts[low]
}
