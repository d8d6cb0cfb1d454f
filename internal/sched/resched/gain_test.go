package resched

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func option(c core.ClusterID, size int, left, cost float64) core.MoveOption {
	return core.MoveOption{Cluster: c, Size: size, Left: left, Cost: core.MoveCost{Redistribute: cost}}
}

func TestAJobMovesWhereTheGainExceedsTheThreshold(t *testing.T) {
	for _, c := range []struct {
		name    string
		left    float64
		options []core.MoveOption
		cfg     GainConfig
		moved   int
		to      core.ClusterID // Nowhere: it stays
		gain    float64
		forced  string
	}{
		{name: "nowhere to go", left: 100, to: core.Nowhere},
		{name: "a gain of 31 %", left: 100, options: []core.MoveOption{option(1, 4, 49, 20)}, to: 1, gain: 0.31},
		{name: "a gain of 30 %", left: 100, options: []core.MoveOption{option(1, 4, 50, 20)}, to: core.Nowhere, gain: 0.3},
		{name: "the earliest end of all", left: 1000,
			options: []core.MoveOption{option(1, 4, 100, 90), option(2, 8, 120, 20), option(2, 4, 300, 20)}, to: 2, gain: 0.86},
		{name: "the paper's cost", left: 1000, options: []core.MoveOption{option(1, 4, 100, 20)},
			cfg: GainConfig{PaperCost: true}, to: core.Nowhere},
		{name: "another threshold", left: 100, options: []core.MoveOption{option(1, 4, 50, 20)},
			cfg: GainConfig{Threshold: 0.2}, to: 1, gain: 0.3},
		{name: "never", left: 100, options: []core.MoveOption{option(1, 4, 1, 1)}, cfg: GainConfig{Mode: ModeNever},
			to: core.Nowhere, gain: 0.98, forced: ModeNever},
		{name: "always", left: 100, options: []core.MoveOption{option(1, 4, 100, 100)}, cfg: GainConfig{Mode: ModeAlways}, to: 1,
			gain: -1, forced: ModeAlways},
		{name: "always, but once", left: 100, options: []core.MoveOption{option(1, 4, 1, 1)}, moved: 1,
			cfg: GainConfig{Mode: ModeAlways}, to: core.Nowhere, gain: 0.98, forced: ModeAlways},
		{name: "the opposite of staying", left: 100, options: []core.MoveOption{option(1, 4, 100, 100)},
			cfg: GainConfig{Mode: ModeOpposite}, to: 1, gain: -1, forced: ModeOpposite},
		{name: "the opposite of going", left: 100, options: []core.MoveOption{option(1, 4, 1, 1)},
			cfg: GainConfig{Mode: ModeOpposite}, to: core.Nowhere, gain: 0.98, forced: ModeOpposite},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, to := DecideGain(GainQuestion{Assessment: &core.Assessment{Left: c.left}, Options: c.options, Moved: c.moved}, c.cfg)
			at := core.Nowhere
			if to != nil {
				at = to.Cluster
			}
			if at != c.to || g.Moves != (to != nil) || math.Abs(g.Gain-c.gain) > 1e-9 || g.Forced != c.forced {
				t.Errorf("goes to %d: %+v", at, g)
			}
		})
	}
}

func TestThePaperTakesEveryMoveToCostNineHundredSeconds(t *testing.T) {
	if s := PaperCost().TotalSeconds(); s != 900 {
		t.Errorf("%g s", s)
	}
}

func TestTheThresholdFollowsHowWellPredictionsHeld(t *testing.T) {
	held := func(ratio float64, n int) (a core.Accuracy) {
		for range n {
			a.AddRatio(ratio)
		}
		return a
	}
	c := GainConfig{}
	if x := c.threshold(core.Accuracy{}, 0, 0); x != 0.3 {
		t.Errorf("where nothing is known it is %g", x)
	}
	exact, wrong := c.threshold(held(1, 30), 0, 0), c.threshold(held(1.5, 30), 0, 0)
	if exact > 0.06 || wrong < 0.5 || c.threshold(core.Accuracy{}, 0.001, 40) > 0.06 {
		t.Errorf("%g where predictions held, %g where they did not", exact, wrong)
	}
	if x := (GainConfig{Fixed: true}).threshold(held(1, 30), 0, 0); x != 0.3 {
		t.Errorf("a fixed one is %g", x)
	}
}

func TestTheOrderOfTheOptionsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := GainQuestion{Assessment: &core.Assessment{Left: rapid.Float64Range(0, 100).Draw(t, "left")}}
		for range rapid.IntRange(0, 6).Draw(t, "options") {
			q.Options = append(q.Options, option(core.ClusterID(rapid.IntRange(0, 2).Draw(t, "cluster")),
				rapid.IntRange(1, 3).Draw(t, "size"), float64(rapid.IntRange(0, 5).Draw(t, "left"))*20, 5))
		}
		a, to := DecideGain(q, GainConfig{})
		q.Options = slices.Clone(q.Options) // what was chosen stays as it was
		slices.Reverse(q.Options)
		b, other := DecideGain(q, GainConfig{})
		if a != b || (to == nil) != (other == nil) || to != nil && (to.Cluster != other.Cluster || to.Size != other.Size) {
			t.Fatalf("%+v and, the other way round, %+v", a, b)
		}
	})
}
