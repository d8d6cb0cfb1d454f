package grads

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/trial"
)

// sweepFiles are the three sweeps of the paper, in its order.
var sweepFiles = []string{"qr-size-sweep", "qr-load-sweep", "qr-time-sweep"}

// opportunisticFile is its case of an application that ends and makes room for another.
const opportunisticFile = "qr-opportunistic"

// Case is one application: as it was decided, and with the opposite decision.
type Case struct {
	Value    float64 // of what the sweep varies
	Decided  float64 // seconds until all have ended
	Opposite float64
	Moved    bool
	Gain     *core.Gain // what the first decision rested on; nil: nothing was asked
}

// Stayed and Migrated are the seconds of the two ways to decide.
func (c *Case) Stayed() float64 {
	if c.Moved {
		return c.Opposite
	}
	return c.Decided
}

// Migrated is the same for the other way.
func (c *Case) Migrated() float64 {
	if c.Moved {
		return c.Decided
	}
	return c.Opposite
}

// IsRight says whether the decision cost at most 5 % more than its opposite.
func (c *Case) IsRight() bool { return trial.IsRight(c.Decided, c.Opposite) }

// Sweep is the cases of one scenario.
type Sweep struct {
	Over  string // what is varied: matrix, load, time; "" if nothing is
	Cases []Case
}

// Results is the whole experiment.
type Results struct {
	Sweeps        []Sweep
	Opportunistic Sweep
}

// Simulate runs the scenarios in a folder.
func Simulate(ctx context.Context, dir string) (*Results, error) {
	r := &Results{}
	for _, name := range sweepFiles {
		s, err := runScenario(ctx, filepath.Join(dir, name+".yaml"))
		if err != nil {
			return nil, err
		}
		r.Sweeps = append(r.Sweeps, s)
	}
	var err error
	r.Opportunistic, err = runScenario(ctx, filepath.Join(dir, opportunisticFile+".yaml"))
	return r, err
}

func runScenario(ctx context.Context, file string) (Sweep, error) {
	loaded, err := scenario.Load(file)
	if err != nil {
		return Sweep{}, err
	}
	var s Sweep
	for _, setup := range trial.FromScenario(loaded).Variants() {
		c, err := runCase(ctx, setup)
		if err != nil {
			return Sweep{}, fmt.Errorf("%s: %w", file, err)
		}
		s.Over = setup.SweepOver
		s.Cases = append(s.Cases, c)
	}
	return s, nil
}

func runCase(ctx context.Context, setup *trial.Setup) (Case, error) {
	c := Case{Value: setup.SweepValue}
	for _, mode := range []string{resched.ModeDefault, resched.ModeOpposite} {
		one := *setup
		one.Policy.Gain.Mode = mode
		r, err := one.Run(ctx, trial.Options{})
		if err != nil {
			return c, err
		}
		if r.Summary.Completed != r.Summary.Jobs {
			return c, fmt.Errorf("%d of %d jobs completed", r.Summary.Completed, r.Summary.Jobs)
		}
		if mode == resched.ModeOpposite {
			c.Opposite = r.Summary.MakespanS
			continue
		}
		c.Decided = r.Summary.MakespanS
		for _, d := range r.Decisions {
			if c.Gain == nil || d.Moves && !c.Moved {
				c.Gain = d.Gain
			}
			c.Moved = c.Moved || d.Moves
		}
	}
	return c, nil
}

// CountRight is how many decisions were right, and of how many.
func (r *Results) CountRight() (right, all int) {
	for _, s := range append(r.Sweeps[:len(r.Sweeps):len(r.Sweeps)], r.Opportunistic) {
		for i := range s.Cases {
			if all++; s.Cases[i].IsRight() {
				right++
			}
		}
	}
	return right, all
}
