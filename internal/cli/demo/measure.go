package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// measurement is what this machine gives at this moment.
type measurement struct {
	start       string  // the slower cluster: there the job will start
	rate        float64 // steps a second of the program on start, beside whatever else the machine does
	slowed      float64 // the same beside the competitors
	away        float64 // on the other cluster meanwhile
	startup     float64 // seconds from submission to the first step
	cpuPerStep  float64 // CPU seconds
	competitors int
}

const (
	// measureWindow is how long steps are counted for one rate.
	measureWindow = 1500 * time.Millisecond
	// minSteps of a program are counted, if need be for up to maxWindow.
	minSteps  = 5
	maxWindow = 8 * time.Second
	// wantedSlowdown is how many times slower the program is to be beside the
	// competitors; so many of them are started that it is.
	wantedSlowdown = 9
	minCompetitors = 2
	maxCompetitors = 32
)

// probe is one run of the program that is there to be measured.
type probe struct {
	id      core.JobID
	counter *stepCounter
	ended   chan error
}

// measure runs the program on both clusters at once, then starts competitors beside
// one of them, and counts steps.
func (t *testbed) measure(ctx context.Context, prog *program, method string) (m measurement, err error) {
	ctx, cancel := context.WithCancel(ctx)
	begin := t.clock()
	probes := map[string]*probe{}
	defer func() {
		cancel()
		for _, p := range probes {
			<-p.ended
			err = errors.Join(err, t.cancel(context.WithoutCancel(ctx), p.id))
		}
	}()
	for _, cluster := range []string{east, west} {
		if probes[cluster], err = t.startProbe(ctx, prog, cluster, method); err != nil {
			delete(probes, cluster)
			return m, err
		}
	}
	for _, p := range probes {
		if err := p.await(ctx, p.counter.reached(1)); err != nil {
			return m, err
		}
		m.startup = max(m.startup, p.counter.began().Sub(begin).Seconds())
	}
	rates, err := t.rates(ctx, probes)
	if err != nil {
		return m, err
	}
	m.start = east
	if rates[west] < rates[east] {
		m.start = west
	}
	m.rate = rates[m.start]
	if err := t.measureCompetition(ctx, probes, &m); err != nil {
		return m, err
	}
	j, err := t.client.Job(ctx, fmt.Sprint(probes[m.start].id))
	if err == nil {
		m.cpuPerStep = j.CPUS / float64(probes[m.start].counter.done())
	}
	return m, err
}

// startProbe starts the program, longer than it is needed.
func (t *testbed) startProbe(ctx context.Context, prog *program, cluster, method string) (*probe, error) {
	spec := t.job(prog, 1_000_000, method)
	spec.On = []string{cluster}
	id, err := t.submit(ctx, &spec)
	if err != nil {
		return nil, err
	}
	p := &probe{id: id, counter: newStepCounter(t.clock), ended: make(chan error, 1)}
	go func() {
		_, err := t.client.Logs(ctx, fmt.Sprint(id), 1, 0, true, p.counter)
		p.ended <- err
	}()
	return p, nil
}

// await waits for something that happens while the program runs.
func (p *probe) await(ctx context.Context, happened <-chan struct{}) error {
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

// measureCompetition starts competitors, more and more of them until they slow the
// program down enough.
func (t *testbed) measureCompetition(ctx context.Context, probes map[string]*probe, m *measurement) error {
	for m.competitors = minCompetitors; ; m.competitors *= 2 {
		c, err := startCompetitors(t.core[m.start], m.competitors)
		if err != nil {
			return err
		}
		rates, err := t.rates(ctx, probes)
		if err = errors.Join(err, c.stop()); err != nil {
			return err
		}
		m.slowed, m.away = rates[m.start], rates[other(m.start)]
		if m.rate >= wantedSlowdown*m.slowed || 2*m.competitors > maxCompetitors {
			return nil
		}
	}
}

// rates counts the steps of both programs for a while.
func (t *testbed) rates(ctx context.Context, probes map[string]*probe) (map[string]float64, error) {
	begin := t.clock()
	before := map[string]int{}
	for cluster, p := range probes {
		before[cluster] = p.counter.done()
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(measureWindow / 10):
		}
		took := t.clock.Since(begin)
		rates, enough := map[string]float64{}, took >= measureWindow
		for cluster, p := range probes {
			steps := p.counter.done() - before[cluster]
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
	reaction = 8 * float64(sampleInterval) / float64(time.Second)
	// saving is the CPU time of a checkpoint, as a part of that of a start; it is
	// written beside the competitors.
	saving = 0.15
	// maxSlack is how many times longer than expected the migrated program may take at
	// most.
	maxSlack = 2
)

// planRuns sizes the program and its deadline to what was measured. The deadline lies
// in the middle between the expected end with migration and that without, so that the
// machine may become busier or idler by the same factor.
func planRuns(m measurement, alone time.Duration, method string) plan {
	p := plan{measurement: m, method: method, loadAt: 0.25, alone: alone.Seconds()}
	left := 1 - p.loadAt
	if method == methodRestart { // all that was done is lost
		p.loadAt, left = 0.15, 1
	}
	p.steps = int(math.Ceil(m.rate * p.alone))
	before := m.startup + p.loadAt*p.alone
	stay := before + (1-p.loadAt)*p.alone*p.slowdown()
	migrated := before + reaction + saving*m.startup*p.slowdown() + m.startup + left*float64(p.steps)/m.away
	p.deadline = core.Seconds(min(math.Sqrt(stay*migrated), maxSlack*migrated)).Round(100 * time.Millisecond)
	return p
}

// slowdown is how many times slower the program is beside the competitors.
func (p *plan) slowdown() float64 { return p.rate / p.slowed }

// needs is the CPU time of the program.
func (p *plan) needs() time.Duration { return core.Seconds(float64(p.steps) * p.cpuPerStep) }
