package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
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

// SubmitJob takes in a job whose work folder, if it has one, is the given tree of
// the depot. It returns one number, or one for each element of an array, once
// they are durable.
func (b *Broker) SubmitJob(ctx context.Context, spec *jobfile.Job, work string) ([]core.JobID, error) {
	owner, err := b.requestUser(ctx)
	if err == nil {
		err = b.hasRoom()
	}
	if err == nil {
		err = b.checkAcceptable(ctx, spec, work)
	}
	if err != nil {
		return nil, err
	}
	allowed, err := b.allowedClusters(ctx, spec)
	if err != nil {
		return nil, err
	}
	if b.alive.Load() == 0 {
		if n, err := b.CountLive(ctx); err == nil && n == 0 {
			b.pollAllLoads(ctx) // nobody has looked for a while
		}
	}
	if spec.Pattern != nil {
		b.patterns.Store(true)
		for _, c := range b.allClusters() {
			b.tellNetwork(c)
		}
	}
	need, why := b.estimates.JobNeed(ctx, spec)
	inputs, err := b.mover.LocateInputs(ctx, spec)
	if err != nil {
		return nil, err
	}
	places, err := b.componentPlaces(ctx, spec, inputs)
	if err != nil {
		return nil, err
	}
	if spec.MPI {
		b.tryReaching(ctx, places)
	}
	var quotes []Quote
	if len(spec.Components) == 0 {
		quotes = b.estimates.QuoteClusters(ctx, spec, allowed, need, places[0].bring)
	}
	wants, err := b.resolveDependencies(ctx, spec)
	if err != nil {
		return nil, err
	}
	var ids []core.JobID
	var refused error
	failures := map[core.JobID][]core.JobID{}
	if len(spec.After) > 0 {
		shared := func(t *turn) []store.Wait { return t.sharedWaits(owner, spec, wants) }
		if failures, err = b.readFailures(ctx, shared); err != nil {
			return nil, err
		}
	}
	for again := true; again; {
		caught, over := b.mergeEarlierResults(ctx, spec, work, wants)
		err = b.askLoop(ctx, func(t *turn) {
			t.b.addFailures(failures)
			if again = t.countOver(wants) != over; again {
				return // another of those it waits for came home just now
			}
			if known, e := t.submittedBefore(owner, spec.Key); known != nil || e != nil {
				ids, refused = known, e
				return
			}
			proto := t.coreJob(owner, spec, places, need)
			if reason, ok := t.b.eng.EverFits(proto); !ok {
				refused = t.b.neverFits(spec, reason)
				return
			}
			ids, refused = t.submitAll(&submission{owner, spec, caught, inputs, wants, proto, why, quotes})
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, refused
}

// hasRoom refuses new jobs while the disk is so full that the store lives on its
// reserve, which is for cancelling and ending those that are there.
func (b *Broker) hasRoom() error {
	reserved, ok := b.opt.Store.(store.Reserved)
	if !ok {
		return nil
	}
	if err := reserved.Short(); errors.Is(err, store.ErrFull) {
		return fmt.Errorf("%w: no new jobs are taken until there is room on the disk of %s; jobs run on and can be cancelled",
			store.ErrFull, b.opt.State)
	}
	return nil
}

// neverFits names the field that asks for too much.
func (b *Broker) neverFits(spec *jobfile.Job, reason core.Reason) error {
	switch reason.Code {
	case core.HostsApart:
		return &badinput.Error{Field: "mpi", Problem: core.ApartSentence(b.clusterName(core.ClusterID(reason.A)),
			b.clusterName(core.ClusterID(reason.B)))}
	case core.NeverMemory:
		return &badinput.Error{Field: "memory", Problem: reason.String()}
	case core.NotReliable:
		return &badinput.Error{Field: "reliability", Value: fmt.Sprint(spec.Reliability),
			Want: fmt.Sprintf("at most %.2f: no cluster where it may run is known to be more reliable", reason.B)}
	}
	return &badinput.Error{Field: "procs", Value: fmt.Sprint(spec.Min), Problem: reason.String()}
}

// checkAcceptable refuses what could never run.
func (b *Broker) checkAcceptable(ctx context.Context, spec *jobfile.Job, work string) error {
	if err := spec.CheckFields(); err != nil {
		return err
	}
	if work == "" || b.opt.Depot == nil {
		return nil
	}
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return err
	}
	if there, err := chunks.HasTree(ctx, depot.ID(work)); err != nil || !there {
		return &badinput.Error{Field: "work", Value: work, Want: "a working directory that was sent before", Err: err}
	}
	return nil
}

// submission is a job, or an array, that is to be taken in, and what was found out
// about it beside the loop.
type submission struct {
	owner  User
	spec   *jobfile.Job
	work   string
	inputs []store.Input
	wants  []resolvedDependency
	proto  *core.Job
	why    string // how its need is known
	quotes []Quote
}

// jobRecord is the record of a new job, without what tells it from others of its array.
func (s *submission) jobRecord(now core.Time) store.Job {
	rec := store.Job{User: s.owner.Name, Owner: s.owner.ID, Submitted: now, Spec: s.spec, State: core.Submitted,
		Deadline: s.proto.Deadline, Work: s.work, Named: s.spec.Stdout+s.spec.Stderr != "",
		NamesOutputs: len(s.spec.Outputs) > 0,
		Inputs:       slices.Clone(s.inputs), PinnedTo: s.spec.StartOn}
	if s.spec.Begin > 0 {
		rec.NotBefore = now.Add(s.spec.Begin)
	}
	return rec
}

// DefaultMaxJobs is how many jobs of one user may be there that have not ended.
const DefaultMaxJobs = 200_000

// countJobs notes that a user has more jobs that have not ended, or fewer.
func (b *Broker) countJobs(owner uint32, n int) {
	b.alive.Add(int64(n))
	if b.jobsOf[owner] += n; b.jobsOf[owner] == 0 {
		delete(b.jobsOf, owner)
	}
}

// checkJobLimit refuses jobs beyond what one user may have.
func (b *Broker) checkJobLimit(owner User, n int) error {
	limit := cmp.Or(b.opt.MaxJobs, DefaultMaxJobs)
	if b.jobsOf[owner.ID]+n <= limit {
		return nil
	}
	return &badinput.Error{Field: "jobs", Value: fmt.Sprint(n), Problem: fmt.Sprintf(
		"too many: %d of yours have not ended, and a user may have %d (limits.jobs in the broker's settings)",
		b.jobsOf[owner.ID], limit)}
}

func (t *turn) submitAll(s *submission) ([]core.JobID, error) {
	spec, owner := s.spec, s.owner
	n := max(1, spec.Array.Len())
	if err := t.b.checkJobLimit(owner, n); err != nil {
		return nil, err
	}
	shared := t.sharedWaits(owner, spec, s.wants)
	if err := t.b.numbers.ReserveFrom(t.b.nextJob, n); err != nil {
		return nil, err
	}
	t.b.countJobs(owner.ID, n)
	if isSplit(spec) {
		return t.submitArray(s, shared), nil
	}
	parent := core.JobID(0)
	if spec.Array.Len() > 0 {
		parent = t.b.nextJob
	}
	var ids []core.JobID
	targets := map[targetKey]core.Target{}
	for i, index := range elementIndices(spec.Array) {
		j := newJob(s.jobRecord(t.now))
		j.rec.ID, j.rec.Unique, j.rec.Parent, j.rec.Index = t.b.nextJob, newUnique(), parent, index
		j.rec.After = append(eachWaitsFor(s.wants, index), shared...)
		if i == 0 { // the first of an array stands for all of them
			j.rec.Unique = uniqueOf(owner, spec.Key)
		}
		t.b.nextJob++
		t.adoptJob(j)
		if a := t.b.arrayOf(&j.rec); a != nil {
			a.progress.unfinished++
		}
		ids = append(ids, j.rec.ID)
		t.explainJob(j, "submit", "accepted", s.why, estimateInputs(s.proto))
		t.explainUnreachable(j)
		t.explainStart(j)
		t.enterEngine(j, &core.Input{Kind: core.Submit, Spec: s.proto}, targets)
		t.recordQuote(j, s.quotes)
	}
	return ids, nil
}

// elementIndices lists those of an array; of a job that is none it is one that means
// nothing.
func elementIndices(a jobfile.ArrayRange) []int {
	if a.Len() == 0 {
		return []int{0}
	}
	return a.Indices()
}

// explainStart says where a workflow wants a job to start.
func (t *turn) explainStart(j *job) {
	if on := j.spec.StartOn; on != "" {
		t.explainJob(j, "submit", "to start on "+on, "planned by its workflow; it may be moved from there", nil)
	}
}

// enterEngine hands a job to the engine, with what tells it from others of its array.
// targets are those that were counted before in the same turn.
func (t *turn) enterEngine(j *job, in *core.Input, targets map[targetKey]core.Target) {
	spec := *in.Spec
	spec.ID, spec.Begin = j.rec.ID, j.rec.NotBefore
	spec.Array, spec.ArrayLimit = j.rec.Parent, j.spec.Array.AtOnce
	spec.After = t.engineDependencies(j, targets)
	submit := *in
	submit.Spec, submit.Hold = &spec, j.spec.Hold
	if c := t.b.clusterNamed(j.rec.PinnedTo); c != nil {
		submit.Aim = core.AimAt(c.id)
	}
	t.countIn(j)
	t.stepEngine(&submit)
}

// hostPattern is a job's pattern, or one in which nobody talks, if it has none but is to be on
// several hosts: it then holds as many processors on each, and waits for those.
func hostPattern(spec *jobfile.Job) *core.Pattern {
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

// componentPlace is where a component of a job may run, and how long its inputs take to get there,
// by the number of the cluster.
type componentPlace struct {
	allowed []core.ClusterID
	bring   []time.Duration
}

// componentPlaces finds that out for each component of a job.
func (b *Broker) componentPlaces(ctx context.Context, spec *jobfile.Job,
	inputs []store.Input) ([]componentPlace, error) {
	var list []componentPlace
	for i := range max(1, len(spec.Components)) {
		part := spec.ForComponent(i, 1)
		allowed, err := b.allowedClusters(ctx, &part)
		if err != nil {
			return nil, err
		}
		var own []store.Input
		for k := range inputs {
			if inputs[k].IsFor(i) {
				own = append(own, inputs[k])
			}
		}
		list = append(list, componentPlace{allowed, b.mover.BringTimes(ctx, own)})
	}
	return list, nil
}

// coreJob is the job as the engine sees it; it has no number yet.
func (t *turn) coreJob(owner User, spec *jobfile.Job, places []componentPlace, need predict.Demand) *core.Job {
	program, _ := history.SplitCommand(spec.Argv)
	proto := &core.Job{ID: t.b.nextJob, Name: spec.Name, User: owner.Name, App: program, Kind: spec.Kind,
		Place: spec.Place, MaxTries: t.b.opt.MaxTries,
		Retries: spec.Retries, RetryOn: spec.RetryOn, StaysPut: spec.Adapt == jobfile.AdaptOff, Joint: spec.MPI,
		Contract: spec.Contract}
	for i := range max(1, len(spec.Components)) {
		part := spec
		if len(spec.Components) > 0 {
			p := spec.ForComponent(i, spec.Components[i].Procs)
			part = &p
		}
		c := core.Component{Min: part.Min, Max: part.Max, Initial: part.Initial, Memory: part.Memory,
			Pattern: hostPattern(part), OneHost: part.Nodes <= 1, Reliability: part.Reliability,
			Trials: t.b.clusterTrials(part, t.now)}
		if i < len(places) {
			c.Clusters, c.Bring = places[i].allowed, places[i].bring
		}
		proto.Components = append(proto.Components, c)
	}
	if proto.Place == core.PlaceDefault {
		proto.Place = core.PlacePolicy(t.b.defaultPlace.Load())
	}
	if spec.Deadline > 0 {
		proto.Deadline = t.now.Add(spec.Deadline)
	}
	if need.IsKnown() {
		proto.Estimate = core.DurationFromSeconds(need.Work.Median() / float64(max(1, spec.Min)))
		proto.Spread, proto.Waiting = logSpread(need.Work), need.Waiting
	}
	return proto
}

// allowedClusters lists the clusters that the job's user names, or that have what it asks
// for; nil if it asks for nothing in particular. Whether they are as reliable as it wants
// the engine decides, and is told here how reliable they are.
func (b *Broker) allowedClusters(ctx context.Context, spec *jobfile.Job) ([]core.ClusterID, error) {
	slurmOnly, err := b.slurmOnly(spec)
	if err != nil {
		return nil, err
	}
	if spec.Reliability > 0 {
		if err := b.rateClusters(ctx); err != nil {
			return nil, err
		}
	}
	if len(spec.On) == 0 && !slurmOnly {
		return nil, nil
	}
	for _, name := range spec.On {
		if _, err := b.targetCluster("on", name); err != nil {
			return nil, err
		}
	}
	var list []core.ClusterID
	for _, c := range b.offeredClusters() {
		if (len(spec.On) == 0 || slices.Contains(spec.On, c.Name)) && (!slurmOnly || managerOf(c.Kind) == jobfile.Slurm) {
			list = append(list, c.id)
		}
	}
	return list, nil
}

// rateClusters tells the engine how reliable the clusters were lately, if that differs
// from what it was told.
func (b *Broker) rateClusters(ctx context.Context) error {
	for _, c := range b.offeredClusters() {
		runs, err := b.opt.Store.ListRuns(ctx, store.Past{Cluster: c.Name, Limit: history.EstimateRows})
		if err != nil {
			return err
		}
		rating := history.ReliabilityOf(runs).Mean()
		c.mu.Lock()
		tell := rating != c.rating
		c.rating = rating
		c.mu.Unlock()
		if tell {
			b.postToLoop(func(t *turn) { t.stepEngine(&core.Input{Kind: core.Rated, Cluster: c.id, Rating: rating}) })
		}
	}
	return nil
}

// reliability is how reliable the cluster was when it was last looked at.
func (c *cluster) reliability() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rating
}

// logSpread is the standard deviation of the logarithm of a distribution.
func logSpread(d predict.Dist) float64 {
	const score90 = 1.2816
	lo, hi := d.Quantile(0.1), d.Quantile(0.9)
	if lo <= 0 || hi <= lo {
		return 0.01
	}
	return math.Log(hi/lo) / (2 * score90)
}

func newUnique() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
