package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// syntheticTrace is a trace like those of parallel machines: bursts of arrivals,
// sizes mostly powers of two, run times over four decades, estimates that are
// round and too long; load is what it asks of so many processors.
func syntheticTrace(jobs, procs int, load float64) *swf.Trace {
	r := rand.New(rand.NewPCG(uint64(jobs), uint64(procs)))
	t := &swf.Trace{Records: make([]swf.Record, jobs)}
	area := 0.0
	for i := range t.Records {
		size := 1 << r.IntN(int(math.Log2(float64(procs))))
		if r.IntN(4) == 0 {
			size = 1 + r.IntN(procs/2)
		}
		run := time.Duration(math.Exp(2+r.Float64()*8)) * time.Second
		estimate := (run*time.Duration(1+r.IntN(5)) + 10*time.Minute).Truncate(10 * time.Minute)
		area += float64(size) * run.Seconds()
		t.Records[i] = swf.Record{ID: int64(i + 1), Run: run, Allocated: int32(size), RequestedProcs: int32(size),
			RequestedTime: max(estimate, run)}
	}
	mean := area / float64(procs) / load / float64(jobs)
	at := 0.0
	for i := range t.Records {
		t.Records[i].Submit = core.AtSecond(math.Floor(at))
		at += mean * r.ExpFloat64()
	}
	return t
}

func simulate(tb testing.TB, cfg Config) *outcome.Collector {
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	c := outcome.NewCollector(cfg.Platform.TotalProcs(), cfg.Jobs.Len(), false)
	s.cfg.Observe = func(_ core.Time, _ *core.Input, out *engine.Output) {
		for i := range out.Events {
			c.Observe(&out.Events[i])
		}
	}
	left, err := s.Run(context.Background())
	if err != nil || left > 0 {
		tb.Fatalf("%d jobs left: %v", left, err)
	}
	return c
}

func clustersOf(tb testing.TB, sizes ...int) *platform.Platform {
	text := "clusters:\n"
	for i, n := range sizes {
		text += fmt.Sprintf("  - {name: c%d, hosts: %d}\n", i, n)
	}
	p, err := platform.Parse("bench", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func easyRun(tb testing.TB, trace *swf.Trace, procs int) *outcome.Collector {
	source, _, err := workload.FromTrace(trace, workload.TraceOptions{MaxProcs: procs})
	if err != nil {
		tb.Fatal(err)
	}
	return simulate(tb, easyOn(tb, procs, source))
}

// easyOn is a simulation on one cluster with EASY.
func easyOn(tb testing.TB, procs int, source workload.Source) Config {
	easy := platform.LocalEASY
	return Config{Platform: clustersOf(tb, procs), Local: &easy, Jobs: source}
}

func perSecond(b *testing.B, jobs int) {
	b.ReportMetric(float64(jobs)*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// The whole simulator, engine included, on one cluster with EASY; the sizes
// show that the time grows with the trace and not with its square.
func BenchmarkEASY(b *testing.B) {
	for _, jobs := range []int{115_000, 230_000, 460_000} {
		trace := syntheticTrace(jobs, 256, 0.9)
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			for b.Loop() {
				easyRun(b, trace, 256)
			}
			perSecond(b, jobs)
		})
	}
}

func fiveClusters(tb testing.TB, policy string, approach engine.Approach, jobs int) Config {
	spec := workload.Spec{Jobs: jobs, Arrivals: workload.Arrivals{Poisson: 5 * time.Second},
		Scale: workload.Scale{Lognormal: 0.5},
		Programs: []workload.Program{
			{App: &app.App{Name: "a", Speedup: app.Amdahl{Serial: 0.05}}, Weight: 1, Work: 1800,
				Components: []core.Component{{Min: 2, Max: 46}}},
			{App: &app.App{Name: "b", Speedup: app.Downey{A: 20, Sigma: 1}, Accept: app.PowersOfTwo}, Weight: 1, Work: 400,
				Components: []core.Component{{Min: 2, Max: 32}}},
		}}
	source, err := workload.Generate(spec, 1)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := engine.DefaultConfig()
	cfg.Approach, cfg.Malleable = approach, malleable.ByName(policy)
	return Config{Platform: clustersOf(tb, 85, 41, 68, 46, 32), Engine: cfg, Jobs: source, ProgressEvery: 10 * time.Second}
}

// Five clusters with malleable jobs that fill them.
func BenchmarkMalleable(b *testing.B) {
	const jobs = 50_000
	for _, approach := range []engine.Approach{engine.PRA, engine.PWA} {
		for _, policy := range malleable.PolicyNames() {
			b.Run(fmt.Sprintf("%s/%s", approach, policy), func(b *testing.B) {
				for b.Loop() {
					simulate(b, fiveClusters(b, policy, approach, jobs))
				}
				perSecond(b, jobs)
			})
		}
	}
}

// A million jobs: how much memory the run holds at most, seen every hundred
// thousand steps.
func BenchmarkMillionJobs(b *testing.B) {
	trace := syntheticTrace(1_000_000, 256, 0.9)
	for b.Loop() {
		source, _, err := workload.FromTrace(trace, workload.TraceOptions{MaxProcs: 256})
		if err != nil {
			b.Fatal(err)
		}
		s, err := New(easyOn(b, 256, source))
		if err != nil {
			b.Fatal(err)
		}
		c := outcome.NewCollector(256, source.Len(), false)
		peak, steps := uint64(0), 0
		s.cfg.Observe = func(_ core.Time, _ *core.Input, out *engine.Output) {
			for i := range out.Events {
				c.Observe(&out.Events[i])
			}
			if steps++; steps%100_000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.Sys)
			}
		}
		if _, err := s.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(peak)/1e6, "MB")
	}
	perSecond(b, 1_000_000)
}
