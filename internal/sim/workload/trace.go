package workload

import (
	"fmt"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Stats is what became of the records of a trace.
type Stats struct {
	Records  int    // in the trace
	Jobs     int    // made of them
	Flexible int    // jobs that became moldable or malleable
	Killed   int    // jobs cut off at the time their user asked for
	Skipped  []Skip // records that made no job, by reason, in the order first seen
}

// Skip counts the records that were left out for one reason.
type Skip struct {
	Reason string
	Count  int
}

func (s *Stats) skipRecord(reason string) {
	for i := range s.Skipped {
		if s.Skipped[i].Reason == reason {
			s.Skipped[i].Count++
			return
		}
	}
	s.Skipped = append(s.Skipped, Skip{reason, 1})
}

// tooLarge is the reason for which lenient reading leaves a job out.
const tooLarge = "needs more cores than the largest cluster has"

// FromTrace makes jobs of the records of a trace. It keeps only what it needs
// of them, so the trace itself can be let go. A run time of 0 stays 0: such a
// job ends when it starts. Records that do not say enough are left out and
// counted; errors are *badinput.Error.
func FromTrace(t *swf.Trace, o TraceOptions) (Source, Stats, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, Stats{}, err
	}
	s := &traceSource{
		options:  o,
		programs: programs{index: map[program]int32{}},
		users:    users{index: map[int32]int32{}},
	}
	stats := Stats{Records: len(t.Records)}
	s.records = make([]traceRecord, 0, len(t.Records))
	for i := range t.Records {
		if o.First > 0 && len(s.records) == o.First {
			break
		}
		if err := s.takeRecord(&t.Records[i], &stats); err != nil {
			return nil, stats, err
		}
	}
	stats.Jobs = len(s.records)
	return s, stats, nil
}

// traceRecord is what a job needs of its record.
type traceRecord struct {
	submit   core.Time
	run      time.Duration
	limit    time.Duration
	label    int64
	procs    int32
	program  int32
	user     int32
	flexible bool
}

type traceSource struct {
	options  TraceOptions
	records  []traceRecord
	programs programs
	users    users
	next     int
	parts    components
}

func (s *traceSource) Len() int { return len(s.records) }

// takeRecord adds the job of a record, if it makes one.
func (s *traceSource) takeRecord(r *swf.Record, stats *Stats) error {
	o := &s.options
	if ok, why := r.IsUsable(); !ok {
		stats.skipRecord(why)
		return nil
	}
	procs := r.NeededProcs()
	if o.MaxProcs > 0 && procs > o.MaxProcs {
		if !o.Lenient {
			return tooLargeFor(r, o)
		}
		stats.skipRecord(tooLarge)
		return nil
	}
	c := traceRecord{
		submit:   s.scaledSubmit(r.Submit),
		run:      r.Run,
		limit:    r.EstimatedTime(),
		label:    r.ID,
		procs:    int32(procs),
		program:  s.programs.programIndex(r, o),
		user:     s.users.userIndex(r),
		flexible: o.Kind != core.Rigid && HashFraction(o.Seed, malleableStream, uint64(r.ID)) < o.Share,
	}
	if o.Overrun == OverrunKilled && c.run > c.limit {
		c.run = c.limit
		stats.Killed++
	}
	if o.Estimates == ExactEstimates {
		c.limit = c.run
	}
	if c.flexible {
		stats.Flexible++
	}
	s.records = append(s.records, c)
	return nil
}

func tooLargeFor(r *swf.Record, o *TraceOptions) error {
	field := "requested processors"
	if r.RequestedProcs <= 0 {
		field = "allocated processors"
	}
	return &tooLargeError{job: r.ID, bad: &badinput.Error{
		File:  o.File,
		Field: fmt.Sprintf("job %d, %s", r.ID, field),
		Value: strconv.Itoa(r.NeededProcs()),
		Want:  fmt.Sprintf("at most %d, what the largest cluster has", o.MaxProcs),
	}}
}

// scaledSubmit moves a submission towards the first by the load factor.
func (s *traceSource) scaledSubmit(at core.Time) core.Time {
	if s.options.Load == 1 || len(s.records) == 0 {
		return at
	}
	first := s.records[0].submit
	return first + core.Time(float64(at-first)/s.options.Load)
}

func (s *traceSource) NextJob(j *Job) bool {
	if s.next == len(s.records) {
		return false
	}
	r := &s.records[s.next]
	s.next++
	a := s.programs.apps[r.program]
	*j = Job{Submit: r.submit, App: a, Limit: r.limit, Label: r.label}
	j.Spec = core.Job{ID: core.JobID(s.next), User: s.users.names[r.user], App: a.Name}
	c := core.Component{Min: int(r.procs), Max: int(r.procs)}
	if r.flexible {
		s.stretchJob(j, r, &c)
	} else {
		j.Run = r.run
	}
	j.Spec.Estimate = j.Limit
	j.Spec.Components = s.parts.singleComponent(c)
	return true
}

// stretchJob makes the job one that can run with more or fewer processors, and
// with those of the trace takes exactly as long as there.
func (s *traceSource) stretchJob(j *Job, r *traceRecord, c *core.Component) {
	j.Spec.Kind = s.options.Kind
	c.Min, c.Max = s.options.sizeRange(int(r.procs))
	here := j.App.WorkRate(int(r.procs), 1)
	j.Work = r.run.Seconds() * here
	j.Limit = core.DurationFromSeconds(r.limit.Seconds() * here / j.App.WorkRate(c.Min, 1))
}
