package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
)

// decide runs a setup in a mode and returns how long all took, how often a job moved and how many decisions there were.
func decide(t *testing.T, s *Setup, mode string) (seconds float64, moved, decisions int) {
	t.Helper()
	one := *s
	one.Policy.Gain.Mode = mode
	r, err := one.Run(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Summary.Completed != r.Summary.Jobs {
		t.Fatalf("%s, %s: %d of %d jobs completed", s.Title, mode, r.Summary.Completed, r.Summary.Jobs)
	}
	for _, d := range r.Decisions {
		if d.Moves {
			moved++
		}
	}
	return r.Summary.MakespanS, moved, len(r.Decisions)
}

func TestEveryDecisionOfThePapersSweepsIsRight(t *testing.T) {
	files, err := filepath.Glob("../../../scenarios/grads/qr-*-sweep.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d sweeps, %v", len(files), err)
	}
	moves, stays := 0, 0
	for _, file := range files {
		s, err := scenario.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range FromScenario(s).Variants() {
			chosen, moved, _ := decide(t, run, resched.ModeDefault)
			opposite, _, _ := decide(t, run, resched.ModeOpposite)
			if moved > 0 {
				moves++
			} else {
				stays++
			}
			if !IsRight(chosen, opposite) {
				t.Errorf("%s %s %g: %.0f s as decided (%d moves), %.0f s with the opposite", s.Name, run.SweepOver, run.SweepValue,
					chosen, moved, opposite)
			}
		}
	}
	if moves == 0 || stays == 0 {
		t.Errorf("%d runs with a move, %d without: a rule that always does the same would be right too", moves, stays)
	}
}

// TestDecisionsOnOtherPlatformsAreRight: sizes, speeds, links, loads and costs are drawn; the models of some programs are
// wrong, and so is what moves are predicted to cost.
func TestDecisionsOnOtherPlatformsAreRight(t *testing.T) {
	const runs = 1500
	r := rand.New(rand.NewPCG(1, 30))
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }
	moves, stays, wrong := 0, 0, 0
	for i := range runs {
		text := fmt.Sprintf(`
platform:
  clusters: [{name: a, hosts: %d, speed: %.2f}, {name: b, hosts: %d, speed: %.2f}]
  links: [{a: a, b: b, mbps: %.0f, ms: 20}]
seed: %d
policy: {malleable: none}
workload:
  jobs: 1
  every: 1s
  kinds: {moldable: 1}
  apps: [{name: qr, min: 2, max: 8, start_on: a, matrix: {order: %d, mflops: 200}, speedup: "amdahl:0.02", phases: %d,
    predicted: %.2f, contract: {}}]
moves: {write_mbps: 160, schedule: 10s, start: 30s, noise: 0.1}
host_load: [{cluster: a, at: %.0fs, programs: %d}]
`, 2+r.IntN(7), between(0.5, 2), 2+r.IntN(11), between(0.2, 1.5), between(3, 100), i+1, 4000+r.IntN(9000), 50+r.IntN(150),
			between(0.9, 1.15), between(30, 3000), 1+r.IntN(19))
		s, err := scenario.Parse("drawn.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		run := FromScenario(s)
		chosen, moved, decided := decide(t, run, resched.ModeDefault)
		if decided == 0 {
			continue
		}
		opposite, _, _ := decide(t, run, resched.ModeOpposite)
		if moved > 0 {
			moves++
		} else {
			stays++
		}
		if !IsRight(chosen, opposite) {
			wrong++
			t.Logf("%.0f s as decided (%d moves), %.0f s with the opposite:%s", chosen, moved, opposite, text)
		}
	}
	t.Logf("%d moved, %d stayed, %d wrong", moves, stays, wrong)
	if wrong > (moves+stays)/50 || moves < 20 || stays < 20 {
		t.Errorf("%d of %d decisions were wrong", wrong, moves+stays)
	}
}
