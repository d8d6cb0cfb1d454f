// Package trial puts one run of the simulator together: a platform, the jobs,
// what disturbs them, the policies; it runs it, keeps its log if that is
// wanted, and hands back the results. It decides which choice holds where
// several could be made (a scenario's own, the defaults), and must not know of
// command lines or of how results are shown.
package trial

import (
	"fmt"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sim"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Setup is everything about a run. It is not changed by running it, so that
// one Setup can be run several times with another policy or seed.
type Setup struct {
	Title    string
	Platform *platform.Platform
	Scenario *scenario.Scenario     // where jobs and disturbances come from, or nil: then
	Trace    *workload.TraceOptions // the jobs come from here
	Seed     uint64
	Policy   Policy
	Queue    localq.Options
	KeepFree map[string]int // by cluster, instead of the platform's
	GrowFree map[string]int // likewise
	// Of a scenario with a sweep: what is varied, and the value of this run.
	SweepOver  string
	SweepValue float64
}

// Policy is what an operator chooses.
type Policy struct {
	Place         core.PlacePolicy
	Approach      engine.Approach
	Malleable     string          // a name that malleable.ByName knows, or runlog.None
	Local         *platform.Local // of every cluster; nil: as the platform says
	MaxTries      int
	ScanEvery     time.Duration
	PollEvery     time.Duration
	ProgressEvery time.Duration
	ShrinkGrace   time.Duration
	ClaimMargin   time.Duration
	Gain          resched.GainConfig
}

// DefaultPolicy is what holds where nobody chose anything.
func DefaultPolicy() Policy {
	e := engine.DefaultConfig()
	return Policy{
		Place: core.WorstFit, Approach: engine.PWA, Malleable: "marginal",
		ScanEvery: e.ScanEvery, ShrinkGrace: e.ShrinkGrace, ClaimMargin: e.ClaimMargin,
		PollEvery: 30 * time.Second, ProgressEvery: 10 * time.Second,
	}
}

// FromScenario is the run that a scenario describes.
func FromScenario(s *scenario.Scenario) *Setup {
	t := &Setup{Title: s.Name, Platform: s.Platform, Scenario: s, Seed: s.Seed, Policy: DefaultPolicy(),
		KeepFree: map[string]int{}, GrowFree: map[string]int{}}
	for i := range s.Platform.Clusters {
		name := s.Platform.Clusters[i].Name
		t.KeepFree[name], t.GrowFree[name] = s.KeepFree[i], s.GrowFree[i]
	}
	if s.Trace != nil {
		o := *s.Trace
		t.Trace = &o
	}
	t.Policy.adoptScenario(&s.Policy)
	return t
}

// adoptScenario takes over what a scenario chooses.
func (p *Policy) adoptScenario(s *scenario.Policy) {
	if s.Place != core.PlaceDefault {
		p.Place = s.Place
	}
	switch s.Approach {
	case engine.PRA.String():
		p.Approach = engine.PRA
	case engine.PWA.String():
		p.Approach = engine.PWA
	}
	if s.Malleable != "" {
		p.Malleable = s.Malleable
	}
	if local, ok := platform.ParseLocal(s.Local); ok {
		p.Local = &local
	}
	p.MaxTries, p.Gain = s.MaxTries, s.Gain
	for _, d := range []struct{ from, to *time.Duration }{
		{&s.ScanEvery, &p.ScanEvery}, {&s.PollEvery, &p.PollEvery}, {&s.ProgressEvery, &p.ProgressEvery},
		{&s.ShrinkGrace, &p.ShrinkGrace}, {&s.ClaimMargin, &p.ClaimMargin},
	} {
		if *d.from > 0 {
			*d.to = *d.from
		}
	}
}

// ManagedEverywhere reports whether every cluster has a queue of its own: then
// the broker hands jobs over as they are, and no policy changes their size.
func (t *Setup) ManagedEverywhere() bool {
	for i := range t.Platform.Clusters {
		if t.localOf(i) == platform.LocalNone {
			return false
		}
	}
	return true
}

func (t *Setup) localOf(cluster int) platform.Local {
	if t.Policy.Local != nil {
		return *t.Policy.Local
	}
	return t.Platform.Clusters[cluster].Local
}

// keptFree is how many processors of a cluster are left to its own users, and how
// many growing leaves free besides.
func (t *Setup) keptFree(cluster int) (keep, grow int) {
	c := &t.Platform.Clusters[cluster]
	keep, grow = c.KeepFree, c.GrowFree
	if n, ok := t.KeepFree[c.Name]; ok {
		keep = n
	}
	if n, ok := t.GrowFree[c.Name]; ok {
		grow = n
	}
	return keep, grow
}

// usableProcs is how many processors of a cluster a job can ever get.
func (t *Setup) usableProcs(cluster int) int {
	keep, _ := t.keptFree(cluster)
	return t.Platform.Clusters[cluster].Procs - keep
}

// largestJob is the most that a job can ever get: of one cluster, or of all where
// the policy may split it.
func (t *Setup) largestJob() int {
	most, sum := 0, 0
	for i := range t.Platform.Clusters {
		n := t.usableProcs(i)
		most = max(most, n)
		sum += n
	}
	if t.Policy.Place == core.FlexibleMin {
		return sum
	}
	return most
}

// checkSetup finds what no reader of files can know.
func (t *Setup) checkSetup() error {
	for i := range t.Platform.Clusters {
		c := &t.Platform.Clusters[i]
		keep, grow := t.keptFree(i)
		if keep+grow >= c.Procs {
			return &badinput.Error{Field: "kept free in cluster " + c.Name, Value: strconv.Itoa(keep + grow),
				Want: fmt.Sprintf("fewer than its %d cores", c.Procs)}
		}
	}
	return nil
}

// jobSource is the stream of jobs.
func (t *Setup) jobSource() (workload.Source, workload.Stats, error) {
	if t.Trace == nil {
		return t.Scenario.OpenJobs(t.Seed)
	}
	o := *t.Trace
	o.Seed, o.MaxProcs = t.Seed, t.largestJob()
	return workload.ReadTrace(o)
}

// simulatorConfig is what the simulator is told.
func (t *Setup) simulatorConfig(jobs workload.Source) sim.Config {
	p := &t.Policy
	e := engine.DefaultConfig()
	e.Approach, e.Malleable = p.Approach, malleable.ByName(t.malleablePolicy())
	e.ScanEvery, e.ShrinkGrace, e.ClaimMargin = p.ScanEvery, p.ShrinkGrace, p.ClaimMargin
	e.Resched.Gain = p.Gain
	e.ResultsAtEnd = true // nobody returns results in a simulation
	return sim.Config{
		Platform: t.Platform, Local: p.Local, Queue: t.Queue, Engine: e,
		Place: p.Place, MaxTries: p.MaxTries, KeepFree: t.KeepFree, GrowFree: t.GrowFree, Jobs: jobs,
		Disturb:       t.makeDisturbances(),
		Moves:         t.moveCosts(),
		ProgressEvery: p.ProgressEvery, PollEvery: p.PollEvery,
	}
}

// moveCosts is what the scenario says of moves.
func (t *Setup) moveCosts() sim.Moves {
	if t.Scenario == nil {
		return sim.Moves{}
	}
	m := &t.Scenario.Moves
	return sim.Moves{WriteMbps: m.WriteMbps, Start: m.Start, Schedule: m.Schedule, Weather: m.Weather, Other: m.Other,
		Noise: m.Noise, Seed: t.Seed}
}

// malleablePolicy is the name of the policy in force.
func (t *Setup) malleablePolicy() string {
	if t.ManagedEverywhere() {
		return runlog.None
	}
	return t.Policy.Malleable
}
