package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// Auto has the way of counting chosen: perf, else valgrind, else time.
const Auto = "auto"

// Options is what is to be measured, and how.
type Options struct {
	Program Program
	Name    string
	Sizes   []float64
	Counter string         // perf, valgrind, time or Auto
	Host    perfmodel.Host // this one
	// Budget bounds the time under simulated caches: sizes for which nothing of it
	// is left are counted without; 0: no simulated caches.
	Budget time.Duration
	Clock  clock.Clock
	// Tell is called with what is done and how much of it, from any goroutine but
	// never from two at once.
	Tell func(what string, done, total int)
}

// NoCounterError says that a way of counting cannot be used here.
type NoCounterError struct {
	Counter string
	Err     error
}

func (e *NoCounterError) Error() string {
	return fmt.Sprintf("counting by %s does not work here: %v", e.Counter, e.Err)
}

// How often a program runs undisturbed at each size, to see its CPU time.
const (
	leastRuns = 6
	mostRuns  = 50
	enoughCPU = time.Second
)

// What a run under valgrind costs: to begin with, and for each instruction.
const (
	simBegin = 0.4
	simRate  = 2.5e8
)

// FitModel runs the program at all sizes, counts, and makes a model of it.
func FitModel(ctx context.Context, o Options) (*perfmodel.Model, error) {
	counter, err := chooseCounter(o.Counter)
	if err != nil {
		return nil, err
	}
	m := &perfmodel.Model{Name: o.Name, Command: o.Program.Argv, Counter: counter, Host: o.Host}
	// Half of the runs before everything else and half after it: what disturbs comes
	// and goes.
	var sizes []*timed
	for _, size := range o.Sizes {
		sizes = append(sizes, &timed{size: size})
	}
	if err := o.runRounds(ctx, sizes, leastRuns/2, mostRuns/2, enoughCPU/2); err != nil {
		return nil, err
	}
	for i, t := range sizes {
		o.Tell(fmt.Sprintf("size %g", t.size), i, len(sizes))
		r, err := o.countAtSize(ctx, counter, t)
		if err != nil {
			return nil, err
		}
		m.Runs = append(m.Runs, r)
	}
	if counter != perfmodel.CounterTime && isInstalled("valgrind") && o.Budget > 0 {
		if m.Misses, err = o.simulateCaches(ctx, m.Runs); err != nil {
			return nil, err
		}
	}
	if k := len(m.Misses); k > 0 {
		size := m.Misses[k-1].Size // the largest for which there was time
		o.Tell(fmt.Sprintf("streams at size %g", size), 0, 1)
		if m.Streams, err = countStreams(ctx, o.Program.commandAt(size), o.Program.Dir); err != nil {
			return nil, err
		}
	}
	if err := o.runRounds(ctx, sizes, leastRuns, mostRuns, enoughCPU); err != nil {
		return nil, err
	}
	usual := make([]*timed, len(sizes))
	for i, t := range sizes {
		usual[i] = t.withoutBursts()
	}
	m.Feels = slownessExponent(usual)
	bursts := burstFactor(sizes, usual)
	for i, t := range usual {
		count := m.Runs[i].Count
		m.Runs[i] = t.summariseRuns(m.Feels)
		m.Runs[i].CPU *= bursts
		m.Runs[i].Count = count
		if counter == perfmodel.CounterTime {
			m.Runs[i].Count = m.Runs[i].CPU / m.Runs[i].Slow * o.Host.Operations
		}
	}
	if err := m.BuildCurves(); err != nil {
		return nil, err
	}
	return m, nil
}

// chooseCounter settles how to count.
func chooseCounter(counter string) (string, error) {
	perf := perfWorks()
	switch {
	case counter == perfmodel.CounterTime:
		return counter, nil
	case counter == perfmodel.CounterPerf && perf != nil:
		return "", &NoCounterError{counter, perf}
	case counter == perfmodel.CounterValgrind && !isInstalled("valgrind"):
		return "", &NoCounterError{counter, errors.New("valgrind is not installed")}
	case counter != Auto:
		return counter, nil
	case perf == nil:
		return perfmodel.CounterPerf, nil
	case isInstalled("valgrind"):
		return perfmodel.CounterValgrind, nil
	}
	return perfmodel.CounterTime, nil
}

// countAtSize counts what the program does at one size; by time nothing is to be counted.
func (o *Options) countAtSize(ctx context.Context, counter string, t *timed) (r perfmodel.Run, err error) {
	r = t.summariseRuns(1)
	argv := o.Program.commandAt(t.size)
	switch counter {
	case perfmodel.CounterTime:
	case perfmodel.CounterPerf:
		r.Count, err = countEvent(ctx, retired, argv, o.Program.Dir)
	default:
		r.Count, err = countInstructions(ctx, argv, o.Program.Dir)
	}
	return r, err
}

// timed is a size with the CPU times of its runs, in seconds, and how slow the host
// was meanwhile.
type timed struct {
	size   float64
	took   []float64
	slow   []float64
	sum    float64
	faults int64
}

