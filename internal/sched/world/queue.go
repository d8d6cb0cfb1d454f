package world

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// queue is the placement queue: first come first tried, with an index that
// finds the next job worth a try, or the next one whose tries are used up,
// without looking at the others. It is a segment tree over tickets; a ticket
// is the place of a job in the order of arrival.
type queue struct {
	jobs  []*Job // by ticket-base; nil where a job has left
	base  int64  // ticket of jobs[0]
	size  int    // of the tree: a power of two ≥ len(jobs)
	tree  []key  // tree[1] is the root, tree[size+i] the leaf of jobs[i]
	count int
}

// key is what the tree knows of the jobs below a node.
type key struct {
	need   int32 // fewest processors that must be free in one cluster, of jobs that are not split
	total  int32 // fewest processors in all, of jobs that may be split over clusters
	expire int64 // earliest scan at which somebody's tries are used up
}

// unlimited is the scan at which tries that nobody counts are used up.
const unlimited = math.MaxInt64 - 1

var nobody = key{need: math.MaxInt32, total: math.MaxInt32, expire: math.MaxInt64}

func (a key) minOf(b key) key {
	return key{min(a.need, b.need), min(a.total, b.total), min(a.expire, b.expire)}
}

// pushJob appends a job at the tail.
func (q *queue) pushJob(j *Job, k key) {
	if len(q.jobs) == q.size {
		q.rebuildTree()
	}
	j.ticket = q.base + int64(len(q.jobs))
	j.queued = true
	q.jobs = append(q.jobs, j)
	q.count++
	q.updateKey(len(q.jobs)-1, k)
}

func (q *queue) removeJob(j *Job) {
	i := int(j.ticket - q.base)
	q.jobs[i] = nil
	j.queued = false
	q.count--
	q.updateKey(i, nobody)
}

// rebuildTree drops the holes and makes room: twice as much as is in use, so that
// it happens once in as many pushes.
func (q *queue) rebuildTree() {
	size := 16
	for size < 2*(q.count+1) {
		size *= 2
	}
	old, oldTree, oldSize := q.jobs, q.tree, q.size
	q.jobs, q.size = make([]*Job, 0, size), size
	q.base += int64(len(old)) // tickets only ever grow
	q.tree = make([]key, 2*size)
	for i := range q.tree {
		q.tree[i] = nobody
	}
	for i, j := range old {
		if j == nil {
			continue
		}
		j.ticket = q.base + int64(len(q.jobs))
		q.tree[size+len(q.jobs)] = oldTree[oldSize+i]
		q.jobs = append(q.jobs, j)
	}
	for i := size - 1; i > 0; i-- {
		q.tree[i] = q.tree[2*i].minOf(q.tree[2*i+1])
	}
}

func (q *queue) updateKey(i int, k key) {
	n := q.size + i
	q.tree[n] = k
	for n >>= 1; n > 0; n >>= 1 {
		k := q.tree[2*n].minOf(q.tree[2*n+1])
		if q.tree[n] == k {
			return
		}
		q.tree[n] = k
	}
}

// firstAfter finds the first job behind the ticket `after` whose subtree keys all
// satisfy want; want must hold for a node if it holds for a leaf below it.
func (q *queue) firstAfter(after int64, want func(key) bool) *Job {
	if q.count == 0 {
		return nil
	}
	from := max(0, int(after+1-q.base))
	if from >= len(q.jobs) {
		return nil
	}
	// Climb from the leaf until a subtree to the right may hold one, descend.
	n := q.size + from
	for !want(q.tree[n]) {
		for n&1 == 1 { // a right child: its parent's right neighbour is next
			n >>= 1
		}
		if n == 0 {
			return nil
		}
		n++
	}
	for n < q.size {
		n *= 2
		if !want(q.tree[n]) {
			n++
		}
	}
	return q.jobs[n-q.size]
}

// headJob is the first job of the queue.
func (q *queue) headJob() *Job { return q.firstAfter(math.MinInt64/2, isOccupied) }

// nextJob is the job behind j.
func (q *queue) nextJob(j *Job) *Job { return q.firstAfter(j.ticket, isOccupied) }

func isOccupied(k key) bool { return k.need != math.MaxInt32 || k.total != math.MaxInt32 }

// queueKey says what must be free before placing the job is worth a try: its
// largest component in one cluster, or all of it together if the policy may
// split it. What fits into some cluster's own queue needs nothing to be free.
func (w *World) queueKey(spec *core.Job, expire int64) key {
	k := key{need: math.MaxInt32, total: math.MaxInt32, expire: expire}
	largest := 0
	for i := range spec.Components {
		if comp := &spec.Components[i]; comp.Min > largest && !w.takenByQueue(comp) {
			largest = comp.Min
		}
	}
	if largest > 0 && w.PlacePolicy(spec) == core.FlexibleMin {
		k.total = int32(min(spec.MinSize(), math.MaxInt32-1))
	} else {
		k.need = int32(min(largest, math.MaxInt32-1))
	}
	return k
}

// takenByQueue reports whether some cluster with a queue of its own would take
// the component.
func (w *World) takenByQueue(comp *core.Component) bool {
	for _, c := range w.clusters {
		if c.spec.Managed && !c.HasQueueLimit() && comp.Min <= c.UsableProcs() && c.MeetsRequirements(comp) {
			return true
		}
	}
	return false
}
