// Package outcome turns the events of a run into its results: a record per
// job, totals, and series over time. It sees events and nothing else, so a
// replayed log gives the same results as the run that wrote it.
package outcome

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/core"
)

// Record is what became of one job.
type Record struct {
	Submit, Start, End core.Time // Start and End are core.Never if it has not
	Min, Max           int32
	Size               int32 // at present
	MaxSize            int32 // largest
	Cluster            core.ClusterID
	State              core.State
	Malleable          bool
	since              core.Time // of the present size
	area               float64   // processor-seconds so far
}

// MeanSize is the size averaged over the run time.
func (r *Record) MeanSize() float64 {
	if run := r.Run(); run > 0 {
		return r.area / run
	}
	return float64(r.MaxSize)
}

// Run is the execution time in seconds, from the first start.
func (r *Record) Run() float64 { return r.End.Sub(r.Start).Seconds() }

// Response is the time from submission to end in seconds.
func (r *Record) Response() float64 { return r.End.Sub(r.Submit).Seconds() }

// Wait is the time from submission to the first start in seconds.
func (r *Record) Wait() float64 { return r.Start.Sub(r.Submit).Seconds() }

// Summary is the totals of a run. Its JSON names are part of the surface.
type Summary struct {
	Jobs                int     `json:"jobs"`
	Completed           int     `json:"completed"`
	Failed              int     `json:"failed"`
	Unplaced            int     `json:"unplaced"`
	MakespanS           float64 `json:"makespan_s"`
	MeanResponseS       float64 `json:"mean_response_s"`
	MeanWaitS           float64 `json:"mean_wait_s"`
	MeanRunS            float64 `json:"mean_run_s"`
	MeanBoundedSlowdown float64 `json:"mean_bounded_slowdown"`
	Utilization         float64 `json:"utilization"`
	MeanSize            float64 `json:"mean_size"`
	MaxSizeMean         float64 `json:"max_size_mean"`
	GrowOps             int     `json:"grow_ops"`
	ShrinkOps           int     `json:"shrink_ops"`
	Events              int64   `json:"events"`
}

// Collector takes in events. Job numbers must be dense, from 1.
type Collector struct {
	records []Record
	procs   int // of the whole platform
	events  int64
	grows   int
	shrinks int
	used    int
	waiting int
	busy    float64 // processor-seconds
	series  *Series // nil: not wanted
}

// NewCollector collects for a platform of so many processors; with series also
// what happens over time.
func NewCollector(procs, jobs int, series bool) *Collector {
	c := &Collector{procs: procs, records: make([]Record, 0, jobs)}
	if series {
		c.series = &Series{}
	}
	return c
}

// Observe takes in one event.
func (c *Collector) Observe(ev *core.Event) {
	c.events++
	switch ev.Kind {
	case core.JobSubmitted:
		c.submitted(ev)
	case core.JobBecame:
		c.became(ev)
	case core.PartPlanned:
		r := c.at(ev.Job)
		r.Size += int32(ev.N)
		if ev.Part == 0 {
			r.Cluster = ev.Cluster
		}
	case core.PartAnswered:
		c.resized(ev)
	case core.PartGaveBack:
		c.resize(ev.Job, ev.At, -ev.N)
	}
}

func (c *Collector) at(id core.JobID) *Record { return &c.records[id-1] }

func (c *Collector) submitted(ev *core.Event) {
	for len(c.records) < int(ev.Job) {
		c.records = append(c.records, Record{})
	}
	*c.at(ev.Job) = Record{Submit: ev.At, Start: core.Never, End: core.Never, State: core.Submitted, Cluster: core.Nowhere,
		Min: int32(ev.Spec.MinSize()), Max: int32(ev.Spec.MaxSize()), Malleable: ev.Spec.Kind == core.Malleable}
	c.waiting++
	c.note(ev.At)
}

func (c *Collector) became(ev *core.Event) {
	r := c.at(ev.Job)
	was := r.State
	r.State = ev.To
	switch {
	case ev.To == core.Running:
		if r.Start == core.Never {
			r.Start = ev.At
		}
		r.since = ev.At
		r.MaxSize = max(r.MaxSize, r.Size)
		c.used += int(r.Size)
		c.waiting--
	case was == core.Running || was == core.Stopping && ev.To != core.Running:
		if ev.To == core.Stopping {
			return
		}
		c.account(r, ev.At)
		c.used -= int(r.Size)
		r.Size = 0
		if !ev.To.Terminal() {
			c.waiting++
		}
	case ev.To == core.Submitted || ev.To == core.Resuming:
		r.Size = 0 // the placement was given up
	case ev.To.Terminal():
		r.Size = 0
		c.waiting--
	default:
		return
	}
	if ev.To.Terminal() {
		r.End = ev.At
	}
	c.note(ev.At)
}

func (c *Collector) resized(ev *core.Event) {
	if ev.N == 0 {
		return
	}
	if ev.Grow {
		c.grows++
		c.resize(ev.Job, ev.At, ev.N)
	} else {
		c.shrinks++
		c.resize(ev.Job, ev.At, -ev.N)
	}
}

func (c *Collector) resize(id core.JobID, at core.Time, by int) {
	r := c.at(id)
	c.account(r, at)
	r.Size += int32(by)
	r.MaxSize = max(r.MaxSize, r.Size)
	c.used += by
	c.note(at)
}

// account adds what the job has used since its size last changed.
func (c *Collector) account(r *Record, at core.Time) {
	a := float64(r.Size) * at.Sub(r.since).Seconds()
	r.area += a
	c.busy += a
	r.since = at
}

// Records lists the jobs in the order of their numbers.
func (c *Collector) Records() []Record { return c.records }

// Summary is the totals.
func (c *Collector) Summary() Summary {
	s := Summary{Jobs: len(c.records), Events: c.events, GrowOps: c.grows, ShrinkOps: c.shrinks}
	first, last := core.Never, core.Time(math.MinInt64)
	for i := range c.records {
		r := &c.records[i]
		first = min(first, r.Submit)
		switch {
		case r.State == core.Failed:
			s.Failed++
		case !r.State.Terminal():
			s.Unplaced++
		}
		if r.State != core.Done {
			continue
		}
		s.Completed++
		last = max(last, r.End)
		s.MeanResponseS += r.Response()
		s.MeanWaitS += r.Wait()
		s.MeanRunS += r.Run()
		s.MeanBoundedSlowdown += max(1, r.Response()/max(r.Run(), 10))
		s.MeanSize += r.MeanSize()
		s.MaxSizeMean += float64(r.MaxSize)
	}
	if s.Completed == 0 {
		return s
	}
	n := float64(s.Completed)
	s.MeanResponseS /= n
	s.MeanWaitS /= n
	s.MeanRunS /= n
	s.MeanBoundedSlowdown /= n
	s.MeanSize /= n
	s.MaxSizeMean /= n
	s.MakespanS = last.Sub(first).Seconds()
	if s.MakespanS > 0 {
		s.Utilization = c.busy / (float64(c.procs) * s.MakespanS)
	}
	return s
}
