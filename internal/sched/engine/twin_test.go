package engine_test

import "slices"

// twin is the scheduler once more, as simply as it can be said: counts of
// processors instead of sets, plain slices, full scans, and jobs that answer
// while they are asked. It knows WF, PRA and PWA, FPSMA and EGS (papers/001,
// section V, and spec 10), for jobs of one component.
type twin struct {
	pwa      bool
	egs      bool
	clusters []twinCluster
	queue    []*twinJob // those who wait, first come first
	placed   []*twinJob // placed, not started yet
	running  []*twinJob // in the order in which they started
}

type twinCluster struct{ procs, keep, growFree int }

type twinJob struct {
	*program
	cluster int
	size    int
	refused int // at its present size it refuses offers up to this
}

func (t *twin) submit(p *program) {
	j := &twinJob{program: p}
	if !t.place(j) {
		t.queue = append(t.queue, j)
	}
	t.settle()
}

func (t *twin) ended(p *program) {
	t.running = slices.DeleteFunc(t.running, func(j *twinJob) bool { return j.program == p })
	t.settle()
}

func (t *twin) jobs() []sized {
	var list []sized
	for _, j := range t.running {
		list = append(list, sized{j.program, j.cluster, j.size})
	}
	return list
}

// settle does all that can be done, then lets those start that were placed.
func (t *twin) settle() {
	t.manage()
	for len(t.placed) > 0 {
		j := t.placed[0]
		t.placed = t.placed[1:]
		t.running = append(t.running, j)
		t.manage()
	}
}

// manage is the job manager (papers/001, V-B).
func (t *twin) manage() {
	if !t.pwa {
		t.growAll()
		t.scan()
		return
	}
	t.scan()
	for t.makeRoom() {
		t.scan()
	}
	t.growAll()
}

// scan looks through the queue from its head.
func (t *twin) scan() {
	for i := 0; i < len(t.queue); {
		if t.place(t.queue[i]) {
			t.queue = slices.Delete(t.queue, i, i+1)
		} else {
			i++
		}
	}
}

func (t *twin) idle(c int) int {
	n := t.clusters[c].procs
	for _, list := range [][]*twinJob{t.placed, t.running} {
		for _, j := range list {
			if j.cluster == c {
				n -= j.size
			}
		}
	}
	return n
}

// place is worst fit.
func (t *twin) place(j *twinJob) bool {
	best := -1
	for c := range t.clusters {
		if t.idle(c)-t.clusters[c].keep >= j.min && (best < 0 || t.idle(c) > t.idle(best)) {
			best = c
		}
	}
	if best < 0 {
		return false
	}
	room := t.idle(best) - t.clusters[best].keep
	others := len(t.queue)
	if slices.Contains(t.queue, j) {
		others--
	}
	want := j.initial
	if want == 0 {
		want = room / (1 + others)
	}
	if j.cluster, j.size = best, max(j.min, min(want, j.max, room)); j.kind == rigidProgram {
		j.size = j.min
	}
	t.placed = append(t.placed, j)
	return true
}

// malleable lists the running malleable jobs of a cluster, oldest first.
func (t *twin) malleable(c int) []*twinJob {
	var list []*twinJob
	for _, j := range t.running {
		if j.cluster == c && j.kind == malleableProgram {
			list = append(list, j)
		}
	}
	return list
}

func (t *twin) reclaimable(c int) int {
	n := 0
	for _, j := range t.malleable(c) {
		n += j.size - j.min
	}
	return n
}

// makeRoom shrinks running jobs for the head of the queue, where that is
// enough, and places it.
func (t *twin) makeRoom() bool {
	if len(t.queue) == 0 {
		return false
	}
	// Worst fit again: the cluster with most to give for each of its jobs.
	head, best := t.queue[0], -1
	gives := func(c int) float64 {
		return float64(t.idle(c)+t.reclaimable(c)) / float64(1+len(t.malleable(c)))
	}
	for c := range t.clusters {
		if t.idle(c)+t.reclaimable(c)-t.clusters[c].keep >= head.min && (best < 0 || gives(c) > gives(best)) {
			best = c
		}
	}
	if best < 0 {
		return false
	}
	need := head.min - (t.idle(best) - t.clusters[best].keep)
	list := t.malleable(best)
	slices.Reverse(list) // decreasing order of their start time
	if t.egs {
		egsShrink(list, need)
	} else {
		fpsmaShrink(list, need)
	}
	t.place(head)
	t.queue = t.queue[1:]
	return true
}

func fpsmaShrink(list []*twinJob, need int) {
	for _, j := range list {
		n := min(need, j.size-j.min)
		j.shrink(n)
		if need -= n; need == 0 {
			break
		}
	}
}

// egsShrink takes equal shares, one more from the most recently started; what
// somebody cannot give is shared among the others in the same way.
func egsShrink(list []*twinJob, need int) {
	take := map[*twinJob]int{}
	for need > 0 {
		var able []*twinJob
		for _, j := range list {
			if j.size-j.min > take[j] {
				able = append(able, j)
			}
		}
		share, malus := need/len(able), need%len(able)
		for i, j := range able {
			n := share
			if i < malus {
				n++
			}
			n = min(n, j.size-j.min-take[j])
			take[j] += n
			need -= n
		}
	}
	for _, j := range list {
		j.shrink(take[j])
	}
}

// shrink releases n, and what the program cannot use then.
func (j *twinJob) shrink(n int) {
	if n == 0 {
		return
	}
	j.size, j.refused = j.usable(j.size-n), 0
}

func (t *twin) growAll() {
	for c := range t.clusters {
		t.grow(c)
	}
}

func (t *twin) free(c int) int {
	return max(0, t.idle(c)-t.clusters[c].keep-t.clusters[c].growFree)
}

// grow offers what is free until nothing is left or nobody wants more.
func (t *twin) grow(c int) {
	for {
		var list []*twinJob
		for _, j := range t.malleable(c) {
			if j.size < j.max {
				list = append(list, j)
			}
		}
		offers := fpsmaGrow(list, t.free(c))
		if t.egs {
			offers = egsGrow(list, t.free(c))
		}
		if len(offers) == 0 {
			return
		}
		for _, j := range list {
			if n := offers[j]; n > 0 {
				accepted := j.usable(j.size+n) - j.size
				j.size += accepted
				j.refused = n - accepted
			}
		}
	}
}

// wants is what a job may take of n.
func (j *twinJob) wants(n int) int {
	if n = min(n, j.max-j.size); n > j.refused {
		return n
	}
	return 0
}

func fpsmaGrow(list []*twinJob, free int) map[*twinJob]int {
	offers := map[*twinJob]int{}
	for _, j := range list {
		if n := j.wants(free); n > 0 {
			offers[j] = n
			free -= n
		}
	}
	return offers
}

func egsGrow(list []*twinJob, free int) map[*twinJob]int {
	share := func(n, i int) int {
		if i < free%n {
			return free/n + 1
		}
		return free / n
	}
	var willing []*twinJob
	for i, j := range list {
		if j.wants(share(len(list), i)) > 0 {
			willing = append(willing, j)
		}
	}
	if len(willing) == 0 {
		return fpsmaGrow(list, free)
	}
	offers := map[*twinJob]int{}
	for i, j := range willing {
		offers[j] = j.wants(share(len(willing), i))
	}
	return offers
}
