package localq

import (
	"fmt"
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Policy is the order in which waiting jobs start.
type Policy uint8

// The policies.
const (
	FCFS Policy = iota // first come first served: nobody passes the head
	EASY               // backfilling in the order of submission
	SJBF               // EASY++: backfilling, the shortest estimate first
)

// Options are the rules on which implementations differ; the zero value is
// what agrees with the published schedules. See the package comment.
type Options struct {
	OncePerInstant bool // one pass an instant, after all its events; the next two are then without effect
	EndsFirst      bool // the ends of an instant before its arrivals
	EndsInTurn     bool // ends at the estimate are events like ends before it
	ExtraInOrder   bool // of several ends at the shadow time only those that the head needs count
}

// Job is what the queue knows of a job. An estimate below 0 is taken as 0.
type Job struct {
	ID       int64
	Procs    int
	Estimate time.Duration
}

// Queue is the queue and the running jobs of one cluster. It is not safe for
// use by several goroutines.
//
// The caller tells it all events of an instant with Submit, End, Cancel and
// SetCapacity, and then calls Schedule for that instant. If jobs that have
// just started end in the same instant, that is repeated. Time must not go
// back.
type Queue struct {
	policy   Policy
	opts     Options
	capacity int
	free     int // below 0 when more is in use than the capacity
	seq      int64

	jobs  []job
	spare []int32
	ids   map[int64]int32

	// Events of this instant that wait for their pass.
	arrivals []int32
	coming   int // arrivals that have not been cancelled since
	ends     []int32
	ending   int   // processors of those in ends
	punctual int64 // seq of the first punctual end of this instant, or 0
	passed   bool  // Schedule has made a pass

	line    line    // all queued jobs, arrivals not
	head    int32   // the first of them, or none
	behind  waiting // all of them but the head; empty under FCFS
	running running
	active  int // running jobs, ends not included

	settled bool // no queued job can start before something changes
	reserved
	started []int64
}

type job struct {
	shape
	id    int64
	seq   int64 // order of submission; of the start once it runs
	leaf  int32 // in behind or in running
	place int32 // in line
	state state

	nextInClass, prevInClass int32 // see waiting
}

type state uint8

const (
	absent   state = iota
	arriving       // submitted, not yet seen by a pass
	queued
	active
	ending // has ended, its processors not yet given back
)

// New makes the queue of a cluster with that many processors.
func New(policy Policy, capacity int, opts Options) *Queue {
	return &Queue{
		policy: policy, opts: opts, capacity: capacity, free: capacity,
		ids: make(map[int64]int32), head: none,
		behind: waiting{newTrie[shapes](), policy == SJBF}, running: running{newTrie[int]()},
		settled: true,
	}
}

// Submit puts a job at the end of the queue. It is an error if the job needs
// no processors, or 2³¹ and more, or if its ID is that of a queued or running
// job. A job that needs more than the capacity is queued, and waits until
// there is more.
func (q *Queue) Submit(_ core.Time, j Job) error {
	if j.Procs < 1 || j.Procs > math.MaxInt32 {
		return fmt.Errorf("job %d needs %d cores", j.ID, j.Procs)
	}
	if _, known := q.ids[j.ID]; known {
		return fmt.Errorf("job %d is in the queue already", j.ID)
	}
	at := q.allocJob(j)
	q.ids[j.ID] = at
	q.arrivals = append(q.arrivals, at)
	q.coming++
	return nil
}

// EndJob says that a running job has ended. It is false if no job of that ID
// runs.
func (q *Queue) EndJob(now core.Time, id int64) bool {
	at, known := q.ids[id]
	if !known || q.jobs[at].state != active {
		return false
	}
	delete(q.ids, id)
	q.endJob(now, at)
	return true
}

// CancelJob takes a job out of the queue, or ends it if it runs. It is false if
// there is no job of that ID.
func (q *Queue) CancelJob(now core.Time, id int64) bool {
	at, known := q.ids[id]
	if !known {
		return false
	}
	delete(q.ids, id)
	switch q.jobs[at].state {
	case active:
		q.endJob(now, at)
	case arriving:
		q.jobs[at].state = absent // Schedule passes over it
		q.coming--
	case queued:
		q.unqueueJob(at)
		q.dropJob(at)
	}
	return true
}

// SetCapacity says that the cluster now has n processors. If more are in use,
// nothing starts until enough jobs have ended; choosing jobs to end is up to
// the caller.
func (q *Queue) SetCapacity(_ core.Time, n int) {
	q.free += n - q.capacity
	q.capacity = n
	q.invalidatePass()
}

// Capacity is how many processors the cluster has.
func (q *Queue) Capacity() int { return q.capacity }

// FreeProcs is how many of them no job holds.
func (q *Queue) FreeProcs() int { return max(q.free+q.ending, 0) }

// Len is how many jobs wait.
func (q *Queue) Len() int { return q.line.length + q.coming }

// endJob takes the processors back at once if that was to be expected, and else
// when the turn of the event has come.
func (q *Queue) endJob(now core.Time, at int32) {
	q.active--
	j := &q.jobs[at]
	punctual := endOf(q.running.nodes[j.leaf].hi) <= now
	switch {
	case q.opts.OncePerInstant:
		q.releaseProcs(at)
	case punctual && !q.opts.EndsInTurn:
		if q.punctual == 0 || j.seq < q.punctual {
			q.punctual = j.seq
		}
		q.releaseProcs(at)
	default:
		j.state = ending
		q.ending += int(j.procs)
		q.ends = append(q.ends, at)
	}
}

// releaseProcs gives the processors of a job back.
func (q *Queue) releaseProcs(at int32) {
	j := &q.jobs[at]
	q.running.dropJob(j.leaf)
	q.free += int(j.procs)
	q.dropJob(at)
	q.invalidatePass()
}

// startJob gives a job its processors.
func (q *Queue) startJob(now core.Time, at int32) {
	j := &q.jobs[at]
	q.seq++
	j.state, j.seq = active, q.seq
	j.leaf = q.running.addJob(now.Add(j.estimate), j.seq, int(j.procs), at)
	q.free -= int(j.procs)
	q.active++
	q.started = append(q.started, j.id)
}

// enqueueJob appends a job to the queue.
func (q *Queue) enqueueJob(at int32) {
	q.jobs[at].state = queued
	q.line.pushJob(q.jobs, at)
	switch {
	case q.head == none:
		q.head, q.known = at, false
	case q.policy != FCFS:
		q.behind.addJob(q.jobs, at)
	}
}

// unqueueJob takes a job out of the queue; after the head the next one is head.
func (q *Queue) unqueueJob(at int32) {
	q.line.removeJob(&q.jobs[at])
	if at != q.head {
		if q.policy != FCFS {
			q.behind.dropJob(q.jobs, at)
		}
		return
	}
	q.head = q.line.firstJob()
	if q.head != none && q.policy != FCFS {
		q.behind.dropJob(q.jobs, q.head)
	}
	q.invalidatePass()
}

func (q *Queue) allocJob(j Job) int32 {
	var at int32
	if n := len(q.spare); n > 0 {
		at, q.spare = q.spare[n-1], q.spare[:n-1]
	} else {
		if len(q.jobs) == math.MaxInt32 {
			panic("localq: more than 2³¹ jobs at a time")
		}
		at = int32(len(q.jobs))
		q.jobs = append(q.jobs, job{})
	}
	q.seq++
	q.jobs[at] = job{shape: shape{int32(j.Procs), max(j.Estimate, 0)}, id: j.ID, seq: q.seq, state: arriving}
	return at
}

func (q *Queue) dropJob(at int32) {
	q.jobs[at].state = absent
	q.spare = append(q.spare, at)
}
