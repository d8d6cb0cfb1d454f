package flow

import (
	"cmp"
	"fmt"
	"slices"
)

// The names of the heuristics.
const (
	MinMin    = "min-min"
	MaxMin    = "max-min"
	Suffer    = "sufferage" //nolint:misspell // so the papers call it
	HEFT      = "heft"
	PEFT      = "peft"
	Lookahead = "lookahead"
	Backward  = "backward"
	Subset    = "subset"
	Improved  = "improved" // the local search, on the best of the others
)

// Heuristics are the names that Options may list.
func Heuristics() []string {
	return []string{MinMin, MaxMin, Suffer, HEFT, PEFT, Lookahead, Backward, Subset}
}

// defaultOrder is the order in which they run if nobody names them: first the one that
// gives a good plan soonest, then those that better it most for their time.
func defaultOrder() []string {
	return []string{HEFT, Backward, Lookahead, MaxMin, PEFT, Subset, Suffer, MinMin}
}

// relativeCost is about how many times as long as HEFT the others take, with what they need;
// for those that seldom find anything more than that, so that time is left for the
// search.
func relativeCost(name string) float64 {
	switch name {
	case Backward:
		return 1.5
	case Lookahead:
		return 3
	}
	return 15
}

// classic are the heuristics that run even where there is nothing left to win, so
// that plans can be compared, unless time counts.
var classic = []string{MinMin, MaxMin, Suffer, HEFT}

// Options say how to plan.
type Options struct {
	Weights    Weights  // of the matrix; zero: 1 and 1
	Heuristics []string // which; none: all that can help
	// Worth is asked before each heuristic but the first, unless they are named:
	// may a plan between the bound and the best one pay for the time to find it, if
	// that is about so many times what the first one took? nil: yes.
	Worth func(best, bound, cost float64) bool
	// From is how far the workflow has got; nil: it has not begun. What has begun is
	// left where it is, and there is no improvement.
	From *State
	// Budget is asked for when the best makespan without improvement is known, and
	// is told the bound as well; nil: no improvement.
	Budget func(best, bound float64) Budget
}

// An Outcome is what one heuristic made of the workflow.
type Outcome struct {
	Heuristic string
	Makespan  float64
}

// A Plan is the best schedule, and how it compares.
type Plan struct {
	Schedule  *Schedule
	Heuristic string    // that found it
	Bound     float64   // no schedule can be shorter
	Outcomes  []Outcome // of all heuristics that ran, in their order
}

// A NobodyError says that no host meets the requirements of a task.
type NobodyError struct{ Task int }

func (e *NobodyError) Error() string { return fmt.Sprintf("no host can run task %d", e.Task) }

// New plans the workflow with every heuristic and improves the best plan.
// Of equal plans the first counts, that of HEFT before all others. It fails with a *NobodyError if a task
// cannot run anywhere.
func New(d *DAG, g *Grid, o Options) (*Plan, error) {
	if t := g.nobodyFor(d, o.From); t >= 0 {
		return nil, &NobodyError{t}
	}
	if o.Weights == (Weights{}) {
		o.Weights = Weights{1, 1}
	}
	p := &Plan{}
	if o.From == nil {
		p.Bound = LowerBound(d, g)
	}
	table := p.runAll(d, g, &o)
	if p.Schedule == nil {
		return nil, fmt.Errorf("no heuristic among %v", o.Heuristics)
	}
	if o.Budget != nil && o.From == nil && !d.wide {
		if w := o.Budget(p.Schedule.Makespan, p.Bound); w.Steps > 0 {
			p.takeSchedule(Improved, improveSchedule(d, g, p.Schedule, p.Bound, table, w))
		}
	}
	return p, nil
}

// runAll runs the heuristics. Where a plan reaches the bound, or more of them are
// not worth their time, others are left out. It returns what lies behind each
// task, if that was worked out.
func (p *Plan) runAll(d *DAG, g *Grid, o *Options) (table *optimistic) {
	named := len(o.Heuristics) > 0
	names := defaultOrder()
	if named {
		names = slices.DeleteFunc(Heuristics(), func(name string) bool { return !slices.Contains(o.Heuristics, name) })
	}
	enough := func(name string) bool {
		switch {
		case named || p.Schedule == nil:
			return false
		case o.Worth != nil:
			return p.isOptimal() || !o.Worth(p.Schedule.Makespan, p.Bound, relativeCost(name))
		}
		return p.isOptimal() && !slices.Contains(classic, name)
	}
	for i, name := range names {
		if enough(name) {
			continue
		}
		if i == 2 && !named || table == nil && (name == PEFT || name == Lookahead) {
			table = lookAhead(d, g)
			if o.From == nil && !d.wide {
				p.Bound = max(p.Bound, wayBound(d, g, table)*(1-slack))
			}
			if enough(name) {
				continue
			}
		}
		p.takeSchedule(name, runHeuristic(name, d, g, o, table))
	}
	slices.SortFunc(p.Outcomes, func(a, b Outcome) int {
		return cmp.Compare(slices.Index(Heuristics(), a.Heuristic), slices.Index(Heuristics(), b.Heuristic))
	})
	return table
}

// isOptimal tells whether the best plan is as short as any can be.
func (p *Plan) isOptimal() bool { return p.Schedule != nil && p.Schedule.Makespan <= p.Bound*(1+slack) }

// takeSchedule keeps the schedule if it is the best so far; nil stands for a heuristic
// that does not apply.
func (p *Plan) takeSchedule(name string, s *Schedule) {
	if s == nil {
		return
	}
	p.Outcomes = append(p.Outcomes, Outcome{name, s.Makespan})
	if p.Schedule == nil || s.Makespan < p.Schedule.Makespan {
		p.Schedule, p.Heuristic = s, name
	}
}

func runHeuristic(name string, d *DAG, g *Grid, o *Options, table *optimistic) *Schedule {
	switch name {
	case MinMin:
		return byMatrix(d, g, o.Weights, minMin, o.From)
	case MaxMin:
		return byMatrix(d, g, o.Weights, maxMin, o.From)
	case Suffer:
		return byMatrix(d, g, o.Weights, sufferageOf, o.From)
	case HEFT:
		return planHEFT(d, g, o.From)
	case PEFT:
		if table != nil {
			return planPEFT(d, g, table, o.From)
		}
	case Lookahead:
		if table != nil {
			return planAhead(d, g, table, o.From)
		}
	case Backward:
		if o.From == nil && !d.wide {
			return newMapping(d, g, planBackward(d, g)).toSchedule()
		}
	case Subset:
		if o.From == nil {
			return planSubset(d, g)
		}
	}
	return nil
}
