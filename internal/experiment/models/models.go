// Package models is the experiment behind the performance models: the example
// programs are fitted at small sizes, and what the models say for two, five and ten
// times the largest of these is compared with what is then measured. It decides
// the sizes and writes the report; it must not know how models work.
package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/observe/measure"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// Plan is what is to be done.
type Plan struct {
	Programs string   // folder of the example programs
	Only     []string // of the programs; none: all
	Host     perfmodel.Host
	Clock    clock.Clock
	Budget   time.Duration                  // for the simulated caches of one program
	Slowness func(cpu int) (float64, error) // how slow a CPU of this host is just now
	Tell     func(what string, done, total int)
	Save     func(*Results) error // after each program
}

// program is one that is fitted and checked, at sizes small enough that ten times
// the largest takes seconds, large enough that its run can be timed.
type program struct {
	name    string
	sizes   []float64
	heldOut bool // models were made without looking at it
}

func modelPrograms() []program {
	return []program{
		{"matmul", []float64{50, 100, 150, 200}, false},
		{"fft", []float64{80, 160, 240, 360}, false},
		{"sort", []float64{20_000, 40_000, 80_000, 160_000}, false},
		{"stencil", []float64{100, 200, 300, 400}, false},
		{"nbody", []float64{100, 200, 400, 600}, false},
		{"matvec", []float64{200, 350, 500, 700}, true},
		{"scan", []float64{100_000, 200_000, 400_000, 800_000}, true},
		{"join", []float64{40_000, 80_000, 160_000, 320_000}, true},
		{"floyd", []float64{60, 90, 120, 150}, true},
		{"poisson", []float64{80, 120, 180, 260}, true},
		{"gauss", []float64{120, 160, 200, 250}, true},
		{"match", []float64{500_000, 1_000_000, 2_000_000, 4_000_000}, true},
	}
}

// ProgramNames are the programs that Plan.Only may name.
func ProgramNames() []string {
	var list []string
	for _, p := range modelPrograms() {
		list = append(list, p.name)
	}
	return list
}

// repeat is how often each prediction is checked at least.
const repeat = 3

// factors are how many times the largest fitted size is predicted.
var factors = []float64{2, 5, 10}

// Case is what came out for one program.
type Case struct {
	Name    string           `json:"name"`
	HeldOut bool             `json:"held_out"`
	Model   *perfmodel.Model `json:"model"`
	Checked []Check          `json:"checked"`
}

// Check is one prediction and what was measured then.
type Check struct {
	Factor    float64        `json:"factor"`
	Size      float64        `json:"size"`
	Predicted perfmodel.Band `json:"predicted"`
	Waiting   float64        `json:"waiting"`
	Measured  float64        `json:"measured"` // the mean of the runs
	Noise     float64        `json:"noise"`    // relative: their standard deviation
	Runs      []float64      `json:"runs"`     // seconds
	// Before and Slow are how slow the host was just before and during these runs, and
	// Known what is predicted for a host as slow as during them.
	Before float64        `json:"before"`
	Slow   float64        `json:"slow"`
	Known  perfmodel.Band `json:"known"`
}

// Error is relative to what was measured.
func (c Check) Error() float64 { return c.Predicted.Value/c.Measured - 1 }

// KnownError is that of the prediction for a host as slow as it was then: the error
// of the model alone.
func (c Check) KnownError() float64 { return c.Known.Value/c.Measured - 1 }

// IsWithin says whether what was measured lies in the interval.
func (c Check) IsWithin() bool {
	return c.Measured >= c.Predicted.Low && c.Measured <= c.Predicted.High
}

// Results is everything that was seen: in the newest repeat of the experiment, and in
// those before, oldest first.
type Results struct {
	Cases   []Case   `json:"cases"`
	Earlier [][]Case `json:"earlier,omitempty"`
}

// StartRepeat has what comes be a repeat of its own.
func (r *Results) StartRepeat() {
	if len(r.Cases) > 0 {
		r.Earlier, r.Cases = append(r.Earlier, r.Cases), nil
	}
}

// allRepeats are the cases of each repeat, oldest first.
func (r *Results) allRepeats() [][]Case { return append(slices.Clone(r.Earlier), r.Cases) }

// RunsThatHold are how many single runs lie in the interval.
func (c Check) RunsThatHold() int {
	n := 0
	for _, v := range c.Runs {
		if v >= c.Predicted.Low && v <= c.Predicted.High {
			n++
		}
	}
	return n
}

// Run does the experiment. What was seen of other programs before is kept in r,
// and saved with each that is done.
func (r *Results) Run(ctx context.Context, p Plan) error {
	for i, c := range modelPrograms() {
		if len(p.Only) > 0 && !slices.Contains(p.Only, c.name) {
			continue
		}
		p.Tell(c.name, i, len(modelPrograms()))
		done, err := c.checkProgram(ctx, p)
		if err != nil {
			return err
		}
		r.putCase(done)
		if err := p.Save(r); err != nil {
			return err
		}
	}
	return nil
}