// runAgain runs the program once more.
func (t *timed) runAgain(ctx context.Context, p Program) error {
	n, slow, err := p.runWatched(ctx, p.commandAt(t.size))
	if err != nil {
		return err
	}
	cpu := max(n.cpu, time.Microsecond).Seconds()
	t.took, t.slow, t.sum, t.faults = append(t.took, cpu), append(t.slow, slow), t.sum+cpu, n.faults
	return nil
}

// needsMoreRuns says whether the runs are still too few to say anything.
func (t *timed) needsMoreRuns(least, most int, enough time.Duration) bool {
	return len(t.took) < least || len(t.took) < most && t.sum < enough.Seconds()
}

// summariseRuns is what the runs say together. The mean, not the least or the median: on a
// host that is now faster and now slower a long run has its share of both, and is
// as long as the sum of its parts. feels is how much the program feels that. Runs that
// are no more than bad luck are left out before: see usual.
func (t *timed) summariseRuns(feels float64) perfmodel.Run {
	felt, steady := make([]float64, len(t.took)), make([]float64, len(t.took))
	for i, v := range t.took {
		felt[i] = math.Pow(t.slow[i], feels)
		steady[i] = v / felt[i]
	}
	mean, noise := meanAndDeviation(steady)
	slow, slowOff := meanAndDeviation(felt)
	return perfmodel.Run{Size: t.size, CPU: t.sum / float64(len(t.took)), Slow: slow, SlowOff: slowOff,
		Noise: noise / mean, Faults: float64(t.faults), Runs: len(t.took)}
}

// meanAndDeviation is the mean and the standard deviation.
func meanAndDeviation(list []float64) (mean, off float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		off += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(off / math.Max(1, float64(len(list)-1)))
}

// runRounds runs the program at all sizes in turn, so that what disturbs for a while
// disturbs all of them alike.
func (o *Options) runRounds(ctx context.Context, sizes []*timed, least, most int, enough time.Duration) error {
	for round, more := 0, true; more; round++ {
		more = false
		o.Tell("times", min(round, most), most)
		for _, t := range sizes {
			if !t.needsMoreRuns(least, most, enough) {
				continue
			}
			if err := t.runAgain(ctx, o.Program); err != nil {
				return err
			}
			more = true
		}
	}
	return nil
}

// TimeProgram runs a program at one size, undisturbed, at least so often, and says what
// it needed, and what each run did, in seconds.
func TimeProgram(ctx context.Context, p Program, size float64, least int) (perfmodel.Run, []float64, error) {
	t := &timed{size: size}
	for t.needsMoreRuns(least, mostRuns/2, enoughCPU/2) {
		if err := t.runAgain(ctx, p); err != nil {
			return perfmodel.Run{}, nil, err
		}
	}
	return t.summariseRuns(1), t.took, nil
}

// simulateCaches simulates caches at as many sizes as the budget allows, smallest first:
// a formula needs the shape, and the largest sizes cost most.
func (o *Options) simulateCaches(ctx context.Context, runs []perfmodel.Run) ([]perfmodel.Misses, error) {
	begin, sizes := o.Clock(), 0
	pace, expected := 1.0, 0.0 // how much longer than expected it took so far
	var all []perfmodel.Misses
	for _, r := range runs {
		list := cachePairs(r.Faults * o.Host.Page)
		slices.Reverse(list) // the longest first, so that the last ones end together
		next := float64(len(list)) * (simBegin + r.Count/simRate) / float64(runtime.GOMAXPROCS(0))
		spent := o.Clock().Sub(begin).Seconds()
		if sizes >= perfmodel.MinSizes { // with fewer all was in vain, so a busy host is borne with
			pace = spent / expected
		} else {
			spent = expected
		}
		if spent+pace*next > o.Budget.Seconds() {
			break
		}
		found, err := o.simulateSize(ctx, r.Size, list)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		expected += next
		sizes++
	}
	if sizes < perfmodel.MinSizes {
		return nil, nil
	}
	return all, nil
}

// simulateSize runs the program at one size with all these caches.
func (o *Options) simulateSize(ctx context.Context, size float64, list []pair) ([]perfmodel.Misses, error) {
	found := make([][]perfmodel.Misses, len(list))
	err := inParallel(ctx, len(list), func(ctx context.Context, i int) error {
		p := list[i]
		c, err := simulateMisses(ctx, o.Program.commandAt(size), o.Program.Dir, p.near, p.far, p.countsWritten())
		near := perfmodel.Misses{Size: size, Capacity: float64(p.near.capacity), Line: p.near.line, Count: c.nearby}
		far := perfmodel.Misses{Size: size, Capacity: float64(p.far.capacity), Line: p.far.line, Count: c.further}
		found[i] = []perfmodel.Misses{near, far}
		if p.countsWritten() {
			far.Count, far.Written = c.written, true
			found[i] = append(found[i], far)
		}
		return err
	}, func(done int) { o.Tell(fmt.Sprintf("caches at size %g", size), done, len(list)) })
	return slices.Concat(found...), err
}

// inParallel does n things, as many at once as there are processors. The first
// error ends it.
func inParallel(ctx context.Context, n int, do func(context.Context, int) error, tell func(done int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	next, done := 0, 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := take(); i < n && ctx.Err() == nil; i = take() {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				done++
				tell(done)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
