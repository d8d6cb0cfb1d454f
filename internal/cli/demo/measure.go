package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// measurement is what this machine gives at this moment.
type measurement struct {
	start       string  // the slower cluster: there the job will start
	rate        float64 // steps a second of the program on start, beside whatever else the machine does
	share       float64 // of its core that the program gets there
	slowed      float64 // rate beside the competitors
	away        float64 // on the other cluster meanwhile
	startup     float64 // seconds from submission to the first step
	cpuPerStep  float64 // CPU seconds
	competitors int
}

const (
	// measureWindow is how long steps are counted for one rate.
	measureWindow = 1200 * time.Millisecond
	// minSteps of a program are counted, if need be for up to maxWindow.
	minSteps  = 8
	maxWindow = 6 * time.Second
	// wantedSlowdown is how many times slower the program is to be beside the
	// competitors: so many of them are started. With minSlowdown the story can be told.
	wantedSlowdown = 10
	minSlowdown    = 8
	maxCompetitors = 64
	// competitorRaise is how much the priority of competitors is above that of the job
	// where that is allowed, and raisedWeight how many times its CPU time one then gets.
	competitorRaise = 5
	raisedWeight    = 3
	// minShare keeps a program that got no CPU time at all from being taken at its word.
	minShare = 0.05
)

// probe is one run of the program that is there to be measured.
type probe struct {
	id      core.JobID
	counter *stepCounter
	ended   chan error
}

// measureRates runs the program on both clusters at once, then starts competitors beside
// one of them, and counts steps.
func (b *bed) measureRates(ctx context.Context, method string) (m measurement, err error) {
	ctx, cancel := context.WithCancel(ctx)
	begin := b.Clock()
	probes := map[string]*probe{}
	defer func() {
		cancel()
		for _, p := range probes {
			<-p.ended
			err = errors.Join(err, b.CancelJob(context.WithoutCancel(ctx), p.id))
		}
	}()
	for _, cluster := range []string{east, west} {
		if probes[cluster], err = b.startProbe(ctx, cluster, method); err != nil {
			delete(probes, cluster)
			return m, err
		}
	}
	for _, p := range probes {
		if err := p.awaitEvent(ctx, p.counter.reachedStep(1)); err != nil {
			return m, err
		}
		m.startup = max(m.startup, p.counter.firstStepAt().Sub(begin).Seconds())
	}
	if err := b.measureAlone(ctx, probes, &m); err != nil {
		return m, err
	}
	if err := b.measureCompetition(ctx, probes, &m); err != nil {
		return m, err
	}
	j, err := b.Client.GetJob(ctx, fmt.Sprint(probes[m.start].id))
	if err == nil {
		m.cpuPerStep = j.CPUS / float64(probes[m.start].counter.stepsDone())
	}
	return m, err
}

// startProbe starts the program, longer than it is needed.
func (b *bed) startProbe(ctx context.Context, cluster, method string) (*probe, error) {
	spec := b.newJob(1_000_000, method)
	spec.On = []string{cluster}
	id, err := b.SubmitJob(ctx, &spec)
	if err != nil {
		return nil, err
	}
	p := &probe{id: id, counter: newStepCounter(b.Clock), ended: make(chan error, 1)}
	go func() {
		_, err := b.Client.CopyLogs(ctx, fmt.Sprint(id), 1, 0, true, p.counter)
		p.ended <- err
	}()
	return p, nil
}

// awaitEvent waits for something that happens while the program runs.
func (p *probe) awaitEvent(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case err := <-p.ended:
		p.ended <- err // for whoever waits for the end
		return errors.Join(fmt.Errorf("job %d ended while it was measured", p.id), err)
	}
}

// measureAlone measures the programs before there are competitors.
func (b *bed) measureAlone(ctx context.Context, probes map[string]*probe, m *measurement) error {
	used, begin := map[string]float64{}, b.Clock()
	for cluster, p := range probes {
		j, err := b.Client.GetJob(ctx, fmt.Sprint(p.id))
		if err != nil {
			return err
		}
		used[cluster] = j.CPUS
	}
	rates, err := b.countRates(ctx, probes)
	if err != nil {
		return err
	}
	m.start = east
	if rates[west] < rates[east] {
		m.start = west
	}
	m.rate = rates[m.start]
	j, err := b.Client.GetJob(ctx, fmt.Sprint(probes[m.start].id))
	m.share = min(max((j.CPUS-used[m.start])/b.Clock.Since(begin).Seconds(), minShare), 1)
	return err
}

