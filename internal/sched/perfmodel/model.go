package perfmodel

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Run is what a program needed at one size on the host where it was measured.
type Run struct {
	Size   float64 `json:"size"`
	Count  float64 `json:"count"`  // instructions; where these cannot be counted, CPU time in nominal operations
	CPU    float64 `json:"cpu_s"`  // the mean of several runs, since a long run is the sum of short ones
	Noise  float64 `json:"noise"`  // relative: the standard deviation of one run, beyond what Slow explains
	Faults float64 `json:"faults"` // pages touched for the first time
	Runs   int     `json:"runs"`
	// Slow is how much longer the program took than in the host's best moments, the
	// mean of the runs, and SlowOff its standard deviation from run to run.
	Slow    float64 `json:"slow"`
	SlowOff float64 `json:"slow_off"`
}

// Model is everything known of a program.
type Model struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Counter string   `json:"counter"` // perf, valgrind, time
	Runs    []Run    `json:"runs"`
	Misses  []Misses `json:"misses,omitempty"`
	Host    Host     `json:"host"` // where it was measured
	// Streams is how many sequences of lines its loops go through at once, on average; 0:
	// nobody looked.
	Streams float64 `json:"streams,omitempty"`

	Work   Curve   `json:"work"`
	Faults Curve   `json:"faults"`
	Memory *Memory `json:"memory,omitempty"`
	Pace   Pace    `json:"pace"`
	Spread float64 `json:"spread"` // relative: the standard deviation of one run beyond what the clock and Slow explain
	// Slow and SlowOff are as of the runs, over all of them. Feels is the power of the
	// host's slowness with which the program takes longer.
	Slow    float64 `json:"slow"`
	SlowOff float64 `json:"slow_off"`
	Feels   float64 `json:"feels"`
}

// Pace turns counts into seconds: the time is the sum of
//
//	Start                           what it needs whatever its size
//	Each · count / operations       what it computes
//	Random · stall                  what it waits for lines at random places
//	InOrder · exposed               what it waits for lines in order beside computing
//	Touch · pages · fault           what the kernel needs to give it memory
//	Loops · count / n / operations  what it costs to begin and end inner loops
//
// in the host's best moments. In others all of it takes longer: who shares the core
// shares the way to the memory, too.
//
// Variance holds the covariances of these factors.
type Pace struct {
	Start    float64                 `json:"start_s"`
	Each     float64                 `json:"each"`
	Random   float64                 `json:"random"`
	InOrder  float64                 `json:"in_order"`
	Touch    float64                 `json:"touch"`
	Loops    float64                 `json:"loops"`
	Variance [nParts][nParts]float64 `json:"variance"`
	Error    float64                 `json:"error"` // root mean square of the relative error at the sizes that ran
}

const nParts = 6 // of which the time is the sum

// parts are these, in this order.
type parts [nParts]float64

func (p Pace) partFactors() parts {
	return parts{p.Start, p.Each, p.Random, p.InOrder, p.Touch, p.Loops}
}

// What is expected of a pace before anything was measured. The latency of a random
// line is that of a chain of accesses, each of which waits for the one before: a
// program waits for all of it if it is such a chain, for a tenth if the processor
// keeps ten accesses under way. Between these the factor lies evenly in proportion,
// with a middle of a third: a mean of half would be three times too high for some and
// never more than half too low for others (fft was predicted too high by it). Lines in
// order are fetched ahead while the program computes: of the two the longer counts,
// and of the shorter the part that was measured on the host, more or less: programs
// that follow several streams of lines at once have been seen to hide more, others
// less. An inner loop that ends is a branch that was not foreseen: some ten to forty
// operations for a loop of some ten instructions, which is less and less the longer
// the loops are, and would be taken for a part of each instruction.
const (
	random, randomOff   = 0.35, 0.25
	inOrder, inOrderOff = 1, 0.25
	besideOff           = 0.25
	touch, touchOff     = 1, 0.3
	loops, loopsOff     = 3, 3
	anyEach             = 4.0    // nominal operations for an instruction: from a few tenths to several
	anyStart            = 5e-3   // seconds
	clockOff            = 3e-4   // how exactly the CPU time of a process is known, seconds
	paceOff             = 0.02   // relative: that of the same program from day to day
	elsewhere           = 0.10   // relative: that a program suits one processor better than another
	ninety              = 1.6449 // of a normal distribution: this many deviations to either side hold 90 %
)

