package resched

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The gain of a move is the part of the remaining time that it saves (spec 30, papers/000):
// (ret_current − (ret_new + cost)) / ret_current.

// The modes of the rescheduler. All but the first are for experiments, in which both outcomes of a decision are
// measured.
const (
	ModeDefault  = "default"  // the gain decides
	ModeAlways   = "always"   // to the best other place, once
	ModeNever    = "never"    // all stay
	ModeOpposite = "opposite" // the other way than the gain says, once
)

// ModeNames lists the modes.
func ModeNames() []string { return []string{ModeDefault, ModeAlways, ModeNever, ModeOpposite} }

// GainConfig is how reluctant jobs are to move for a gain. Zero values stand for the defaults.
type GainConfig struct {
	Threshold     float64 `json:"threshold,omitempty"`      // that is begun with (0.3)
	Fixed         bool    `json:"fixed,omitempty"`          // the threshold does not learn
	PaperCost     bool    `json:"paper_cost,omitempty"`     // every move is taken to cost the 900 s of the paper
	NoOpportunity bool    `json:"no_opportunity,omitempty"` // nobody moves because others ended
	Mode          string  `json:"mode,omitempty"`
}

// PaperCost is the worst case of the paper, 900 s in all.
func PaperCost() core.MoveCost {
	return core.MoveCost{Write: 40, Weather: 90 + 120, Schedule: 80, Start: 60, Other: 10, Redistribute: 500}
}

const (
	usualThreshold = 0.3
	// leastThreshold: a move for less is not worth its risk, however well predictions hold.
	leastThreshold = 0.03
	mostThreshold  = 0.6
	// priorWeight is how many predictions that held as badly as the first threshold supposes are assumed to have been.
	priorWeight = 1
	// maxPhaseWeight bounds what the phases of one program say: they err together where the whole does.
	maxPhaseWeight = 30
)

// threshold is the gain above which a job is moved: two standard deviations of what predictions were wrong by. It
// begins at the one of the configuration, which supposes that they are wrong by half of it.
func (c GainConfig) threshold(held core.Accuracy, spread float64, phases int) float64 {
	first := c.Threshold
	if !(first > 0) {
		first = usualThreshold
	}
	if c.Fixed {
		return first
	}
	sigma, n := first/2, min(float64(phases), maxPhaseWeight)
	squares := priorWeight*sigma*sigma + held.Squares + n*spread*spread
	return max(leastThreshold, min(2*math.Sqrt(squares/(priorWeight+held.Weight+n)), mostThreshold))
}

// GainQuestion is what a decision by gain rests on.
type GainQuestion struct {
	Assessment *core.Assessment
	Options    []core.MoveOption // those of the assessment that there is room for
	Held       core.Accuracy     // how earlier predictions held
	Moved      int               // how often the job has been moved
}

// DecideGain says whether the job stays or to which of the options it goes.
func DecideGain(q GainQuestion, c GainConfig) (core.Gain, *core.MoveOption) {
	a := q.Assessment
	g := core.Gain{Current: a.Left, Threshold: c.threshold(q.Held, a.Spread, a.Phases)}
	best := c.bestOption(q.Options)
	if best != nil {
		g.New, g.Cost, g.Size = best.Left, c.costOf(best), best.Size
		g.Gain = (g.Current - (g.New + g.Cost.TotalSeconds())) / g.Current
		g.Moves = g.Gain > g.Threshold
	}
	c.forceMode(&g, best, q.Moved)
	if !g.Moves {
		return g, nil
	}
	return g, best
}

func (c GainConfig) costOf(o *core.MoveOption) core.MoveCost {
	if c.PaperCost {
		return PaperCost()
	}
	return o.Cost
}

// bestOption is the one with the earliest end; of equal ones the first cluster, then the fewest processors.
func (c GainConfig) bestOption(list []core.MoveOption) *core.MoveOption {
	var best *core.MoveOption
	end := func(o *core.MoveOption) float64 { return o.Left + c.costOf(o).TotalSeconds() }
	for i := range list {
		o := &list[i]
		switch {
		case !(o.Left >= 0):
		case best == nil, end(o) < end(best),
			end(o) == end(best) && (o.Cluster < best.Cluster || o.Cluster == best.Cluster && o.Size < best.Size):
			best = o
		}
	}
	return best
}

// forceMode lets an experiment decide otherwise. What was forced once is not undone by the next decision.
func (c GainConfig) forceMode(g *core.Gain, best *core.MoveOption, moved int) {
	was := g.Moves
	switch c.Mode {
	case ModeNever:
		g.Moves = false
	case ModeAlways:
		g.Moves = best != nil && moved == 0
	case ModeOpposite:
		g.Moves = best != nil && moved == 0 && !was
	default:
		return
	}
	if g.Moves != was {
		g.Forced = c.Mode
	}
}
