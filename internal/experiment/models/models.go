// Package models is the experiment behind the performance models: the example
// programs are fitted at small sizes, and what the models say for five and ten
// times the largest of these is compared with what is then measured. It decides
// the sizes and writes the report; it must not know how models work.
package models

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/measure"
	"github.com/godwit-hpc/godwit/internal/perfmodel"
)

// Plan is what is to be done.
type Plan struct {
	Programs string // folder of the example programs
	Host     perfmodel.Host
	Clock    clock.Clock
	Budget   time.Duration // for the simulated caches of one program
	Tell     func(what string, done, total int)
}

// cases are the programs and the sizes to fit: small enough that ten times the
// largest takes seconds, large enough that its run can be timed.
func cases() []struct {
	name  string
	sizes []float64
} {
	return []struct {
		name  string
		sizes []float64
	}{
		{"matmul", []float64{40, 80, 120, 160}},
		{"fft", []float64{60, 100, 160, 240}},
		{"sort", []float64{20_000, 40_000, 80_000, 160_000}},
		{"stencil", []float64{100, 200, 300, 400}},
		{"nbody", []float64{100, 200, 400, 600}},
	}
}

// repeat is how often each prediction is checked at least.
const repeat = 3

// factors are how many times the largest fitted size is predicted.
var factors = []float64{2, 5, 10}

// Case is what came out for one program.
type Case struct {
	Name    string           `json:"name"`
	Model   *perfmodel.Model `json:"model"`
	Checked []Check          `json:"checked"`
}

// Check is one prediction and what was measured then.
type Check struct {
	Factor    float64        `json:"factor"`
	Size      float64        `json:"size"`
	Predicted perfmodel.Band `json:"predicted"`
	Waiting   float64        `json:"waiting"`
	Measured  float64        `json:"measured"`
	Noise     float64        `json:"noise"`
}

// Error is relative to what was measured.
func (c Check) Error() float64 { return c.Predicted.Value/c.Measured - 1 }

// Holds says whether what was measured lies in the interval.
func (c Check) Holds() bool {
	return c.Measured >= c.Predicted.Low && c.Measured <= c.Predicted.High
}

// Results is everything that was seen.
type Results struct {
	Cases []Case `json:"cases"`
}

// Run does the experiment.
func Run(ctx context.Context, p Plan) (*Results, error) {
	r := new(Results)
	for i, c := range cases() {
		program := measure.Program{Argv: []string{filepath.Join(p.Programs, c.name), measure.Placeholder}}
		p.Tell(c.name, i, len(cases()))
		m, err := measure.Fit(ctx, measure.Options{Program: program, Name: c.name, Sizes: c.sizes, Counter: measure.Auto,
			Host: p.Host, Budget: p.Budget, Clock: p.Clock, Tell: func(string, int, int) {}})
		if err != nil {
			return nil, fmt.Errorf("fitting %s: %w", c.name, err)
		}
		out := Case{Name: c.name, Model: m}
		for _, f := range factors {
			size := f * c.sizes[len(c.sizes)-1]
			said, err := m.Predict(size, nil)
			if err != nil {
				return nil, fmt.Errorf("predicting %s at %g: %w", c.name, size, err)
			}
			was, err := measure.Time(ctx, program, size, repeat)
			if err != nil {
				return nil, err
			}
			out.Checked = append(out.Checked, Check{Factor: f, Size: size, Predicted: said.Seconds, Waiting: said.Waiting,
				Measured: was.CPU, Noise: was.Noise})
		}
		r.Cases = append(r.Cases, out)
	}
	return r, nil
}

// At is the mean of the absolute errors at one factor, how many of the intervals
// hold, and of how many.
func (r *Results) At(factor float64) (meanError float64, hold, all int) {
	for _, c := range r.Cases {
		for _, k := range c.Checked {
			if k.Factor == factor {
				meanError += math.Abs(k.Error())
				all++
				if k.Holds() {
					hold++
				}
			}
		}
	}
	return meanError / float64(max(all, 1)), hold, all
}
