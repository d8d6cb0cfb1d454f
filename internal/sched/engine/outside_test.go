package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// outside is a small model of everything beyond the engine: the processors as
// they really are, and programs that are started, asked and stopped, and that
// answer late, more than once, or not at all. It complains when the engine
// gives a processor to two programs or starts a job twice.
type outside struct {
	*rand.Rand
	spec     world.Spec
	owner    [][]int64 // by cluster and processor: a job, nobody, somebody else, down
	queues   [][]*piece
	used     []int // of managed clusters
	attempts []*attempt
	news     []core.Input // of clusters and whoever submits, in order
	returned map[core.JobID]bool
	heard    []core.Input // what attempts said, to be said again
	calm     bool         // nothing bad happens any more
	wrong    error
}

const (
	nobody   = 0
	somebody = -1
	down     = -2
)

// attempt is one epoch of a job as it really is.
type attempt struct {
	job     core.JobID
	epoch   core.Epoch
	spec    *core.Job
	pieces  []*piece
	outbox  []core.Input // not delivered yet, in order
	offers  []core.Command
	running bool
	leaving bool
	dead    bool // over, or on a host that failed: it does nothing more
}

// piece is a part of an attempt in one cluster.
type piece struct {
	of      *attempt
	part    int
	cluster core.ClusterID
	size    int
	procs   core.ProcSet
	alone   bool // the only part: claimed and started by one command
	started bool // by a cluster's own queue
	least   int
	returns int // how often it gave processors back by itself
}

func newOutside(spec world.Spec, seed uint64) *outside {
	o := &outside{returned: map[core.JobID]bool{}, Rand: rand.New(rand.NewPCG(seed, 1)), spec: spec,
		queues: make([][]*piece, len(spec.Clusters)), used: make([]int, len(spec.Clusters))}
	for _, c := range spec.Clusters {
		o.owner = append(o.owner, make([]int64, clusterSize(c)))
	}
	return o
}

func clusterSize(c world.ClusterSpec) int {
	n := 0
	for _, h := range c.Hosts {
		n += h.Procs
	}
	return n
}

func (o *outside) complain(format string, args ...any) {
	if o.wrong == nil {
		o.wrong = fmt.Errorf(format, args...)
	}
}

// carryOut does what the engine wants. What a part needs at least the program
// would know by itself.
func (o *outside) carryOut(c core.Command, j *world.Job) {
	if c.Kind == core.Describe {
		in := core.Input{Kind: core.Described, Job: c.Job}
		if o.calm || o.IntN(4) > 0 { // else there is no cluster where it may run
			spec := *j.Spec()
			spec.Estimate++
			in.Spec = &spec
		}
		o.news = append(o.news, in)
		return
	}
	if c.Kind == core.Assess {
		o.news = append(o.news, o.assess(c, j))
		return
	}
	a := o.attempt(c.Job, c.Epoch)
	if c.Kind == core.Release {
		o.release(a)
		return
	}
	if a == nil {
		for _, other := range o.attempts {
			if other.job == c.Job && other.epoch > c.Epoch {
				o.complain("%v for epoch %d of job %d, which has epoch %d", c.Kind, c.Epoch, c.Job, other.epoch)
			}
		}
		a = &attempt{job: c.Job, epoch: c.Epoch, spec: j.Spec()}
		o.attempts = append(o.attempts, a)
	}
	switch c.Kind {
	case core.Stage:
		a.say(core.Input{Kind: core.Staged, Part: c.Part})
	case core.Claim:
		o.claim(a, c, j)
	case core.Start:
		o.start(a, c, j)
	case core.Acquire:
		o.acquire(a, c)
	case core.Offer:
		a.offers = append(a.offers, c)
	case core.Stop:
		a.leaving = true
	}
}

// assess is what is predicted of a job: nothing, or that it ends sooner or later elsewhere.
func (o *outside) assess(c core.Command, j *world.Job) core.Input {
	in := core.Input{Kind: core.Assessed, Job: c.Job, Epoch: c.Epoch}
	if o.IntN(5) == 0 {
		return in
	}
	in.Assessment = &core.Assessment{Promise: 100, Left: 60, Done: 0.4, Phases: o.IntN(20)}
	for id := range o.owner {
		comp := &j.Spec().Components[0]
		in.Assessment.Options = append(in.Assessment.Options, core.MoveOption{Cluster: core.ClusterID(id),
			Size: comp.Min + o.IntN(comp.Max-comp.Min+1), Left: float64(o.IntN(100)), Cost: core.MoveCost{Other: float64(o.IntN(30))}})
	}
	return in
}

// acquire gives a part what its cluster has of what it is asked for.
func (o *outside) acquire(a *attempt, c core.Command) {
	in := core.Input{Kind: core.Granted, Part: c.Part, Serial: c.Serial}
	if p := a.piece(c.Part); p != nil && a.running {
		in.N = min(c.N, max(0, len(o.owner[p.cluster])-o.used[p.cluster]))
		p.size += in.N
		o.used[p.cluster] += in.N
	}
	a.say(in)
}

func (o *outside) attempt(job core.JobID, epoch core.Epoch) *attempt {
	for _, a := range o.attempts {
		if a.job == job && a.epoch == epoch {
			return a
		}
	}
	return nil
}