// checkProgram fits a program, predicts and measures.
func (c program) checkProgram(ctx context.Context, p Plan) (Case, error) {
	out := Case{Name: c.name, HeldOut: c.heldOut}
	program := measure.Program{Argv: []string{filepath.Join(p.Programs, c.name), measure.Placeholder},
		Slowness: p.Slowness}
	m, err := measure.FitModel(ctx, measure.Options{Program: program, Name: c.name, Sizes: c.sizes, Counter: measure.Auto,
		Host: p.Host, Budget: p.Budget, Clock: p.Clock, Tell: func(string, int, int) {}})
	if err != nil {
		return out, fmt.Errorf("fitting %s: %w", c.name, err)
	}
	out.Model = m
	for _, f := range factors {
		size := f * c.sizes[len(c.sizes)-1]
		before, err := measure.CurrentSlowness(ctx, p.Slowness)
		if err != nil {
			return out, err
		}
		was, runs, err := measure.TimeProgram(ctx, program, size, repeat)
		if err != nil {
			return out, err
		}
		k := Check{Factor: f, Size: size, Measured: was.CPU, Noise: relativeSpread(runs), Runs: runs, Before: before,
			Slow: was.Slow}
		if err := k.predictRun(m); err != nil {
			return out, fmt.Errorf("predicting %s at %g: %w", c.name, size, err)
		}
		out.Checked = append(out.Checked, k)
	}
	return out, nil
}

// relativeSpread is the standard deviation of the runs relative to their mean.
func relativeSpread(runs []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range runs {
		mean += v / float64(len(runs))
	}
	for _, v := range runs {
		squares += (v/mean - 1) * (v/mean - 1)
	}
	return math.Sqrt(squares / math.Max(1, float64(len(runs)-1)))
}

// predictRun has the model say what the runs should have taken.
func (c *Check) predictRun(m *perfmodel.Model) error {
	said, err := m.Predict(c.Size, nil)
	if c.Before > 0 { // it was looked at
		said, err = m.PredictNow(c.Size, c.Before)
	}
	if err != nil {
		return err
	}
	known, err := m.PredictAt(c.Size, c.Slow)
	c.Predicted, c.Waiting, c.Known = said.Seconds, said.Waiting, known.Seconds
	return err
}

// RefitAll fits what was measured once more, and predicts with what comes out, for
// models that are made otherwise now than then.
func (r *Results) RefitAll() error {
	for _, c := range slices.Concat(r.allRepeats()...) {
		if err := c.Model.BuildCurves(); err != nil {
			return fmt.Errorf("fitting %s: %w", c.Name, err)
		}
		for i := range c.Checked {
			if err := c.Checked[i].predictRun(c.Model); err != nil {
				return fmt.Errorf("predicting %s at %g: %w", c.Name, c.Checked[i].Size, err)
			}
		}
	}
	return nil
}

// putCase adds a case, in the place of what was seen of the same program before.
func (r *Results) putCase(c Case) {
	r.Cases = slices.DeleteFunc(r.Cases, func(old Case) bool { return old.Name == c.Name })
	r.Cases = append(r.Cases, c)
	order := ProgramNames()
	slices.SortStableFunc(r.Cases,
		func(a, b Case) int { return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name)) })
}

// Decode reads the results that an earlier run saved.
func Decode(text []byte) (*Results, error) {
	r := new(Results)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	for i, c := range slices.Concat(r.allRepeats()...) {
		if c.Model == nil || len(c.Checked) != len(factors) {
			return nil, fmt.Errorf("cases[%d]: a model and %d checks are needed", i, len(factors))
		}
		text, err := c.Model.EncodeFile()
		if err == nil {
			_, err = perfmodel.DecodeFile(text) // which checks it
		}
		if err != nil {
			return nil, fmt.Errorf("cases[%d].model: %w", i, err)
		}
	}
	return r, nil
}

// RepeatErrors are the mean errors at one factor, of each repeat that has such programs.
func (r *Results) RepeatErrors(factor float64, heldOut bool) (list []float64) {
	for _, cases := range r.allRepeats() {
		if s := summariseCases(cases, factor, heldOut); s.All > 0 {
			list = append(list, s.Error)
		}
	}
	return list
}

// Summary is how good predictions at one factor were.
type Summary struct {
	Error      float64 // the mean of the absolute errors
	Known      float64 // that of the predictions for a host as slow as it was
	Hold, All  int     // of the intervals, and of how many
	Runs, Seen int     // of the single runs those in the interval, and all
}

// SummaryAt is how good predictions of the newest repeat were.
func (r *Results) SummaryAt(factor float64, heldOut bool) Summary {
	return summariseCases(r.Cases, factor, heldOut)
}

// summariseCases says how good predictions at one factor were, 0: at all of them, of the
// programs that were held out or of the others.
func summariseCases(cases []Case, factor float64, heldOut bool) (s Summary) {
	for _, c := range cases {
		for _, k := range c.Checked {
			if c.HeldOut != heldOut || factor != 0 && k.Factor != factor {
				continue
			}
			s.Error += math.Abs(k.Error())
			s.Known += math.Abs(k.KnownError())
			s.All++
			if k.IsWithin() {
				s.Hold++
			}
			s.Runs, s.Seen = s.Runs+k.RunsThatHold(), s.Seen+len(k.Runs)
		}
	}
	s.Error /= float64(max(s.All, 1))
	s.Known /= float64(max(s.All, 1))
	return s
}
