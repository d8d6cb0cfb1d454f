package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// trial is one run of the engine against the outside.
type trial struct {
	approach engine.Approach
	policy   string // none: sizes never change
	place    core.PlacePolicy
	jobs     int
	seed     uint64
	restarts bool // the engine is lost now and then, and made again from its log
	holds    int  // held jobs that a step looks at; 0: as many as usual
}

func (tr trial) String() string {
	return fmt.Sprintf("%v/%s/%v seed %d jobs %d restarts %v holds %d", tr.approach, tr.policy, tr.place, tr.seed, tr.jobs,
		tr.restarts, tr.holds)
}

// run drives a trial to its end. All that must hold is checked after every
// step.
type run struct {
	trial
	*outside
	cfg    engine.Config
	ran    map[core.JobID]bool // has been running
	eng    *engine.Engine
	now    core.Time
	wake   core.Time
	log    []core.Event
	state  map[core.JobID]core.State
	coming int // jobs not submitted yet
	idle   int // times in a row that it was woken at once and did nothing
	random *rand.Rand
	keep   func(in *core.Input, out *engine.Output) // is shown every step; nil: nobody is
}

func newRun(tr trial) *run {
	r := &run{trial: tr, coming: tr.jobs, state: map[core.JobID]core.State{}, ran: map[core.JobID]bool{},
		random: rand.New(rand.NewPCG(tr.seed, 2)), wake: core.Never}
	r.cfg = engine.Config{Approach: tr.approach, Malleable: malleable.ByName(tr.policy), ScanEvery: 30 * time.Second,
		ShrinkGrace: 20 * time.Second, GrowGrace: 10 * time.Second, StopGrace: 50 * time.Second, CollectGrace: 30 * time.Second,
		ClaimGrace: 40 * time.Second, ClaimMargin: 3 * time.Second, RetryPause: 2 * time.Second,
		Describes: tr.seed%2 == 0, DescribeEvery: 100 * time.Second, ResultsAtEnd: tr.seed%3 == 0}
	spec := r.grid()
	r.outside = newOutside(spec, tr.seed)
	r.start(world.New(spec))
	return r
}

func (r *run) start(w *world.World) {
	if r.eng = engine.New(r.cfg, w); r.holds > 0 {
		r.eng.LimitHolds(r.holds)
	}
}

// grid is two to four clusters, some with a queue of their own, with two files
// on slow links.
func (r *run) grid() world.Spec {
	spec := world.Spec{DefaultPlace: r.place}
	n := 2 + r.random.IntN(3)
	for i := range n {
		c := world.ClusterSpec{Name: string(rune('a' + i)), Hosts: twoHosts(4 + r.random.IntN(12)),
			Managed: r.random.IntN(5) == 0, Reserves: r.random.IntN(2) == 0, Resizes: r.seed%2 == 0}
		if r.random.IntN(3) == 0 {
			c.KeepFree = r.random.IntN(3)
		}
		spec.Clusters = append(spec.Clusters, c)
		spec.Paths = append(spec.Paths, slices.Repeat([]world.Path{{Mbps: 80}}, n))
	}
	for range 2 {
		spec.Files = append(spec.Files,
			world.FileSpec{Bytes: int64(r.random.IntN(500)) * 1e6, At: []core.ClusterID{core.ClusterID(r.random.IntN(n))}})
	}
	return spec
}

func (r *run) job(id core.JobID) *core.Job {
	j := &core.Job{ID: id, Kind: core.Kind(r.random.IntN(3)), Retries: r.random.IntN(3),
		RetryOn: [][]string{nil, {"failed"}, {"host_lost"}}[r.random.IntN(3)],
		App:     []string{"", "ft", "gadget"}[r.random.IntN(3)]}
	if r.random.IntN(3) == 0 {
		j.Place = core.PlacePolicy(r.random.IntN(6))
	}
	if r.random.IntN(3) == 0 {
		j.MaxTries = 1 + r.random.IntN(20)
	}
	if r.random.IntN(3) == 0 {
		j.Contract = &core.Contract{}
	}
	for range 1 + r.random.IntN(4)/3 {
		c := core.Component{Min: 1 + r.random.IntN(6)}
		c.Max = c.Min + r.random.IntN(10)
		if r.random.IntN(4) == 0 {
			c.Inputs = []core.FileID{core.FileID(r.random.IntN(3))}
		}
		if r.random.IntN(2) == 0 {
			c.Initial = c.Min
		}
		j.Components = append(j.Components, c)
	}
	r.holdBack(j)
	return j
}

