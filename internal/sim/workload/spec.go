package workload

import (
	"fmt"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

// Spec describes a workload to be generated.
type Spec struct {
	Jobs     int
	Arrivals Arrivals
	Programs []Program
	Kinds    Kinds
	Scale    Scale            // how much the work of jobs of one program differs
	Estimate Range            // what users say of the run time at the smallest size, as a factor of it; 0: nothing
	Deadline Range            // from submission, as a factor of the best run time; 0: none
	Place    core.PlacePolicy // of every job
	Retries  int              // of every job
}

// Arrivals says when jobs are submitted; one of the two is above 0. With Every
// the first job comes at second 0.
type Arrivals struct {
	Every   time.Duration // always so long after the job before
	Poisson time.Duration // at random, so long apart in the mean
}

// Program is one of the programs that users run.
type Program struct {
	App        *app.App
	Weight     float64          // its share of the jobs, relative to the other programs
	Work       float64          // seconds on one core of a speed-1 host
	Components []core.Component // one, or several to be placed together; the sizes of a malleable job
	Contract   *core.Contract   // that its jobs have; nil: none
	StartOn    core.Aim         // where they are to start; 0: anywhere
	RigidSize  int              // of each component of a rigid job; 0 means its smallest size
}

// Kinds is the shares of the jobs that are of each kind, relative to each
// other. All zero means that all are malleable.
type Kinds struct{ Malleable, Moldable, Rigid float64 }

// Range is where a factor is drawn from, evenly; Lo = Hi is a constant.
type Range struct{ Lo, Hi float64 }

// Scale is a random factor on the work of a job; the zero value is always 1.
type Scale struct {
	Uniform   Range   // drawn evenly
	Lognormal float64 // drawn with this standard deviation of its logarithm, and mean 1
}

// Bounds that no real workload reaches, so that nothing overflows.
const (
	maxJobs     = 100_000_000
	maxPrograms = 1000
	maxApart    = 365 * 24 * time.Hour
	maxSize     = 1 << 30
	maxWork     = 1e15
	maxFactor   = 1e6
	maxSpread   = 5
)

// CheckFields says what is wrong with the spec as a whole; programs are checked by
// Program.CheckFields. The error is a *badinput.Error that names the field.
func (s *Spec) CheckFields() error {
	kinds := s.Kinds.kindWeights()
	switch {
	case s.Jobs < 1 || s.Jobs > maxJobs:
		return fieldError("jobs", strconv.Itoa(s.Jobs), fmt.Sprintf("a whole number from 1 to %d", maxJobs))
	case (s.Arrivals.Every > 0) == (s.Arrivals.Poisson > 0):
		return fieldError("every", "", "either every or poisson, above 0, says how jobs arrive")
	case max(s.Arrivals.Every, s.Arrivals.Poisson) > maxApart:
		return fieldError("every", max(s.Arrivals.Every, s.Arrivals.Poisson).String(), "jobs at most 365 days apart")
	case len(s.Programs) == 0 || len(s.Programs) > maxPrograms:
		return fieldError("apps", strconv.Itoa(len(s.Programs)), fmt.Sprintf("from 1 to %d applications", maxPrograms))
	case !areWeights(kinds[:]):
		return fieldError("kinds", "", "shares of at least 0, not all 0")
	case !s.Scale.isValid():
		return fieldError("scale", "", fmt.Sprintf("either uniform: [LO, HI] above 0, or lognormal from 0 to %d", maxSpread))
	case !s.Estimate.isValid():
		return fieldError("estimate", "", fmt.Sprintf("a factor, or [LO, HI], from 0 to %g", float64(maxFactor)))
	case !s.Deadline.isValid():
		return fieldError("deadline", "", fmt.Sprintf("a factor, or [LO, HI], from 0 to %g", float64(maxFactor)))
	case s.Retries < 0:
		return fieldError("retries", strconv.Itoa(s.Retries), "a whole number of at least 0")
	}
	return nil
}

// CheckFields says what is wrong with the program. The error is a *badinput.Error
// that names the field.
func (p *Program) CheckFields() error {
	switch {
	case !(p.Weight > 0 && p.Weight <= maxFactor):
		return fieldError("share", fmt.Sprint(p.Weight), fmt.Sprintf("a number above 0, at most %g", float64(maxFactor)))
	case !(p.Work > 0 && p.Work <= maxWork):
		return fieldError("work", fmt.Sprint(p.Work),
			fmt.Sprintf("above 0 and at most %g seconds on one core", float64(maxWork)))
	case len(p.Components) == 0:
		return fieldError("components", "", "at least one component")
	}
	for _, c := range p.Components {
		if err := p.checkSizes(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) checkSizes(c core.Component) error {
	within := fmt.Sprintf("a size from min %d to max %d", c.Min, c.Max)
	odd := func(n int) bool { return p.App.Accept.UsableSize(n) != n }
	switch {
	case c.Min < 1 || c.Min > maxSize:
		return fieldError("min", strconv.Itoa(c.Min), fmt.Sprintf("a whole number from 1 to %d", maxSize))
	case c.Max < c.Min || c.Max > maxSize:
		return fieldError("max", strconv.Itoa(c.Max), fmt.Sprintf("a whole number from min %d to %d", c.Min, maxSize))
	case c.Initial != 0 && (c.Initial < c.Min || c.Initial > c.Max):
		return fieldError("initial", strconv.Itoa(c.Initial), within)
	case p.RigidSize != 0 && (p.RigidSize < c.Min || p.RigidSize > c.Max):
		return fieldError("rigid_size", strconv.Itoa(p.RigidSize), within)
	case odd(c.Min):
		return fieldError("min", strconv.Itoa(c.Min), "a size that it accepts: "+p.App.Accept.String())
	case odd(c.Initial):
		return fieldError("initial", strconv.Itoa(c.Initial), "a size that it accepts: "+p.App.Accept.String())
	case odd(p.RigidSize):
		return fieldError("rigid_size", strconv.Itoa(p.RigidSize), "a size that it accepts: "+p.App.Accept.String())
	}
	return nil
}

func fieldError(field, value, want string) error {
	return &badinput.Error{Field: field, Value: value, Want: want}
}

// kindWeights are those of the kinds in the order of core.Kind.
func (k Kinds) kindWeights() [3]float64 {
	if k == (Kinds{}) {
		k.Malleable = 1
	}
	return [3]float64{core.Rigid: k.Rigid, core.Moldable: k.Moldable, core.Malleable: k.Malleable}
}

// areWeights says whether the numbers can be shares of a whole.
func areWeights(ws []float64) bool {
	sum := 0.0
	for _, w := range ws {
		if !(w >= 0 && w <= maxFactor) {
			return false
		}
		sum += w
	}
	return sum > 0
}

func (r Range) isValid() bool { return r.Lo >= 0 && r.Hi >= r.Lo && r.Hi <= maxFactor }

func (s Scale) isValid() bool {
	switch {
	case s.Uniform != (Range{}):
		return s.Lognormal == 0 && s.Uniform.isValid() && s.Uniform.Lo > 0
	default:
		return s.Lognormal >= 0 && s.Lognormal <= maxSpread
	}
}
