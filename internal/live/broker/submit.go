package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// Submit takes in a job whose work folder, if it has one, is the given tree of
// the depot. It returns one number, or one for each element of an array, once
// they are durable.
func (b *Broker) Submit(ctx context.Context, spec *jobfile.Job, work string) ([]core.JobID, error) {
	owner, err := b.user(ctx)
	if err == nil {
		err = b.acceptable(ctx, spec, work)
	}
	if err != nil {
		return nil, err
	}
	allowed, err := b.allowed(ctx, spec)
	if err != nil {
		return nil, err
	}
	if n, err := b.Live(ctx); err == nil && n == 0 {
		b.feelAll(ctx) // nobody has looked for a while
	}
	if spec.Pattern != nil {
		b.patterns.Store(true)
		for _, c := range b.clusters() {
			b.tellNetwork(c)
		}
	}
	need, why := b.need(ctx, spec)
	inputs, err := b.locate(ctx, spec)
	if err != nil {
		return nil, err
	}
	bring := b.bringTimes(ctx, inputs)
	quotes := b.quotes(ctx, spec, allowed, need, bring)
	wants, err := b.resolve(ctx, spec)
	if err != nil {
		return nil, err
	}
	var ids []core.JobID
	var refused error
	for again := true; again; {
		caught, over := b.catchUp(ctx, spec, work, wants)
		err = b.ask(ctx, func(t *turn) {
			if again = t.countOver(wants) != over; again {
				return // another of those it waits for came home just now
			}
			if known, e := t.taken(owner, spec.Key); known != nil || e != nil {
				ids, refused = known, e
				return
			}
			proto := t.coreJob(owner, spec, allowed, need, bring)
			if reason, ok := t.b.eng.EverFits(proto); !ok {
				refused = neverFits(spec, reason)
				return
			}
			ids, refused = t.submitAll(owner, spec, caught, inputs, wants, proto, why, quotes)
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, refused
}

// neverFits names the field that asks for too much.
func neverFits(spec *jobfile.Job, reason core.Reason) error {
	if reason.Code == core.NeverMemory {
		return &badinput.Error{Field: "memory", Value: SizeText(spec.Memory), Problem: reason.String()}
	}
	return &badinput.Error{Field: "procs", Value: fmt.Sprint(spec.Min), Problem: reason.String()}
}

// acceptable refuses what could never run.
func (b *Broker) acceptable(ctx context.Context, spec *jobfile.Job, work string) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if work == "" || b.opt.Depot == nil {
		return nil
	}
	chunks, err := b.depot(ctx)
	if err != nil {
		return err
	}
	if there, err := chunks.HasTree(ctx, depot.ID(work)); err != nil || !there {
		return &badinput.Error{Field: "work", Value: work, Want: "a work folder that was brought here before", Err: err}
	}
	return nil
}

func (t *turn) submitAll(owner User, spec *jobfile.Job, work string, inputs []store.Input, wants []want, proto *core.Job, why string, quotes []Quote) ([]core.JobID, error) {
	var ids []core.JobID
	parent, atOnce := core.JobID(0), 0
	indices := indices(spec.Array)
	waits, err := t.waitsOf(owner, spec, wants, indices)
	if err != nil {
		return nil, err
	}
	if err := t.b.reserveNumbers(len(indices)); err != nil {
		return nil, err
	}
	if spec.Array.Len() > 0 {
		parent, atOnce = t.b.nextJob, spec.Array.AtOnce
	}
	in := 0
	for n, index := range indices {
		id := t.b.nextJob
		t.b.nextJob++
		unique := newUnique()
		if n == 0 { // the first of an array stands for all of them
			unique = uniqueOf(owner, spec.Key)
		}
		j := newJob(store.Job{ID: id, Unique: unique, User: owner.Name, Owner: owner.ID, Submitted: t.now, Parent: parent, Spec: spec,
			Index: index, State: core.Submitted, Deadline: proto.Deadline, Work: work, Named: spec.Stdout+spec.Stderr != "", NamesOutputs: len(spec.Outputs) > 0,
			Inputs: slices.Clone(inputs), After: waits[n], PinnedTo: spec.StartOn})
		if spec.Begin > 0 {
			j.rec.NotBefore = t.now.Add(spec.Begin)
		}
		t.b.jobs[id] = j
		t.touch(j)
		ids = append(ids, id)
		t.explain(j, "submit", "accepted", why, estimateInputs(proto))
		t.explainAway(j)
		if spec.StartOn != "" {
			t.explain(j, "submit", "to start on "+spec.StartOn, "planned by its workflow; it may be moved from there", nil)
		}
		if t.waitsFirst(j) {
			continue
		}
		if atOnce > 0 && in >= atOnce {
			j.held = true
			j.rec.Reason = fmt.Sprintf("at most %d jobs of the array run at once", atOnce)
			continue
		}
		in++
		t.enter(j, proto)
		t.quoted(j, quotes)
	}
	return ids, nil
}

// indices lists those of an array; of a job that is none it is one that means
// nothing.
func indices(a jobfile.ArrayRange) []int {
	if a.Len() == 0 {
		return []int{0}
	}
	return a.Indices()
}

// enter hands a job to the engine.
func (t *turn) enter(j *job, proto *core.Job) {
	j.held = false
	spec := *proto
	spec.ID = j.rec.ID
	in := core.Input{Kind: core.Submit, Spec: &spec}
	if c := t.b.clusterNamed(j.rec.PinnedTo); c != nil {
		in.Aim = core.AimAt(c.id)
	}
	t.step(&in)
}

// next lets the next element of an array in when one of them has ended.
func (t *turn) next(ended *job) {
	if ended.rec.Parent == 0 {
		return
	}
	var first *job
	for _, j := range t.b.jobs { // the lowest number is sought, in whatever order
		if j.held && !j.awaits && j.rec.Parent == ended.rec.Parent && (first == nil || j.rec.ID < first.rec.ID) {
			first = j
		}
	}
	if first != nil {
		t.letIn(first)
	}
}

// seating is a job's pattern, or one in which nobody talks, if it has none but is to be on
// several hosts: it then holds as many processors on each, and waits for those.
func seating(spec *jobfile.Job) *core.Pattern {
	if spec.Pattern != nil || spec.Nodes < 2 || spec.Min != spec.Max || spec.Min%spec.Nodes != 0 {
		return spec.Pattern
	}
	return &core.Pattern{Nodes: spec.Nodes}
}

// estimateInputs is what is known of how long a job runs; nil if nothing is.
func estimateInputs(j *core.Job) map[string]any {
	if j.Estimate == 0 {
		return nil
	}
	return map[string]any{"estimate_s": j.Estimate.Seconds(), "spread": j.Spread}
}

// coreJob is the job as the engine sees it; it has no number yet.
func (t *turn) coreJob(owner User, spec *jobfile.Job, allowed []core.ClusterID, need predict.Demand, bring []time.Duration) *core.Job {
	program, _ := history.Program(spec.Argv)
	proto := &core.Job{ID: t.b.nextJob, Name: spec.Name, User: owner.Name, App: program, Kind: spec.Kind, Place: spec.Place,
		Retries: spec.Retries, Components: []core.Component{{Min: spec.Min, Max: spec.Max, Memory: spec.Memory, Clusters: allowed, Bring: bring, Pattern: seating(spec), Trials: t.b.trials(spec, t.now)}}}
	if proto.Place == core.PlaceDefault {
		proto.Place = core.PlacePolicy(t.b.defaultPlace.Load())
	}
	if spec.Deadline > 0 {
		proto.Deadline = t.now.Add(spec.Deadline)
	}
	if need.Known() {
		proto.Estimate = core.Seconds(need.Work.Median() / float64(max(1, spec.Min)))
		proto.Spread, proto.Waiting = spread(need.Work), need.Waiting
	}
	return proto
}

// allowed lists the clusters where the job may run: those its user names, and
// that are as reliable as its user wants; nil if all are.
func (b *Broker) allowed(ctx context.Context, spec *jobfile.Job) ([]core.ClusterID, error) {
	slurmOnly, err := b.slurmOnly(spec)
	if err != nil {
		return nil, err
	}
	if len(spec.On) == 0 && spec.Reliability == 0 && !slurmOnly {
		return nil, nil
	}
	var list []core.ClusterID
	for _, name := range spec.On {
		if _, err := b.target("on", name); err != nil {
			return nil, err
		}
	}
	var best float64
	for _, c := range b.offered() {
		if len(spec.On) > 0 && !slices.Contains(spec.On, c.Name) || slurmOnly && managerOf(c.Kind) != jobfile.Slurm {
			continue
		}
		if spec.Reliability > 0 {
			runs, err := b.opt.Store.Runs(ctx, store.Past{Cluster: c.Name, Limit: recent})
			if err != nil {
				return nil, err
			}
			r := history.ReliabilityOf(runs)
			best = max(best, r.Mean())
			if r.Mean() < spec.Reliability {
				continue
			}
		}
		list = append(list, c.id)
	}
	if len(list) == 0 {
		return nil, &badinput.Error{Field: "reliability", Value: fmt.Sprint(spec.Reliability),
			Want: fmt.Sprintf("at most %.2f: no cluster where it may run is known to be more reliable", best)}
	}
	return list, nil
}

// recent is how many rows of history an estimate looks at.
const recent = 500

// need is what the job has to do, and how that is known: its user said so, or its
// program ran before. Unknown if neither.
func (b *Broker) need(ctx context.Context, spec *jobfile.Job) (predict.Demand, string) {
	estimate := spec.Estimate.Round(time.Millisecond)
	switch {
	case estimate > 0 && spec.EstimateBy != "":
		return predict.Demand{Work: predict.LogNormal(spec.Estimate.Seconds(), spec.EstimateSpread)},
			fmt.Sprintf("estimate of %s: %s s CPU", spec.EstimateBy, span(estimate.Seconds()))
	case estimate > 0:
		return predict.Demand{Work: predict.LogNormal(spec.Estimate.Seconds(), userSpread)},
			fmt.Sprintf("user estimate: %s s CPU", span(estimate.Seconds()))
	}
	program, args := history.Program(spec.Argv)
	runs, err := b.runsOf(ctx, program)
	if err != nil {
		return predict.Demand{}, "the history cannot be read: " + err.Error()
	}
	procs := max(1, spec.Min)
	alone := history.AloneOf(runs, program, args, procs)
	if d, ok := predict.FromQuantiles(alone.Quantiles); ok {
		return predict.Demand{Work: d.Scale(float64(procs)), Waiting: alone.Waiting}, "from " + alone.Why
	}
	quantiles, why, _ := history.Need(runs, program, args)
	if d, ok := predict.FromQuantiles(quantiles); ok {
		return predict.Demand{Work: d}, "from " + why
	}
	return predict.Demand{}, "unknown run time: no earlier run of " + program + " and no estimate"
}

// userSpread is how far users' own estimates are off, as a standard deviation
// of the logarithm; a job file without a history gives nothing better.
const userSpread = 0.1

// spread is the standard deviation of the logarithm of a distribution.
func spread(d predict.Dist) float64 {
	const score90 = 1.2816
	lo, hi := d.Quantile(0.1), d.Quantile(0.9)
	if lo <= 0 || hi <= lo {
		return 0.01
	}
	return logRatio(hi, lo) / (2 * score90)
}

func newUnique() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