// holdBack gives some jobs what holds them: earlier jobs, a begin time, an array of
// three of which one or two are placed at once.
func (r *run) holdBack(j *core.Job) {
	if r.random.IntN(3) == 0 && j.ID > 1 {
		d := core.Dependency{Job: 1 + core.JobID(r.random.IntN(int(j.ID)-1)), When: core.Condition(r.random.IntN(4))}
		if s := r.state[d.Job]; !r.returned[d.Job] && s != core.Unknown {
			d.Target.Unfinished = 1
			if !r.ran[d.Job] {
				d.Target.NotStarted = 1
			}
		} else if s != core.Done {
			d.Target.Failed, d.Target.FailedJob = 1, d.Job
		}
		j.After = append(j.After, d)
	}
	if r.random.IntN(8) == 0 {
		j.Begin = r.now.Add(time.Duration(r.random.IntN(300)) * time.Second)
	}
	if j.Array = r.arrayOf(j.ID); j.Array != 0 {
		j.ArrayLimit = 1 + int(j.Array/2)%2
	}
}

// play runs the trial: first everything happens, then it is left alone until
// all jobs are over.
func (r *run) play() error {
	for range 60 * r.jobs {
		if err := r.turn(); err != nil {
			return err
		}
	}
	r.recover()
	for range 2000 * r.jobs {
		if r.eng.World().LiveCount() == 0 && r.coming == 0 && len(r.news) == 0 {
			return r.over()
		}
		if err := r.turn(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d jobs never end: %v", r.eng.World().LiveCount(), r.state)
}

// turn tells the engine one thing.
func (r *run) turn() error {
	r.now += core.Time(r.random.IntN(3)) * core.AtSecond(1)
	if r.restarts && r.random.IntN(100) == 0 {
		if err := r.restart(); err != nil {
			return err
		}
	}
	in, ok := r.input()
	if !ok && r.wake < core.Never { // nothing happens until the engine wakes
		r.now = max(r.now, r.wake)
		in = core.Input{Kind: core.Tick}
	}
	return r.step(in)
}

func (r *run) input() (core.Input, bool) {
	if r.wake <= r.now {
		return core.Input{Kind: core.Tick}, true
	}
	switch n := r.random.IntN(30); {
	case n < 3 && r.coming > 0 || r.calm && r.coming > 0:
		r.coming--
		id := core.JobID(r.jobs - r.coming)
		return core.Input{Kind: core.Submit, Job: id, Spec: r.job(id), Undescribed: r.random.IntN(5) == 0}, true
	case n == 3 && !r.calm:
		return core.Input{Kind: core.Cancel, Job: core.JobID(1 + r.random.IntN(3*r.jobs)), Attended: r.random.IntN(2) == 0,
			Grace: time.Duration(r.random.IntN(60)) * time.Second, Immediate: r.random.IntN(4) == 0}, true
	case n == 5:
		return r.steer()
	case n == 4 && !r.calm:
		return core.Input{Kind: core.StopJob, Job: core.JobID(1 + r.random.IntN(r.jobs)), Aim: core.Aim(r.random.IntN(5))},
			true
	}
	return r.outside.next(r.now)
}

// steer is what a user does with a job. In the end every job is let go on.
func (r *run) steer() (core.Input, bool) {
	in := core.Input{Job: core.JobID(1 + r.random.IntN(r.jobs)), Hold: r.random.IntN(2) == 0}
	verbs := []core.InputKind{core.HoldJob, core.ReleaseJob, core.RequeueJob, core.SuspendJob, core.ContinueJob, core.UpdateJob}
	if in.Kind = verbs[r.random.IntN(len(verbs))]; in.Kind == core.UpdateJob {
		begin, deadline := r.now.Add(time.Duration(r.random.IntN(60))*time.Second), core.Time(r.random.Int64N(1e12))
		in.Change = &core.Change{Begin: &begin, Anywhere: r.random.IntN(2) == 0}
		if r.random.IntN(2) == 0 {
			in.Change.Deadline = &deadline
		}
		if r.random.IntN(3) == 0 {
			in.Change.Clusters = []core.ClusterID{core.ClusterID(r.random.IntN(5))}
		}
	}
	if !r.calm {
		return in, true
	}
	for _, j := range r.eng.World().Jobs() {
		switch in.Job = j.Spec().ID; {
		case j.IsHeldByUser():
			in.Kind = core.ReleaseJob
			return in, true
		case j.IsSuspended():
			in.Kind = core.ContinueJob
			return in, true
		}
	}
	return r.outside.next(r.now)
}

func (r *run) step(in core.Input) error {
	out := r.eng.Step(r.now, &in)
	if r.keep != nil {
		r.keep(&in, out)
	}
	if most := 100 + 50*r.jobs; len(out.Events) > most {
		return fmt.Errorf("%d events in one step", len(out.Events))
	}
	busy := out.WakeAt == r.now
	if r.wake = out.WakeAt; r.wake < r.now {
		return fmt.Errorf("at %v it wants to be woken at %v", r.now, r.wake)
	}
	for i := range out.Events {
		if err := r.observe(&out.Events[i]); err != nil {
			return err
		}
	}
	w := r.eng.World()
	for i, c := range out.Commands {
		if j := w.Job(c.Job); j != nil || c.Kind == core.Release {
			r.carryOut(c, j)
		} else if !takenBack(c, out.Commands[i:]) {
			return fmt.Errorf("%v for job %d, which is over", c.Kind, c.Job)
		}
	}
	if r.wrong != nil {
		return r.wrong
	}
	if err := w.CheckInvariants(); err != nil {
		return err
	}
	if r.idle++; !busy || in.Kind != core.Tick || len(out.Events) > 0 {
		r.idle = 0
	}
	if r.idle > 0 && r.holds == 0 || r.idle > 10*r.jobs { // it may have looked at jobs that stay held
		return fmt.Errorf("at %v it does nothing and wants to be woken at once", r.now)
	}
	return r.nobodyHoldsWithoutBeingPlaced()
}

// takenBack reports whether a command is made void by a later one.
func takenBack(c core.Command, later []core.Command) bool {
	return slices.ContainsFunc(later, func(r core.Command) bool {
		return r.Kind == core.Release && r.Job == c.Job && r.Epoch == c.Epoch
	})
}

// observe follows the lives of the jobs through the events.
func (r *run) observe(ev *core.Event) error {
	r.log = append(r.log, *ev)
	switch ev.Kind {
	case core.JobSubmitted:
		r.state[ev.Job] = core.Submitted
	case core.JobBecame:
		if r.state[ev.Job] != ev.From || !ev.From.MayBecome(ev.To) {
			return fmt.Errorf("job %d goes from %v to %v, it was %v", ev.Job, ev.From, ev.To, r.state[ev.Job])
		}
		r.state[ev.Job] = ev.To
		r.ran[ev.Job] = r.ran[ev.Job] || ev.To == core.Running
		if ev.To.IsTerminal() {
			r.overAt(ev)
		}
	}
	if _, err := json.Marshal(ev); err != nil {
		return err
	}
	return nil
}

// overAt has the results of a job returned some time after its end.
func (r *run) overAt(ev *core.Event) {
	if r.cfg.ResultsAtEnd {
		r.returned[ev.Job] = true
		return
	}
	r.news = append(r.news, core.Input{Kind: core.Returned, Job: ev.Job, Outcome: ev.To, Array: r.arrayOf(ev.Job),
		NeverRan: !r.ran[ev.Job]})
}

func (r *run) arrayOf(job core.JobID) core.JobID {
	if first := (job-1)/3*3 + 1; first%2 == 0 {
		return first
	}
	return 0
}

func (r *run) nobodyHoldsWithoutBeingPlaced() error {
	for id := core.JobID(1); id <= core.JobID(r.jobs); id++ {
		j := r.eng.World().Job(id)
		if j != nil && j.State().IsWaiting() && (len(j.Parts()) > 0 || j.IsQueued() != (j.CurrentHold() == core.NotHeld)) {
			return fmt.Errorf("job %d waits with %d parts, in the queue: %v", id, len(j.Parts()), j.IsQueued())
		}
	}
	return nil
}

// restart makes the engine anew from its log.
func (r *run) restart() error {
	w, err := replay(r.outside.spec, r.log)
	if err != nil {
		return err
	}
	if a, b := r.eng.World().AppendState(nil), w.AppendState(nil); !bytes.Equal(a, b) {
		return fmt.Errorf("the world is\n%s\nand its replay\n%s", a, b)
	}
	r.start(w)
	return nil
}

func replay(spec world.Spec, log []core.Event) (*world.World, error) {
	w := world.New(spec)
	for i := range log {
		if err := w.ApplyEvent(&log[i]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// over checks that everything has come to its end.
func (r *run) over() error {
	for id, s := range r.state {
		if !s.IsTerminal() {
			return fmt.Errorf("job %d is forgotten as %v", id, s)
		}
	}
	for _, c := range r.eng.World().Clusters() {
		if c.IdleProcs() != c.Procs() || c.OpenOffers() != 0 || c.ReclaimFor() != 0 {
			return fmt.Errorf("cluster %s: %d of %d idle, %d offers, reclaims for %d", c.Name(), c.IdleProcs(), c.Procs(),
				c.OpenOffers(), c.ReclaimFor())
		}
	}
	return r.restart()
}

func policyNames() []string { return append(malleable.PolicyNames(), "none") }

func placePolicies() []core.PlacePolicy {
	return []core.PlacePolicy{core.WorstFit, core.CloseToFiles, core.ClusterMin, core.FlexibleMin, core.DeadlineFirst}
}

func TestWhateverHappensOutsideTheGridStaysSound(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 2
	}
	for _, approach := range []engine.Approach{engine.PRA, engine.PWA} {
		for _, policy := range policyNames() {
			for _, place := range placePolicies() {
				for seed := range seeds {
					tr := trial{approach: approach, policy: policy, place: place, jobs: 12, seed: seed, restarts: seed%2 == 1,
						holds: int(seed % 4)}
					if err := newRun(tr).play(); err != nil {
						t.Fatalf("%v: %v", tr, err)
					}
				}
			}
		}
	}
}

func TestWhateverHappensOutsideTheGridStaysSoundRapidly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := trial{
			approach: engine.Approach(rapid.IntRange(0, 1).Draw(t, "approach")),
			policy:   rapid.SampledFrom(policyNames()).Draw(t, "policy"),
			place:    rapid.SampledFrom(placePolicies()).Draw(t, "place"),
			jobs:     rapid.IntRange(1, 30).Draw(t, "jobs"),
			seed:     rapid.Uint64().Draw(t, "seed"),
			restarts: rapid.Bool().Draw(t, "restarts"),
			holds:    rapid.IntRange(0, 3).Draw(t, "holds"),
		}
		if err := newRun(tr).play(); err != nil {
			t.Fatalf("%v: %v", tr, err)
		}
	})
}

func TestTheSameSeedGivesTheSameLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := trial{approach: engine.Approach(rapid.IntRange(0, 1).Draw(t, "approach")),
			policy: rapid.SampledFrom(policyNames()).Draw(t, "policy"),
			place:  core.WorstFit, jobs: 10, seed: rapid.Uint64().Draw(t, "seed")}
		var logs [2][]byte
		for i := range logs {
			r := newRun(tr)
			if err := r.play(); err != nil {
				t.Fatalf("%v: %v", tr, err)
			}
			logs[i], _ = json.Marshal(r.log)
		}
		if !bytes.Equal(logs[0], logs[1]) {
			t.Fatalf("%v: the log differs", tr)
		}
	})
}

// twoHosts are two hosts with some processors together.
func twoHosts(procs int) []world.HostSpec {
	return []world.HostSpec{{Name: "n1", Procs: procs - procs/2, Speed: 1}, {Name: "n2", Procs: procs / 2, Speed: 1}}
}
