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
	CPU    float64 `json:"cpu_s"`  // the median of several runs
	Noise  float64 `json:"noise"`  // relative: how far the least of the runs was below the median
	Faults float64 `json:"faults"` // pages touched for the first time
	Runs   int     `json:"runs"`
}

// Model is everything known of a program.
type Model struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Counter string   `json:"counter"` // perf, valgrind, time
	Runs    []Run    `json:"runs"`
	Misses  []Misses `json:"misses,omitempty"`
	Host    Host     `json:"host"` // where it was measured

	Work   Curve   `json:"work"`
	Faults Curve   `json:"faults"`
	Memory *Memory `json:"memory,omitempty"`
	Pace   Pace    `json:"pace"`
}

// Pace turns counts into seconds: the time is the sum of
//
//	Start                     what it needs whatever its size
//	Each · count / operations what it computes
//	Wait · stall              what it waits for memory
//	Touch · pages · fault     what the kernel needs to give it memory
//
// Variance holds the covariances of the four factors.
type Pace struct {
	Start    float64       `json:"start_s"`
	Each     float64       `json:"each"`
	Wait     float64       `json:"wait"`
	Touch    float64       `json:"touch"`
	Variance [4][4]float64 `json:"variance"`
	Error    float64       `json:"error"` // root mean square of the relative error at the sizes that ran
}

// What is expected of a pace before anything was measured: out-of-order
// processors wait for about half of the latency that a chain of accesses has.
const (
	wait, waitOff   = 0.5, 0.25
	touch, touchOff = 1, 0.5
	anyEach         = 4.0    // nominal operations for an instruction: from a few tenths to several
	anyStart        = 5e-3   // seconds
	clockOff        = 3e-4   // how exactly the CPU time of a process is known, seconds
	paceOff         = 0.02   // relative: that of the same program from day to day
	elsewhere       = 0.10   // relative: that a program suits one processor better than another
	ninety          = 1.6449 // of a normal distribution: this many deviations to either side hold 90 %
)

