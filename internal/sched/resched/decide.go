// Package resched decides whether a running job stays where it is or moves, by
// the chance of meeting its deadline (spec 20, papers/004 section 4.8.4): it
// acts when that chance falls below what the user wants, not only when the
// deadline is lost, and moves only for a clear gain, a limited number of times,
// with a rest after each move that doubles. It must not know where the
// predictions come from or how a job is moved.
package resched

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// Move is one place where the job could go on.
type Move struct {
	Cluster  core.ClusterID
	Left     predict.Dist // wall seconds until it would be done there, the overhead among them
	Overhead float64      // seconds of it to wait, save, transfer and restore
}

// Question is what a decision rests on.
type Question struct {
	TimeLeft   float64 // seconds to the deadline; negative if it has passed
	Confidence float64 // the chance of meeting it that is wanted; 0: 0.95
	Stay       predict.Dist
	Moves      []Move
	Moved      int     // how often it has been moved for its deadline
	SinceMove  float64 // seconds since it was moved last; negative: never
}

// Config is how reluctant a job is to move. Zero values stand for the defaults.
type Config struct {
	MaxMoves   int     // the most moves of a job (4)
	MinGain    float64 // how much better the chance must be (0.1)
	MinEarlier float64 // where the deadline is lost: how much earlier it must end, as a part of what is left (0.1)
	Rest       float64 // seconds of rest after the first move (10), doubled by each further one
	RestCosts  float64 // but at least so many times the cost of the move (3)
	// Gain is about jobs with a contract, which are moved for a gain of time.
	Gain GainConfig `json:",omitzero"`
}

const (
	usualConfidence = 0.95
	// hopeless is the chance below which a deadline counts as lost.
	hopeless = 0.05
	// unlikely: where the deadline is more likely missed than met wherever the
	// job runs, an earlier end counts as well.
	unlikely = 0.5
	// chanceTolerance: chances that differ by less are the same, the earlier end decides.
	chanceTolerance = 0.01
)

func (c Config) withDefaults() Config {
	if c.MaxMoves <= 0 {
		c.MaxMoves = 4
	}
	for _, d := range []struct {
		value *float64
		usual float64
	}{{&c.MinGain, 0.1}, {&c.MinEarlier, 0.1}, {&c.Rest, 10}, {&c.RestCosts, 3}} {
		if !(*d.value > 0) {
			*d.value = d.usual
		}
	}
	return c
}

// Verdict is what is decided, and why.
type Verdict struct {
	Go         bool
	To         core.ClusterID // Nowhere if it stays
	ChanceStay float64        // of meeting the deadline; -1 if unknown
	ChanceGo   float64        // at the best other place; -1 if there is none
	Hopeless   bool           // nobody can meet the deadline
	Why        Why
}

// Decide says whether the job stays or where it goes.
func Decide(q Question, cfg Config) Verdict {
	cfg = cfg.withDefaults()
	if !(q.Confidence > 0 && q.Confidence < 1) {
		q.Confidence = usualConfidence
	}
	v := Verdict{To: core.Nowhere, ChanceStay: -1, ChanceGo: -1}
	v.Why = Why{Stay: -1, Go: -1, Moved: q.Moved}
	if !q.Stay.IsKnown() {
		v.Why.Code = NothingKnown
		return v
	}
	v.ChanceStay = q.Stay.ProbabilityBelow(q.TimeLeft)
	v.Why.Stay, v.Why.LeftStay = v.ChanceStay, q.Stay.Median()
	if v.ChanceStay >= q.Confidence {
		v.Why.Code = Safe
		return v
	}
	best, ok := bestMove(q)
	if ok {
		v.ChanceGo = best.Left.ProbabilityBelow(q.TimeLeft)
		v.Why.Go, v.Why.LeftGo = v.ChanceGo, best.Left.Median()
	}
	v.Hopeless = max(v.ChanceStay, v.ChanceGo) < hopeless
	v.Why.Code = NowhereElse
	if ok {
		v.Why.Code = judgeDanger(q, cfg, &v, best.Overhead)
	}
	if v.Why.Code == BetterChance || v.Why.Code == EndsEarlier {
		v.Go, v.To = true, best.Cluster
	}
	return v
}

// judgeDanger says what to do of a job whose deadline is in danger, and which could go on
// elsewhere at this cost.
func judgeDanger(q Question, cfg Config, v *Verdict, cost float64) Code {
	gain := v.ChanceGo-v.ChanceStay >= cfg.MinGain
	earlier := v.Why.LeftGo <= v.Why.LeftStay*(1-cfg.MinEarlier)
	code := BetterChance
	switch lost := max(v.ChanceStay, v.ChanceGo) < unlikely; {
	case gain:
	case lost && earlier && v.ChanceGo >= v.ChanceStay-chanceTolerance:
		code = EndsEarlier
	case v.Hopeless:
		return NothingEarlier
	default:
		return NotClearlyBetter
	}
	if q.Moved >= cfg.MaxMoves {
		return MovesUsedUp
	}
	if rest := cfg.restAfterMove(q.Moved, cost); q.SinceMove >= 0 && q.SinceMove < rest {
		v.Why.SinceMove, v.Why.Rest = q.SinceMove, rest
		return Resting
	}
	return code
}

// restAfterMove is how long a job is left alone after a move: it has to show how it does
// in the new place, and a job that is moved again and again would only be saved
// and restored. What counts is the cost of the move that it would make: another place
// that is hard to get to is no reason to stay.
func (c Config) restAfterMove(moved int, cost float64) float64 {
	return max(c.Rest, c.RestCosts*cost) * math.Pow(2, float64(max(0, moved-1)))
}

// bestMove is the one with the best chance; of about equal chances the one that
// ends earliest, then the first cluster, whatever order they come in.
func bestMove(q Question) (Move, bool) {
	var best Move
	found := false
	top := 0.0
	for _, m := range q.Moves {
		if m.Left.IsKnown() {
			top = max(top, m.Left.ProbabilityBelow(q.TimeLeft))
		}
	}
	for _, m := range q.Moves {
		if !m.Left.IsKnown() || m.Left.ProbabilityBelow(q.TimeLeft) < top-chanceTolerance {
			continue
		}
		a, b := m.Left.Median(), best.Left.Median()
		if !found || a < b || a == b && m.Cluster < best.Cluster {
			best, found = m, true
		}
	}
	return best, found
}
