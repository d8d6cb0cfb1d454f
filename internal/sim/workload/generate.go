package workload

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Generate makes a workload from its description. The same seed gives the same
// jobs; each question (when, which program, which kind, how long) has its own
// stream of random numbers, so two workloads that differ in their kinds only
// run the same programs in the same order.
func Generate(s Spec, seed uint64) (Source, error) {
	if err := s.CheckFields(); err != nil {
		return nil, err
	}
	weights := make([]float64, len(s.Programs))
	for i := range s.Programs {
		if err := s.Programs[i].CheckFields(); err != nil {
			return nil, err
		}
		weights[i] = s.Programs[i].Weight
	}
	kinds := s.Kinds.kindWeights()
	g := &generator{
		spec:      s,
		arrivals:  randomStream(seed, arrivalStream),
		scales:    randomStream(seed, scaleStream),
		estimates: randomStream(seed, estimateStream),
		deadlines: randomStream(seed, deadlineStream),
		programs:  dealChoices(weights, s.Jobs, randomStream(seed, programStream)),
		kinds:     dealChoices(kinds[:], s.Jobs, randomStream(seed, kindStream)),
		best:      make([]float64, len(s.Programs)),
	}
	for i := range s.Programs {
		g.best[i] = s.Programs[i].bestRate()
	}
	return g, nil
}

type generator struct {
	spec                                   Spec
	arrivals, scales, estimates, deadlines *rand.Rand
	programs, kinds                        []uint16 // of each job, by index
	best                                   []float64
	now                                    core.Time
	next                                   int
	parts                                  components
}

func (g *generator) Len() int { return g.spec.Jobs }

func (g *generator) NextJob(j *Job) bool {
	if g.next == g.spec.Jobs {
		return false
	}
	i := g.next
	g.advanceArrival()
	g.next++
	p := &g.spec.Programs[g.programs[i]]
	work := p.Work * g.spec.Scale.drawFactor(g.scales)
	*j = Job{Submit: g.now, App: p.App, Work: work, Label: int64(g.next), StartOn: p.StartOn}
	j.Spec = core.Job{
		ID: core.JobID(g.next), Name: p.App.Name, App: p.App.Name,
		Kind: core.Kind(g.kinds[i]), Place: g.spec.Place, Retries: g.spec.Retries, Contract: p.Contract,
	}
	j.Spec.Components = g.jobComponents(p, j.Spec.Kind)
	if f := g.spec.Estimate.drawValue(g.estimates); f > 0 {
		j.Limit = max(1, core.DurationFromSeconds(f*work/p.App.WorkRate(j.Spec.MinSize(), 1)))
		j.Spec.Estimate = j.Limit
	}
	if f := g.spec.Deadline.drawValue(g.deadlines); f > 0 {
		j.Spec.Deadline = g.now.Add(max(1, core.DurationFromSeconds(f*work/g.best[g.programs[i]])))
	}
	return true
}

// advanceArrival moves on to the submission of the next job.
func (g *generator) advanceArrival() {
	a := g.spec.Arrivals
	switch {
	case a.Poisson > 0:
		g.now = g.now.Add(time.Duration(g.arrivals.ExpFloat64() * float64(a.Poisson)))
	case g.next > 0:
		g.now = g.now.Add(a.Every)
	}
}

func (g *generator) jobComponents(p *Program, k core.Kind) []core.Component {
	if len(p.Components) == 1 {
		return g.parts.singleComponent(p.componentOf(0, k))
	}
	list := make([]core.Component, len(p.Components))
	for i := range list {
		list[i] = p.componentOf(i, k)
	}
	return list
}

// componentOf is the i-th of a job of the kind: a rigid one has one size.
func (p *Program) componentOf(i int, k core.Kind) core.Component {
	c := p.Components[i]
	if k == core.Rigid {
		size := c.Min
		if p.RigidSize > 0 {
			size = p.RigidSize
		}
		c.Min, c.Max, c.Initial = size, size, 0
	}
	return c
}

// bestRate is the highest that the program reaches within its sizes. Curves
// may fall again, so every size is looked at; only the first many, since a
// curve that still rises there is as good as flat.
func (p *Program) bestRate() float64 {
	const many = 1 << 16
	least, most := 0, 0
	for _, c := range p.Components {
		least += c.Min
		most += c.Max
	}
	best := p.App.WorkRate(most, 1)
	for n := least; n <= min(most, least+many); n++ {
		best = max(best, p.App.WorkRate(n, 1))
	}
	return best
}

func (r Range) drawValue(from *rand.Rand) float64 {
	if r.Lo == r.Hi {
		return r.Lo
	}
	return r.Lo + (r.Hi-r.Lo)*from.Float64()
}

func (s Scale) drawFactor(from *rand.Rand) float64 {
	switch {
	case s.Uniform != (Range{}):
		return s.Uniform.drawValue(from)
	case s.Lognormal > 0:
		return math.Exp(s.Lognormal*from.NormFloat64() - s.Lognormal*s.Lognormal/2)
	}
	return 1
}