// Build makes a model of what was measured: its Runs, Misses and Host are given.
func (m *Model) Build() error {
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
	if m.Work, err = Fit(counts, noise); err != nil {
		return err
	}
	if m.Faults, err = Fit(faults, 0.1); err != nil {
		return err
	}
	if len(m.Misses) > 0 {
		if m.Memory, err = FitMemory(m.Misses, m.growths()); err != nil {
			return err
		}
	}
	m.Pace = m.pace()
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

// growths are the terms with which accesses to memory may grow.
func (m *Model) growths() []Term {
	list := []Term{{}}
	for _, c := range []Curve{m.Work, m.Faults} {
		for _, t := range c.Best().Terms {
			if !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// parts are the four quantities whose weighted sum is the time, at one size.
// Where memory was simulated the pages that are touched are known from the lines
// that nobody used before, exactly; else from the faults, of which allocators make
// more or fewer as they please.
func (m *Model) parts(n, count, faults float64, h Host) [4]float64 {
	p := [4]float64{1, count / h.Operations, 0, faults * h.Fault}
	if m.Memory != nil {
		p[2] = h.stall(m.Memory, n)
		p[3] = m.Memory.touched(n) / max(h.Page, Line) * h.Fault
	}
	return p
}

// pace fits the factors to the CPU times that were measured, each weighted by how
// exactly it is known, together with what was expected of them before.
func (m *Model) pace() Pace {
	if m.Counter == CounterTime { // everything is in the count
		return Pace{Each: 1, Error: m.Work.Best().Error}
	}
	prior := [4]struct{ mean, off float64 }{{0, anyStart}, {1, anyEach}, {wait, waitOff}, {touch, touchOff}}
	rows := len(m.Runs) + len(prior)
	a, b := make([][]float64, len(prior)), make([]float64, rows)
	for j := range a {
		a[j] = make([]float64, rows)
		a[j][len(m.Runs)+j] = 1 / prior[j].off
		b[len(m.Runs)+j] = prior[j].mean / prior[j].off
	}
	for i, r := range m.Runs {
		off := math.Hypot(clockOff, (paceOff+r.Noise/2)*r.CPU)
		for j, v := range m.parts(r.Size, r.Count, r.Faults, m.Host) {
			a[j][i] = v / off
		}
		b[i] = r.CPU / off
	}
	x := nonNegative(a, b)
	p := Pace{Start: x[0], Each: x[1], Wait: x[2], Touch: x[3]}
	chi := 0.0
	for _, r := range m.Runs {
		t := 0.0
		for j, v := range m.parts(r.Size, r.Count, r.Faults, m.Host) {
			t += x[j] * v
		}
		p.Error += (t/r.CPU - 1) * (t/r.CPU - 1) / float64(len(m.Runs))
		off := math.Hypot(clockOff, (paceOff+r.Noise/2)*r.CPU)
		chi += (t - r.CPU) * (t - r.CPU) / (off * off)
	}
	p.Error = math.Sqrt(p.Error)
	// Where the runs disagree more than their own noise explains, so do the factors.
	p.Variance = covariance(a, math.Max(1, chi/math.Max(1, float64(len(m.Runs)-2))))
	return p
}

// covariance is scale · (aᵀa)⁻¹, by Gauss and Jordan; the expectations among the
// rows see to it that it exists.
func covariance(a [][]float64, scale float64) (v [4][4]float64) {
	var s [4][8]float64
	for i := range 4 {
		for j := range 4 {
			s[i][j] = dot(a[i], a[j])
		}
		s[i][4+i] = scale
	}
	for i := range 4 {
		d := s[i][i]
		for j := range 8 {
			s[i][j] /= d
		}
		for k := range 4 {
			if f := s[k][i]; k != i {
				for j := range 8 {
					s[k][j] -= f * s[i][j]
				}
			}
		}
	}
	for i := range 4 {
		copy(v[i][:], s[i][4:])
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
// was measured.
func (m *Model) Predict(n float64, on *Host) (Prediction, error) {
	if !(n > 0) || math.IsInf(n, 0) {
		return Prediction{}, fmt.Errorf("a size must be above 0")
	}
	h, other := m.Host, 0.0
	if on != nil {
		h, other = *on, elsewhere
	}
	count, faults := m.Work.At(n), m.Faults.At(n)
	parts := m.parts(n, count.Value, faults.Value, h)
	factors := [4]float64{m.Pace.Start, m.Pace.Each, m.Pace.Wait, m.Pace.Touch}
	t, variance := 0.0, 0.0
	for i, v := range parts {
		t += v * factors[i]
		for j, w := range parts {
			variance += v * w * m.Pace.Variance[i][j]
		}
	}
	if math.IsInf(t, 0) || math.IsNaN(t) || t <= 0 {
		return Prediction{}, fmt.Errorf("the model gives no time for size %g", n)
	}
	p := Prediction{Count: count, Waiting: parts[2] * factors[2], Touching: parts[3] * factors[3]}
	// The errors of pace, formula and host are independent of each other.
	work := parts[1] * factors[1] / t
	shared := math.Sqrt(variance) / t * ninety
	up := math.Sqrt(shared*shared + sq(work*(count.High/count.Value-1)) + sq(ninety*math.Hypot(paceOff, other)))
	down := math.Sqrt(shared*shared + sq(work*(1-count.Low/count.Value)) + sq(ninety*math.Hypot(paceOff, other)))
	p.Seconds = Band{Value: t, Low: t / (1 + down), High: t * (1 + up)}
	if m.Memory != nil {
		for _, l := range h.Levels[:max(len(h.Levels)-1, 0)] {
			all, _ := m.Memory.Misses(n, l.Bytes)
			p.Misses = append(p.Misses, all)
		}
	}
	return p, nil
}

// Reference is the CPU time at size n on the reference host, to which estimates
// of jobs refer: hosts of twice its speed take half of it.
func (m *Model) Reference(n float64) (Band, error) {
	p, err := m.Predict(n, nil)
	s, off := p.Seconds, math.Exp(ninety*elsewhere)
	return Band{Value: s.Value * m.Host.Speed, Low: s.Low * m.Host.Speed / off, High: s.High * m.Host.Speed * off}, err
}

func sq(x float64) float64 { return x * x }