// BuildCurves makes a model of what was measured: its Runs, Misses and Host are given.
func (m *Model) BuildCurves() error {
	counts, faults := make([]Point, 0, len(m.Runs)), make([]Point, 0, len(m.Runs))
	noise := 0.0
	for _, r := range m.Runs {
		counts = append(counts, Point{r.Size, r.Count})
		faults = append(faults, Point{r.Size, r.Faults})
		noise += r.Noise / float64(len(m.Runs))
	}
	if m.Counter != CounterTime {
		noise = 0 // instructions are exact
	}
	var err error
	if m.Work, err = FitCurve(counts, noise); err != nil {
		return err
	}
	if m.Faults, err = FitCurve(faults, 0.1); err != nil {
		return err
	}
	if len(m.Misses) > 0 {
		if m.Memory, err = FitMemory(m.Misses, m.growthTerms()); err != nil {
			return err
		}
		m.Memory.crossValidate(m.Misses, m.growthTerms())
	}
	m.Spread = m.runSpread()
	m.Slow, m.SlowOff = m.hostSlowness()
	m.Pace = m.fitPace()
	if m.Pace.Each <= 0 && m.Pace.Start <= 0 {
		return errors.New("its CPU time is too short to be measured at any of these sizes: larger ones are needed")
	}
	return nil
}

// The ways of counting.
const (
	CounterPerf     = "perf"
	CounterValgrind = "valgrind"
	CounterTime     = "time"
)