// measureCompetition starts competitors, so many that they slow the program down enough.
func (b *bed) measureCompetition(ctx context.Context, probes map[string]*probe, m *measurement) error {
	for m.competitors = competitorsFor(m.share, isRoot()); ; {
		c, err := testbed.StartCompetitors(b.Core[m.start], m.competitors, competitorRaise)
		if err != nil {
			return err
		}
		rates, err := b.countRates(ctx, probes)
		if err = errors.Join(err, c.Stop()); err != nil {
			return err
		}
		m.slowed, m.away = rates[m.start], rates[b.OtherCluster(m.start)]
		if m.rate >= minSlowdown*m.slowed || m.competitors == maxCompetitors {
			return nil
		}
		m.competitors = moreCompetitors(m.competitors, m.rate/m.slowed)
	}
}

// isRoot says whether competitors get a higher priority.
func isRoot() bool { return os.Geteuid() == 0 }

// competitorsFor is how many competitors slow down a program enough that has a share
// of its core now, beside others: it counts as 1 of 1/share.
func competitorsFor(share float64, raised bool) int {
	weight := 1.0
	if raised {
		weight = raisedWeight
	}
	return min(maxCompetitors, int(math.Ceil((wantedSlowdown-1)/share/weight)))
}

// moreCompetitors is how many are needed where n make the program so much slower only;
// at most four times as many, since what was measured is not exact.
func moreCompetitors(n int, slowdown float64) int {
	factor := min((wantedSlowdown-1)/max(slowdown-1, 0.1), 4)
	return min(maxCompetitors, max(n+1, int(math.Ceil(float64(n)*factor))))
}

// countRates counts the steps of both programs for a while.
func (b *bed) countRates(ctx context.Context, probes map[string]*probe) (map[string]float64, error) {
	begin := b.Clock()
	before := map[string]int{}
	for cluster, p := range probes {
		before[cluster] = p.counter.stepsDone()
	}
	for {
		if !clock.SleepContext(ctx, measureWindow/10) {
			return nil, ctx.Err()
		}
		took := b.Clock.Since(begin)
		rates, enough := map[string]float64{}, took >= measureWindow
		for cluster, p := range probes {
			steps := p.counter.stepsDone() - before[cluster]
			enough = enough && steps >= minSteps
			rates[cluster] = max(float64(steps), 1) / took.Seconds()
		}
		if enough || took >= maxWindow {
			return rates, nil
		}
	}
}

// plan is when what happens.
type plan struct {
	measurement
	method   string
	steps    int
	alone    float64 // seconds that the program takes alone
	loadAt   float64 // the part of the program that is done when the competitors start
	deadline time.Duration
}

const (
	// reaction is how many seconds the broker may take to see that a program has
	// become slower.
	reaction = 10 * float64(sampleInterval) / float64(time.Second)
	// saving is the CPU time of a checkpoint, as a part of that of a start; it is
	// written beside the competitors.
	saving = 0.2
	// minStartups is how many times longer than a start the program takes at least, or
	// saving it and starting it anew would not be worth it.
	minStartups = 3
	// maxSlack is how many times longer than expected the migrated program may take at
	// most.
	maxSlack = 2
)

// planRuns sizes the program and its deadline to what was measured. The deadline lies
// in the middle between the expected end with migration and that without, so that the
// machine may become busier or idler by the same factor.
func planRuns(m measurement, alone time.Duration, method string) plan {
	p := plan{measurement: m, method: method, loadAt: 0.25, alone: max(alone.Seconds(), minStartups*m.startup)}
	left := 1 - p.loadAt
	if method == methodRestart { // all that was done is lost
		p.loadAt, left = 0.15, 1
	}
	p.steps = int(math.Ceil(m.rate * p.alone))
	before := m.startup + p.loadAt*p.alone
	stay := before + (1-p.loadAt)*p.alone*p.expectedSlowdown()
	migrated := before + reaction + saving*m.startup*p.expectedSlowdown() + m.startup + left*float64(p.steps)/m.away
	p.deadline = core.DurationFromSeconds(min(math.Sqrt(stay*migrated), maxSlack*migrated)).Round(100 * time.Millisecond)
	return p
}

// expectedSlowdown is how many times slower the program is beside the competitors.
func (p *plan) expectedSlowdown() float64 { return p.rate / p.slowed }

// cpuNeeded is the CPU time of the program.
func (p *plan) cpuNeeded() time.Duration {
	return core.DurationFromSeconds(float64(p.steps) * p.cpuPerStep)
}
