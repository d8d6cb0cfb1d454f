package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// situation is a small simulation drawn at random: what it is made of follows
// from the numbers below, so that it can be run again.
type situation struct {
	seed      uint64
	clusters  int
	jobs      int
	approach  engine.Approach
	policy    string
	place     core.PlacePolicy
	disturbed bool
	managed   bool // some clusters have queues of their own
	parts     bool // some jobs have several components
}

func drawSituation(t *rapid.T) situation {
	return situation{
		seed:      rapid.Uint64().Draw(t, "seed"),
		clusters:  rapid.IntRange(1, 4).Draw(t, "clusters"),
		jobs:      rapid.IntRange(1, 25).Draw(t, "jobs"),
		approach:  engine.Approach(rapid.IntRange(0, 1).Draw(t, "approach")),
		policy:    rapid.SampledFrom(append(malleable.PolicyNames(), "none")).Draw(t, "policy"),
		place:     core.PlacePolicy(rapid.IntRange(int(core.WorstFit), int(core.DeadlineFirst)).Draw(t, "place")),
		disturbed: rapid.Bool().Draw(t, "disturbed"),
		managed:   rapid.Bool().Draw(t, "managed"),
		parts:     rapid.Bool().Draw(t, "parts"),
	}
}

// config makes the simulation, afresh each time.
func (s situation) config() Config {
	r := rand.New(rand.NewPCG(s.seed, 99))
	p, err := platform.Parse("random", []byte(s.grid(r)))
	if err != nil {
		panic(err)
	}
	e := engine.DefaultConfig()
	e.Approach, e.Malleable = s.approach, malleable.ByName(s.policy)
	e.ScanEvery = time.Duration(5+r.IntN(60)) * time.Second
	e.ClaimMargin = time.Duration(r.IntN(20)) * time.Second
	cfg := Config{Platform: p, Engine: e, Place: s.place, Jobs: s.workload(r, p), ProgressEvery: 10 * time.Second,
		PollEvery: time.Duration(1+r.IntN(90)) * time.Second}
	if s.disturbed {
		cfg.Disturb = s.disturbances(r, p)
	}
	return cfg
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (s situation) grid(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("clusters:\n")
	for i := range s.clusters {
		fmt.Fprintf(&b, "  - name: c%d\n    reserve: %v\n    hosts:\n", i, r.IntN(2) == 0)
		procs := 0
		for range 1 + r.IntN(5) {
			cores := 1 + r.IntN(3)
			procs += cores
			fmt.Fprintf(&b, "      - {cores: %d, speed: %g}\n", cores, pick(r, 1, 1, 0.5, 3))
		}
		if procs > 2 && r.IntN(3) == 0 {
			fmt.Fprintf(&b, "    keep_free: %d\n    grow_free: %d\n", r.IntN(2), r.IntN(procs-1))
		}
		if s.managed {
			fmt.Fprintf(&b, "    local: %s\n", pick(r, "none", "easy", "fcfs"))
		}
	}
	b.WriteString("links:\n")
	for i := 1; i < s.clusters; i++ { // a tree, so that everything can be brought everywhere
		fmt.Fprintf(&b, "  - {a: c%d, b: c%d, mbps: %g, ms: %d}\n", r.IntN(i), i, pick(r, 1.0, 8, 100), r.IntN(50))
	}
	b.WriteString("files:\n")
	for i := range 3 {
		fmt.Fprintf(&b, "  - {name: f%d, size: %d, at: [c%d]}\n", i, r.IntN(20_000_000), r.IntN(s.clusters))
	}
	return b.String()
}

func (s situation) workload(r *rand.Rand, p *platform.Platform) *jobList {
	programs := make([]*app.App, 3)
	for i := range programs {
		programs[i] = &app.App{Name: fmt.Sprintf("p%d", i),
			Speedup: pick[app.Speedup](r, app.Linear{}, app.Amdahl{Serial: 0.1}, app.Downey{A: 4, Sigma: 0.7}),
			Accept:  pick(r, app.Any, app.Any, app.PowersOfTwo),
			Resize:  pick(r, 0, 0, 3*time.Second)}
	}
	var list []workload.Job
	at := 0.0
	for range s.jobs {
		if r.IntN(3) > 0 {
			at += float64(r.IntN(40))
		}
		j := workload.Job{Submit: core.AtSecond(at), App: pick(r, programs...)}
		j.Spec = core.Job{App: j.App.Name, Kind: pick(r, core.Rigid, core.Moldable, core.Malleable, core.Malleable),
			Retries: pick(r, 0, 2, 100)}
		if j.Spec.Kind == core.Rigid && r.IntN(2) == 0 {
			j.Run = time.Duration(r.Int64N(int64(2 * time.Minute)))
		} else {
			j.Work = 1 + r.Float64()*300
		}
		if r.IntN(2) == 0 {
			j.Limit = time.Duration(1 + r.Int64N(int64(3*time.Minute)))
			j.Spec.Estimate = j.Limit
		}
		if r.IntN(4) == 0 {
			j.Spec.Deadline = j.Submit.Add(time.Duration(1 + r.IntN(300)))
		}
		for range 1 + r.IntN(3) {
			j.Spec.Components = append(j.Spec.Components, s.component(r, j.Spec.Kind, p))
			if !s.parts {
				break
			}
		}
		list = append(list, j)
	}
	return listOf(list...)
}

func (s situation) component(r *rand.Rand, kind core.Kind, p *platform.Platform) core.Component {
	c := core.Component{Min: 1 + r.IntN(4)}
	c.Max = c.Min
	if kind != core.Rigid {
		c.Max += r.IntN(8)
		c.Initial = pick(r, 0, 0, c.Min, c.Max)
	}
	for f := range core.FileID(3) {
		if r.IntN(6) == 0 {
			c.Inputs = append(c.Inputs, f)
		}
	}
	if r.IntN(6) == 0 {
		c.Clusters = []core.ClusterID{core.ClusterID(r.IntN(len(p.Clusters)))}
	}
	return c
}

// disturbances all end some time: local users leave, hosts are repaired, and
// links are what they were.
func (s situation) disturbances(r *rand.Rand, p *platform.Platform) *Disturbances {
	const horizon = 800
	var jobs []BackgroundJob
	var hosts []HostChange
	var links []LinkChange
	for range r.IntN(12) {
		jobs = append(jobs, local(float64(r.IntN(horizon)), core.ClusterID(r.IntN(s.clusters)), 1+r.IntN(6),
			float64(r.IntN(200))))
	}
	for range r.IntN(6) {
		c, at := core.ClusterID(r.IntN(s.clusters)), float64(r.IntN(horizon))
		host := r.IntN(len(p.Clusters[c].Hosts))
		hosts = append(hosts, goes(at, c, host), comes(at+float64(1+r.IntN(200)), c, host))
	}
	for range r.IntN(4) {
		if s.clusters == 1 {
			break
		}
		link, at := r.IntN(2*(s.clusters-1)), float64(r.IntN(horizon))
		links = append(links, LinkChange{core.AtSecond(at), link, pick(r, 0, 0.5, 1000)},
			LinkChange{core.AtSecond(at + float64(r.IntN(100))), link, p.Links[link].Mbps})
	}
	slices.SortStableFunc(jobs, func(a, b BackgroundJob) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(hosts, func(a, b HostChange) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(links, func(a, b LinkChange) int { return cmp.Compare(a.At, b.At) })
	// However they overlap: in the end everything is as it was.
	last := core.AtSecond(2 * horizon)
	for c := range p.Clusters {
		for h := range p.Clusters[c].Hosts {
			hosts = append(hosts, HostChange{At: last, Cluster: core.ClusterID(c), Host: h, Up: true})
		}
	}
	for i := range 2 * (s.clusters - 1) {
		links = append(links, LinkChange{last, i, p.Links[i].Mbps})
	}
	return &Disturbances{Background: inTurn(jobs...), Hosts: inTurn(hosts...), Links: inTurn(links...)}
}
