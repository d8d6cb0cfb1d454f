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
	"github.com/godwit-hpc/godwit/internal/measure"
	"github.com/godwit-hpc/godwit/internal/perfmodel"
)

// Plan is what is to be done.
type Plan struct {
	Programs string   // folder of the example programs
	Only     []string // of the programs; none: all
	Host     perfmodel.Host
	Clock    clock.Clock
	Budget   time.Duration // for the simulated caches of one program
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

func programs() []program {
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

// Names are the programs that Plan.Only may name.
func Names() []string {
	var list []string
	for _, p := range programs() {
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
	Noise     float64        `json:"noise"`
	Runs      []float64      `json:"runs"` // seconds
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
	for i, c := range programs() {
		if len(p.Only) > 0 && !slices.Contains(p.Only, c.name) {
			continue
		}
		p.Tell(c.name, i, len(programs()))
		done, err := c.check(ctx, p)
		if err != nil {
			return err
		}
		r.put(done)
		if err := p.Save(r); err != nil {
			return err
		}
	}
	return nil
}

// check fits a program, predicts and measures.
func (c program) check(ctx context.Context, p Plan) (Case, error) {
	out := Case{Name: c.name, HeldOut: c.heldOut}
	program := measure.Program{Argv: []string{filepath.Join(p.Programs, c.name), measure.Placeholder}}
	m, err := measure.Fit(ctx, measure.Options{Program: program, Name: c.name, Sizes: c.sizes, Counter: measure.Auto,
		Host: p.Host, Budget: p.Budget, Clock: p.Clock, Tell: func(string, int, int) {}})
	if err != nil {
		return out, fmt.Errorf("fitting %s: %w", c.name, err)
	}
	out.Model = m
	for _, f := range factors {
		size := f * c.sizes[len(c.sizes)-1]
		said, err := m.Predict(size, nil)
		if err != nil {
			return out, fmt.Errorf("predicting %s at %g: %w", c.name, size, err)
		}
		was, runs, err := measure.Time(ctx, program, size, repeat)
		if err != nil {
			return out, err
		}
		out.Checked = append(out.Checked, Check{Factor: f, Size: size, Predicted: said.Seconds, Waiting: said.Waiting,
			Measured: was.CPU, Noise: was.Noise, Runs: runs})
	}
	return out, nil
}

// Again fits what was measured once more, and predicts with what comes out, for
// models that are made otherwise now than then.
func (r *Results) Again() error {
	for _, c := range r.Cases {
		if err := c.Model.Build(); err != nil {
			return fmt.Errorf("fitting %s: %w", c.Name, err)
		}
		for i := range c.Checked {
			k := &c.Checked[i]
			said, err := c.Model.Predict(k.Size, nil)
			if err != nil {
				return fmt.Errorf("predicting %s at %g: %w", c.Name, k.Size, err)
			}
			k.Predicted, k.Waiting = said.Seconds, said.Waiting
		}
	}
	return nil
}

// put adds a case, in the place of what was seen of the same program before.
func (r *Results) put(c Case) {
	r.Cases = slices.DeleteFunc(r.Cases, func(old Case) bool { return old.Name == c.Name })
	r.Cases = append(r.Cases, c)
	order := Names()
	slices.SortStableFunc(r.Cases, func(a, b Case) int { return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name)) })
}

// Decode reads the results that an earlier run saved.
func Decode(text []byte) (*Results, error) {
	r := new(Results)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	for i, c := range r.Cases {
		if c.Model == nil || len(c.Checked) != len(factors) {
			return nil, fmt.Errorf("cases[%d]: a model and %d checks are needed", i, len(factors))
		}
		text, err := c.Model.Encode()
		if err == nil {
			_, err = perfmodel.Decode(text) // which checks it
		}
		if err != nil {
			return nil, fmt.Errorf("cases[%d].model: %w", i, err)
		}
	}
	return r, nil
}

// Summary is how good predictions at one factor were.
type Summary struct {
	Error      float64 // the mean of the absolute errors
	Hold, All  int     // of the intervals, and of how many
	Runs, Seen int     // of the single runs those in the interval, and all
}

// At is how good predictions at one factor were, 0: at all of them, of the
// programs that were held out or of the others.
func (r *Results) At(factor float64, heldOut bool) (s Summary) {
	for _, c := range r.Cases {
		for _, k := range c.Checked {
			if c.HeldOut != heldOut || factor != 0 && k.Factor != factor {
				continue
			}
			s.Error += math.Abs(k.Error())
			s.All++
			if k.Holds() {
				s.Hold++
			}
			s.Runs, s.Seen = s.Runs+k.RunsThatHold(), s.Seen+len(k.Runs)
		}
	}
	s.Error /= float64(max(s.All, 1))
	return s
}
