package resched

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

func about(seconds float64) predict.Dist { return predict.LogNormal(seconds, 0.1) }

func to(c core.ClusterID, seconds, overhead float64) Move {
	return Move{Cluster: c, Left: about(seconds).Shift(overhead), Overhead: overhead}
}

func isNear(got, want, by float64) bool { return math.Abs(got-want) <= by }

func TestEachSituationHasItsAnswerAndItsReason(t *testing.T) {
	for _, c := range []struct {
		name     string
		q        Question
		code     Code
		to       core.ClusterID
		hopeless bool
		numbers  func(w Why) bool // whether they are those that led to it
	}{
		{name: "stays: its remaining run time is unknown of the job",
			q:    Question{TimeLeft: 100, Moves: []Move{to(1, 10, 1)}, SinceMove: -1},
			code: NothingKnown, to: core.Nowhere,
			numbers: func(w Why) bool { return w.Stay == -1 && w.Go == -1 }},
		{name: "the deadline is safe, however good it is elsewhere",
			q:    Question{TimeLeft: 150, Stay: about(100), Moves: []Move{to(1, 10, 1)}, SinceMove: -1},
			code: Safe, to: core.Nowhere,
			numbers: func(w Why) bool { return w.Stay > 0.99 && w.Go == -1 }},
		{name: "in danger, with nowhere to go",
			q:    Question{TimeLeft: 100, Stay: about(110), SinceMove: -1},
			code: NowhereElse, to: core.Nowhere,
			numbers: func(w Why) bool { return isNear(w.Stay, 0.17, 0.005) && w.Go == -1 }},
		{name: "in danger, and what is known of other places is nothing",
			q:    Question{TimeLeft: 100, Stay: about(110), Moves: []Move{{Cluster: 2}}, SinceMove: -1},
			code: NowhereElse, to: core.Nowhere},
		{name: "below the confidence but not lost, and much better elsewhere: slack",
			q:    Question{TimeLeft: 105, Stay: about(100), Moves: []Move{to(1, 200, 1), to(2, 60, 10)}, SinceMove: -1},
			code: BetterChance, to: 2,
			numbers: func(w Why) bool { return isNear(w.Stay, 0.69, 0.005) && w.Go > 0.99 }},
		{name: "the user wants no more than an even chance",
			q:    Question{TimeLeft: 105, Confidence: 0.5, Stay: about(100), Moves: []Move{to(2, 60, 10)}, SinceMove: -1},
			code: Safe, to: core.Nowhere},
		{name: "elsewhere it is a little better",
			q:    Question{TimeLeft: 105, Stay: about(100), Moves: []Move{to(1, 89, 10)}, SinceMove: -1},
			code: NotClearlyBetter, to: core.Nowhere,
			numbers: func(w Why) bool { return w.Go > w.Stay && w.Go-w.Stay < 0.1 }},
		{name: "of two places where it is safe the one where it ends earlier",
			q: Question{TimeLeft: 100, Stay: about(120), Moves: []Move{to(1, 60, 5), to(2, 40, 5), to(3, 50, 5)},
				SinceMove: -1},
			code: BetterChance, to: 2},
		{name: "nobody can meet it, but elsewhere it ends much earlier",
			q:    Question{TimeLeft: 10, Stay: about(100), Moves: []Move{to(1, 60, 5)}, SinceMove: -1},
			code: EndsEarlier, to: 1, hopeless: true,
			numbers: func(w Why) bool { return isNear(w.LeftGo, 65, 1) && isNear(w.LeftStay, 100, 1) }},
		{name: "the deadline has passed",
			q:    Question{TimeLeft: -5, Stay: about(100), Moves: []Move{to(1, 60, 5)}, SinceMove: -1},
			code: EndsEarlier, to: 1, hopeless: true},
		{name: "nobody can meet it, and the move would cost what it wins",
			q:    Question{TimeLeft: 10, Stay: about(100), Moves: []Move{to(1, 60, 35)}, SinceMove: -1},
			code: NothingEarlier, to: core.Nowhere, hopeless: true,
			numbers: func(w Why) bool { return isNear(w.LeftGo, 95, 1) && isNear(w.LeftStay, 100, 1) }},
		{name: "moved as often as allowed",
			q:    Question{TimeLeft: 100, Stay: about(120), Moves: []Move{to(1, 60, 5)}, Moved: 4, SinceMove: 1e6},
			code: MovesUsedUp, to: core.Nowhere,
			numbers: func(w Why) bool { return w.Moved == 4 }},
		{name: "moved a short while ago",
			q:    Question{TimeLeft: 100, Stay: about(120), Moves: []Move{to(1, 60, 3)}, Moved: 1, SinceMove: 9},
			code: Resting, to: core.Nowhere,
			numbers: func(w Why) bool { return w.SinceMove == 9 && w.Rest == 10 }},
		{name: "rests longer after each move",
			q:    Question{TimeLeft: 100, Stay: about(120), Moves: []Move{to(1, 60, 3)}, Moved: 3, SinceMove: 39},
			code: Resting, to: core.Nowhere,
			numbers: func(w Why) bool { return w.SinceMove == 39 && w.Rest == 40 }},
		{name: "rests longer if moving is costly",
			q:    Question{TimeLeft: 100, Stay: about(120), Moves: []Move{to(1, 40, 20)}, Moved: 1, SinceMove: 50},
			code: Resting, to: core.Nowhere,
			numbers: func(w Why) bool { return w.SinceMove == 50 && w.Rest == 60 }},
		{name: "another place is hard to get to, which does not matter",
			q: Question{TimeLeft: 100, Stay: about(120), Moves: []Move{to(1, 60, 3), to(2, 40, 500)}, Moved: 1,
				SinceMove: 11},
			code: BetterChance, to: 1},
		{name: "rested enough",
			q:    Question{TimeLeft: 100, Stay: about(120), Moves: []Move{to(1, 60, 3)}, Moved: 1, SinceMove: 11},
			code: BetterChance, to: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Decide(c.q, Config{})
			if v.Why.Code != c.code || v.To != c.to || v.Go != (c.to != core.Nowhere) || v.Hopeless != c.hopeless {
				t.Errorf("%+v", v)
			}
			if c.numbers != nil && !c.numbers(v.Why) {
				t.Errorf("the reason is %+v", v.Why)
			}
		})
	}
}

func TestTheOrderOfTheMovesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := Question{TimeLeft: rapid.Float64Range(-10, 200).Draw(t, "time left"), Stay: about(100), SinceMove: -1}
		for i := range rapid.IntRange(0, 5).Draw(t, "places") {
			q.Moves = append(q.Moves, to(core.ClusterID(i), math.Round(rapid.Float64Range(10, 200).Draw(t, "left")/20)*20+1, 5))
		}
		a := Decide(q, Config{})
		slices.Reverse(q.Moves)
		if b := Decide(q, Config{}); a != b {
			t.Fatalf("%+v and, the other way round, %+v", a, b)
		}
	})
}

// grid is a few clusters on which a job runs; rate is the work done in a second.
type grid struct {
	rate      []float64
	spread    float64
	overhead  []float64
	here      int
	work, now float64
	deadline  float64
	moved     int
	movedAt   float64
	moves     []float64 // when
}

func (g *grid) question(rate []float64) Question {
	q := Question{
		TimeLeft: g.deadline - g.now, Moved: g.moved, SinceMove: -1,
		Stay: predict.LogNormal(g.work/rate[g.here], g.spread),
	}
	if g.moved > 0 {
		q.SinceMove = g.now - g.movedAt
	}
	for i, r := range rate {
		if i != g.here {
			left := predict.LogNormal(g.work/r, g.spread).Shift(g.overhead[i])
			q.Moves = append(q.Moves, Move{Cluster: core.ClusterID(i), Left: left, Overhead: g.overhead[i]})
		}
	}
	return q
}

// run plays the job to its end, deciding every step seconds by the rates that
// measured says the clusters have.
func (g *grid) run(cfg Config, step float64, measured func() []float64) {
	for range 100_000 {
		if v := Decide(g.question(measured()), cfg); v.Go {
			g.moves = append(g.moves, g.now)
			g.here = int(v.To)
			g.now += g.overhead[g.here]
			g.moved, g.movedAt = g.moved+1, g.now
		}
		took := min(step, g.work/g.rate[g.here])
		g.now += took
		if g.work -= took * g.rate[g.here]; g.work <= 1e-9 {
			return
		}
	}
}

func drawGrid(t *rapid.T, clusters int) *grid {
	g := &grid{spread: rapid.Float64Range(0, 0.3).Draw(t, "spread"), work: rapid.Float64Range(10, 1000).Draw(t, "work")}
	for range clusters {
		g.rate = append(g.rate, rapid.Float64Range(0.1, 2).Draw(t, "rate"))
		g.overhead = append(g.overhead, rapid.Float64Range(0, 60).Draw(t, "overhead"))
	}
	g.deadline = g.work * rapid.Float64Range(0.1, 5).Draw(t, "deadline")
	return g
}

func TestWhereNothingChangesAJobMovesOnceAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t, rapid.IntRange(2, 5).Draw(t, "clusters"))
		g.run(Config{}, rapid.Float64Range(0.5, 20).Draw(t, "step"), func() []float64 { return g.rate })
		if len(g.moves) > 1 {
			t.Fatalf("moved at %v", g.moves)
		}
	})
}

// The cluster where the job runs always looks the worst.
func TestAnAdversaryCannotMakeAJobPingPong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t, 2)
		g.work *= 10
		cfg := Config{MaxMoves: rapid.IntRange(1, 6).Draw(t, "most moves")}
		evil := rapid.Bool().Draw(t, "always")
		g.run(cfg, 1, func() []float64 {
			seen := []float64{1, 1}
			if evil || rapid.Bool().Draw(t, "now") {
				seen[g.here] = 0.01
			}
			return seen
		})
		if len(g.moves) > cfg.MaxMoves {
			t.Fatalf("moved %d times, %d are allowed", len(g.moves), cfg.MaxMoves)
		}
		for i := 1; i < len(g.moves); i++ {
			if rest, gap := 10*math.Pow(2, float64(i-1)), g.moves[i]-g.moves[i-1]; gap < rest {
				t.Fatalf("moved at %v: %.1f s after move %d, which asks for %.0f s of rest", g.moves, gap, i, rest)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	q := Question{TimeLeft: 105, Stay: about(100), SinceMove: -1}
	for i := range 8 {
		q.Moves = append(q.Moves, to(core.ClusterID(i), 60+10*float64(i), 5))
	}
	for b.Loop() {
		Decide(q, Config{})
	}
}