// growthTerms are the terms with which accesses to memory may grow.
func (m *Model) growthTerms() []Term {
	list := []Term{{}}
	for _, c := range []Curve{m.Work, m.Faults} {
		for _, t := range c.BestFormula().Terms {
			if !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// runSpread is how much single runs differ. The longest say most: what begins and
// ends a process is the least even part of it.
func (m *Model) runSpread() float64 {
	sum, weights := 0.0, 0.0
	for _, r := range m.Runs {
		weight := float64(r.Runs-1) * r.CPU
		if r.Runs > 1 {
			sum += weight * max(0, r.Noise*r.Noise-squareOf(clockOff/r.CPU))
			weights += weight
		}
	}
	if weights == 0 {
		return paceOff
	}
	return math.Hypot(math.Sqrt(sum/weights), paceOff)
}

// hostSlowness is how slow the host was over all runs, and how much that changed.
func (m *Model) hostSlowness() (mean, off float64) {
	n := 0.0
	for _, r := range m.Runs {
		k := float64(max(r.Runs, 1))
		mean, off, n = mean+k*r.slowFactor(), off+k*(squareOf(r.slowFactor())+squareOf(r.SlowOff)), n+k
	}
	mean /= n
	return mean, math.Sqrt(max(0, off/n-mean*mean))
}

// slowFactor is 1 where it was not looked at.
func (r Run) slowFactor() float64 {
	if r.Slow <= 0 {
		return 1
	}
	return r.Slow
}

// timeParts are the quantities whose weighted sum is the time, at one size. Where
// memory was simulated the pages that are touched are known from the lines that
// nobody used before, exactly; else from the faults, of which allocators make more
// or fewer as they please.
//
// hidden is the shorter of computing and waiting for lines in order.
func (m *Model) timeParts(n, count, faults, each float64, h Host) (p parts, hidden float64) {
	p = parts{1, count / h.Operations, 0, 0, faults * h.Fault, count / max(n, 1) / h.Operations}
	if m.Memory != nil {
		s := h.stallSeconds(m.Memory, n, m.Streams)
		hidden = min(s.inOrder, each*p[1])
		p[2], p[3] = s.random, s.inOrder
		if hidden > 0 {
			p[3] += hidden * (s.beside/s.inOrder - 1)
		}
		p[4] = m.Memory.touchedBytes(n) / max(h.Page, Line) * h.Fault
	}
	return p, hidden
}

// atBest is the CPU time as it would have been in the host's best moments.
func (r Run) atBest() float64 { return r.CPU / r.slowFactor() }

// uncertaintySeconds is how exactly that is known, in seconds.
func (r Run) uncertaintySeconds() float64 {
	return math.Hypot(clockOff, math.Hypot(paceOff, r.Noise/math.Sqrt(float64(max(r.Runs, 1))))*r.atBest())
}

// fitPace fits the factors to the CPU times that were measured, each weighted by how
// exactly it is known, together with what was expected of them before.
func (m *Model) fitPace() Pace {
	if m.Counter == CounterTime { // everything is in the count
		return Pace{Each: 1, Error: m.Work.BestFormula().Error}
	}
	prior := [nParts]struct{ mean, off float64 }{{0, anyStart}, {1, anyEach}, {random, randomOff}, {inOrder, inOrderOff},
		{touch, touchOff}, {loops, loopsOff}}
	rows := len(m.Runs) + len(prior)
	a, b := make([][]float64, len(prior)), make([]float64, rows)
	for j := range a {
		a[j] = make([]float64, rows)
		a[j][len(m.Runs)+j] = 1 / prior[j].off
		b[len(m.Runs)+j] = prior[j].mean / prior[j].off
	}
	// How much memory is hidden behind computing depends on what computing costs:
	// step by step, each half of the way.
	var x []float64
	each := 0.0
	for range 30 {
		for i, r := range m.Runs {
			p, _ := m.timeParts(r.Size, r.Count, r.Faults, each, m.Host)
			for j, v := range p {
				a[j][i] = v / r.uncertaintySeconds()
			}
			b[i] = r.atBest() / r.uncertaintySeconds()
		}
		x = nonNegative(a, b)
		each = (each + x[1]) / 2
	}
	p := Pace{Start: x[0], Each: x[1], Random: x[2], InOrder: x[3], Touch: x[4], Loops: x[5]}
	chi := 0.0
	for _, r := range m.Runs {
		t := 0.0
		q, _ := m.timeParts(r.Size, r.Count, r.Faults, p.Each, m.Host)
		for j, v := range q {
			t += x[j] * v
		}
		p.Error += squareOf(t/r.atBest()-1) / float64(len(m.Runs))
		chi += squareOf((t - r.atBest()) / r.uncertaintySeconds())
	}
	p.Error = math.Sqrt(p.Error)
	// Where the runs disagree more than their own noise explains, so do the factors.
	p.Variance = covarianceOf(a, math.Max(1, chi/math.Max(1, float64(len(m.Runs)-2))))
	return p
}

// covarianceOf is scale · (aᵀa)⁻¹, by Gauss and Jordan; the expectations among the
// rows see to it that it exists.
func covarianceOf(a [][]float64, scale float64) (v [nParts][nParts]float64) {
	var s [nParts][2 * nParts]float64
	for i := range nParts {
		for j := range nParts {
			s[i][j] = dotProduct(a[i], a[j])
		}
		s[i][nParts+i] = scale
	}
	for i := range nParts {
		d := s[i][i]
		for j := range s[i] {
			s[i][j] /= d
		}
		for k := range nParts {
			if f := s[k][i]; k != i {
				for j := range s[k] {
					s[k][j] -= f * s[i][j]
				}
			}
		}
	}
	for i := range nParts {
		copy(v[i][:], s[i][nParts:])
	}
	return v
}

// Prediction is the CPU time of a program at a size on a host.
type Prediction struct {
	Seconds Band
	Count   Band // operations
	// Of Seconds: waiting for memory, and for the kernel to give memory.
	Waiting, Touching float64
	Misses            []float64 // of each cache of the host
}

// Predict says what the program needs at size n on a host; nil: that on which it
// was measured, as slow as it was then on average.
func (m *Model) Predict(n float64, on *Host) (Prediction, error) {
	if on != nil {
		return m.predictOn(n, *on, 1, math.Hypot(on.Spread, paceOff), elsewhere)
	}
	return m.predictOn(n, m.Host, m.Slow, math.Hypot(m.Spread, m.SlowOff/m.Slow), 0)
}

// PredictNow is Predict for the host on which the program was measured, if it is
// known how slow that one is now. Half of what is different now from then is taken to
// last: neighbours come and go.
func (m *Model) PredictNow(n, slow float64) (Prediction, error) {
	felt := math.Sqrt(m.Slow * math.Pow(slow, m.Feels))
	return m.predictOn(n, m.Host, felt, math.Hypot(m.Spread, math.Hypot(m.SlowOff/m.Slow, math.Log(felt/m.Slow))), 0)
}

// PredictAt is Predict for that host if it is known how slow it will be.
func (m *Model) PredictAt(n, slow float64) (Prediction, error) {
	return m.predictOn(n, m.Host, math.Pow(slow, m.Feels), m.Spread, 0)
}

func (m *Model) predictOn(n float64, h Host, slow, spread, other float64) (Prediction, error) {
	if !(n > 0) || math.IsInf(n, 0) {
		return Prediction{}, fmt.Errorf("a size must be above 0")
	}
	count, faults := m.Work.BandAt(n), m.Faults.BandAt(n)
	quantities, hidden := m.timeParts(n, count.Value, faults.Value, m.Pace.Each, h)
	factors := m.Pace.partFactors()
	t, variance := 0.0, 0.0
	for i, v := range quantities {
		t += v * factors[i]
		for j, w := range quantities {
			variance += v * w * m.Pace.Variance[i][j]
		}
	}
	if math.IsInf(t, 0) || math.IsNaN(t) || t <= 0 {
		return Prediction{}, fmt.Errorf("the model gives no time for size %g", n)
	}
	p := Prediction{Count: count, Waiting: quantities[2]*factors[2] + quantities[3]*factors[3],
		Touching: quantities[4] * factors[4]}
	// The errors of pace, formula, memory and host are independent of each other,
	// and factors of the time.
	common := max(0, variance)/(t*t) + squareOf(besideOff*hidden*factors[3]/t) + spread*spread + other*other
	shares := []struct {
		of   float64
		band Band
	}{{quantities[1] * factors[1] / t, count}}
	if m.Memory != nil {
		common += squareOf((p.Waiting + p.Touching) / t * m.Memory.Foretold * m.Work.errorStretch(n))
	} else {
		shares = append(shares, struct {
			of   float64
			band Band
		}{p.Touching / t, faults})
	}
	up, down := common*ninety*ninety, common*ninety*ninety
	for _, s := range shares {
		if s.of > 0 {
			up += squareOf(s.of * math.Log(s.band.High/s.band.Value))
			down += squareOf(s.of * math.Log(s.band.Value/s.band.Low))
		}
	}
	t, p.Waiting, p.Touching = slow*t, slow*p.Waiting, slow*p.Touching
	p.Seconds = Band{Value: t, Low: t * math.Exp(-math.Sqrt(down)), High: t * math.Exp(math.Sqrt(up))}
	if m.Memory != nil {
		for _, l := range h.Levels[:max(len(h.Levels)-1, 0)] {
			p.Misses = append(p.Misses, m.Memory.MissesAt(n, l.Bytes).All)
		}
	}
	return p, nil
}

// ReferenceTime is the CPU time at size n on the reference host, to which estimates
// of jobs refer: hosts of twice its speed take half of it.
func (m *Model) ReferenceTime(n float64) (Band, error) {
	p, err := m.Predict(n, nil)
	s, off := p.Seconds, math.Exp(ninety*elsewhere)
	return Band{Value: s.Value * m.Host.Speed, Low: s.Low * m.Host.Speed / off, High: s.High * m.Host.Speed * off}, err
}

func squareOf(x float64) float64 { return x * x }