// say queues a message of an attempt.
func (a *attempt) say(in core.Input) {
	in.Job, in.Epoch = a.job, a.epoch
	a.outbox = append(a.outbox, in)
}

func (a *attempt) piece(part int) *piece {
	for _, p := range a.pieces {
		if p.part == part {
			return p
		}
	}
	return nil
}

func (o *outside) claim(a *attempt, c core.Command, j *world.Job) {
	switch p := a.piece(c.Part); {
	case p != nil: // told twice
		if !o.spec.Clusters[c.Cluster].Managed {
			a.say(core.Input{Kind: core.Claimed, Part: c.Part})
		}
	case o.spec.Clusters[c.Cluster].Managed:
		p = &piece{of: a, part: c.Part, cluster: c.Cluster, size: c.N, least: c.N, alone: c.Kind == core.Start}
		a.pieces = append(a.pieces, p)
		o.queues[c.Cluster] = append(o.queues[c.Cluster], p)
	case o.take(a.job, c.Cluster, c.Procs):
		a.pieces = append(a.pieces, &piece{of: a, part: c.Part, cluster: c.Cluster, size: c.N, procs: c.Procs,
			least: leastOf(j, c)})
		a.say(core.Input{Kind: core.Claimed, Part: c.Part})
	default:
		o.lost(a, c)
	}
}

// leastOf is the minimum of the part that is claimed. A claim may be followed
// by its release in the same breath: then it does not matter.
func leastOf(j *world.Job, c core.Command) int {
	if p := j.Part(c.Part); p != nil && j.Epoch() == c.Epoch {
		return p.MinSize()
	}
	return c.N
}

func (o *outside) lost(a *attempt, c core.Command) {
	in := core.Input{Kind: core.ClaimLost, Part: c.Part}
	if o.IntN(3) > 0 {
		in.Procs = o.with(c.Cluster, somebody, down)
	}
	a.say(in)
}

func (o *outside) start(a *attempt, c core.Command, j *world.Job) {
	if len(a.pieces) == 0 || len(a.pieces) == 1 && len(c.Procs) > 0 { // one part: claim and run
		if a.piece(0) == nil {
			o.claim(a, c, j)
		}
		if p := a.piece(0); p == nil || len(c.Procs) == 0 {
			return // lost, or in the cluster's own queue
		}
		a.outbox = slices.DeleteFunc(a.outbox, func(in core.Input) bool { return in.Kind == core.Claimed })
	}
	o.run(a)
}

func (o *outside) run(a *attempt) {
	for _, other := range o.attempts {
		if other != a && other.job == a.job && other.running && !other.dead {
			o.complain("job %d runs in epochs %d and %d", a.job, other.epoch, a.epoch)
		}
	}
	a.running = true
	a.say(core.Input{Kind: core.Started})
}

// take gives processors to a job, unless somebody else was faster.
func (o *outside) take(job core.JobID, c core.ClusterID, procs core.ProcSet) bool {
	free := true
	each(procs, func(p int) {
		switch by := o.owner[c][p]; {
		case by == somebody || by == down:
			free = false
		case by > 0 && by != int64(job):
			o.complain("processor %d of cluster %d is given to job %d, job %d has it", p, c, job, by)
		}
	})
	if free {
		o.mark(c, procs, int64(job))
	}
	return free
}

func each(procs core.ProcSet, f func(p int)) {
	for _, r := range procs {
		for p := r.Lo; p < r.Hi; p++ {
			f(int(p))
		}
	}
}

// mark changes the owner of processors; those that are down stay down.
func (o *outside) mark(c core.ClusterID, procs core.ProcSet, by int64) {
	each(procs, func(p int) {
		if o.owner[c][p] != down {
			o.owner[c][p] = by
		}
	})
}

// with lists the processors of certain owners.
func (o *outside) with(c core.ClusterID, owners ...int64) core.ProcSet {
	var set core.ProcSet
	for p, by := range o.owner[c] {
		if !slices.Contains(owners, by) {
			continue
		}
		if k := len(set); k > 0 && set[k-1].Hi == int32(p) {
			set[k-1].Hi++
		} else {
			set = append(set, core.Range{Lo: int32(p), Hi: int32(p) + 1})
		}
	}
	return set
}

// vacate takes an attempt off its processors.
func (o *outside) vacate(a *attempt) {
	for _, p := range a.pieces {
		o.mark(p.cluster, p.procs, nobody)
		if o.spec.Clusters[p.cluster].Managed {
			o.queues[p.cluster] = slices.DeleteFunc(o.queues[p.cluster], func(q *piece) bool { return q == p })
			if p.started {
				o.used[p.cluster] -= p.size
			}
		}
	}
	a.pieces, a.offers, a.running = nil, nil, false
}

func (o *outside) release(a *attempt) {
	if a == nil {
		return
	}
	o.vacate(a)
	a.dead = true // what it said before may still arrive
}

// startQueued lets clusters' own queues start what fits, first come first
// served.
func (o *outside) startQueued() {
	for c := range o.queues {
		for i := 0; i < len(o.queues[c]); i++ {
			p := o.queues[c][i]
			if p.started {
				continue
			}
			if o.used[c]+p.size > len(o.owner[c]) {
				break
			}
			p.started = true
			o.used[c] += p.size
			if p.alone {
				o.run(p.of)
			} else {
				p.of.say(core.Input{Kind: core.Claimed, Part: p.part})
			}
		}
	}
}
