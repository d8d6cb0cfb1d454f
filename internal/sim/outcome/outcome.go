// Package outcome turns the events of a run into its results: a record per
// job, totals, and series over time. It sees events and nothing else, so a
// replayed log gives the same results as the run that wrote it. It must not
// know of policies, programs or the simulator, and it decides nothing but how
// each number is defined (see Record and Summary).
package outcome

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Collector takes in events. Job numbers must be dense, from 1.
type Collector struct {
	records []Record
	spread  map[core.JobID][]core.ClusterID // of jobs in several clusters
	procs   int                             // of the whole platform
	events  int64
	ended   int
	grows   int
	shrinks int
	used    int     // processors in use
	waiting int     // jobs that are neither running nor over
	busy    float64 // processor-seconds
	series  *Series // nil: not wanted
}

// NewCollector collects for a platform of so many processors and about so many
// jobs; with series also what happens over time.
func NewCollector(procs, jobs int, series bool) *Collector {
	c := &Collector{procs: procs, records: make([]Record, 0, jobs), spread: map[core.JobID][]core.ClusterID{}}
	if series {
		c.series = &Series{}
	}
	return c
}

// Records lists the jobs in the order of their numbers.
func (c *Collector) Records() []Record { return c.records }

// EndedJobs is how many jobs are over, however they ended.
func (c *Collector) EndedJobs() int { return c.ended }

// Observe takes in one event.
func (c *Collector) Observe(ev *core.Event) {
	c.events++
	switch ev.Kind {
	case core.JobSubmitted:
		c.jobSubmitted(ev)
	case core.JobBecame:
		c.stateChanged(ev)
	case core.PartPlanned:
		c.partPlanned(ev)
	case core.PartAnswered:
		c.offerAnswered(ev)
	case core.PartGaveBack:
		c.resizeJob(ev.Job, ev.At, -ev.N)
	}
}

func (c *Collector) recordOf(id core.JobID) *Record { return &c.records[id-1] }

func (c *Collector) jobSubmitted(ev *core.Event) {
	for len(c.records) < int(ev.Job) {
		c.records = append(c.records, Record{})
	}
	*c.recordOf(ev.Job) = Record{Submit: ev.At, Start: core.Never, End: core.Never, State: core.Submitted,
		Cluster: core.Nowhere,
		Min:     int32(ev.Spec.MinSize()), Max: int32(ev.Spec.MaxSize()), Kind: ev.Spec.Kind}
	c.waiting++
	c.noteSeries(ev.At)
}

// partPlanned notes where a part will run and how large it will be. A job placed
// anew begins with part 0 again.
func (c *Collector) partPlanned(ev *core.Event) {
	r := c.recordOf(ev.Job)
	if ev.Part == 0 {
		r.size, r.Cluster = 0, ev.Cluster
		delete(c.spread, ev.Job)
	} else if r.Cluster != ev.Cluster || c.spread[ev.Job] != nil {
		c.alsoIn(ev.Job, r.Cluster, ev.Cluster)
	}
	r.size += int32(ev.N)
}

// alsoIn keeps the clusters of a job that runs in more than one.
func (c *Collector) alsoIn(id core.JobID, first, another core.ClusterID) {
	list := c.spread[id]
	if list == nil {
		list = []core.ClusterID{first}
	}
	for _, known := range list {
		if known == another {
			return
		}
	}
	c.spread[id] = append(list, another)
}

func (c *Collector) stateChanged(ev *core.Event) {
	r := c.recordOf(ev.Job)
	was := r.State
	r.State = ev.To
	held := was == core.Running || was == core.Stopping
	switch {
	case ev.To == core.Running:
		c.startRun(r, ev.At)
	case ev.To == core.Stopping:
		return // it holds its processors until it has left
	case held:
		c.accountUse(r, ev.At)
		c.used -= int(r.size)
		r.size = 0
		if !ev.To.IsTerminal() {
			c.waiting++
		}
	case ev.To.IsTerminal():
		r.size = 0
		c.waiting--
	case ev.To.IsWaiting():
		c.goBack(r)
		return
	default:
		return
	}
	if ev.To.IsTerminal() {
		r.End = ev.At
		c.ended++
	}
	c.noteSeries(ev.At)
}

func (c *Collector) startRun(r *Record, at core.Time) {
	if r.Start == core.Never {
		r.Start = at
	}
	r.since = at
	r.MaxSize = max(r.MaxSize, r.size)
	c.used += int(r.size)
	c.waiting--
}

// goBack forgets a placement that came to nothing. Where a job last ran stays
// known while it waits to be resumed.
func (c *Collector) goBack(r *Record) {
	r.size = 0
	if r.Start == core.Never {
		r.Cluster = core.Nowhere
	}
}

// offerAnswered takes in the answer to an offer; one that was refused is no
// operation.
func (c *Collector) offerAnswered(ev *core.Event) {
	switch {
	case ev.N == 0:
	case ev.Grow:
		c.grows++
		c.resizeJob(ev.Job, ev.At, ev.N)
	default:
		c.shrinks++
		c.resizeJob(ev.Job, ev.At, -ev.N)
	}
}

func (c *Collector) resizeJob(id core.JobID, at core.Time, by int) {
	r := c.recordOf(id)
	c.accountUse(r, at)
	r.size += int32(by)
	r.MaxSize = max(r.MaxSize, r.size)
	c.used += by
	c.noteSeries(at)
}

// accountUse adds what the job has used since its size last changed.
func (c *Collector) accountUse(r *Record, at core.Time) {
	passed := at.Sub(r.since)
	used := float64(r.size) * passed.Seconds()
	r.ran += passed
	r.area += used
	c.busy += used
	r.since = at
}
