package resched

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// twoClusters runs a CPU-bound job of 120 s under the predictor of spec 20, on
// the first of two alike clusters; share says what the job gets in each at a
// time. It returns when the job ended and how often it moved.
func twoClusters(seed uint64, deadline, overhead float64, adapt bool,
	share func(cluster int, at float64) float64) (end float64, moves int) {
	const need, step = 120.0, 1.0
	r := rand.New(rand.NewPCG(seed, 1))
	here, cpu, at := 0, 0.0, 0.0
	moved := -1.0
	watch := func(used float64) *predict.Watch {
		return predict.NewWatch(predict.Config{Need: predict.LogNormal(need, 0.02), Used: used})
	}
	w, began, used := watch(0), 0.0, 0.0
	for {
		got := step * share(here, at) * (1 - 0.03*r.Float64())
		if cpu+got >= need {
			return at + step*(need-cpu)/got, moves
		}
		cpu, at = cpu+got, at+step
		w.AddSample(predict.Sample{At: duration(at - began), CPU: duration(cpu - used)})
		if !adapt {
			continue
		}
		stay, ok := w.RemainingTime()
		if !ok || stay.ProbabilityBelow(deadline-at) >= usualConfidence {
			continue // as the agent, which asks only when the deadline is in danger
		}
		work, _ := w.RemainingWork()
		seen := predict.LogNormal(share(1-here, at), 0.03)
		there := predict.Demand{Work: work}.RuntimeElsewhere(1, 1, seen, predict.LogNormal(overhead, 0.4))
		since := -1.0
		if moved >= 0 {
			since = at - moved
		}
		v := Decide(Question{
			TimeLeft: deadline - at, Stay: stay, Moved: moves, SinceMove: since,
			Moves: []Move{{Cluster: core.ClusterID(1 - here), Left: there, Overhead: overhead}},
		}, Config{})
		if v.Go {
			here = 1 - here
			at += overhead * (0.7 + 0.6*r.Float64())
			moves, moved = moves+1, at
			w, began, used = watch(cpu), at, cpu
		}
	}
}

func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestAJobOnASteadyClusterStaysWhateverItsDeadline(t *testing.T) {
	for seed := range uint64(4) {
		for deadline := 90.0; deadline < 300; deadline += 20 {
			if _, moves := twoClusters(seed, deadline, 3, true, func(int, float64) float64 { return 0.99 }); moves > 0 {
				t.Errorf("seed %d: moved %d times between alike clusters, the deadline being %g s", seed, moves, deadline)
			}
		}
	}
}

// Scenario (c) of spec 20: two competing programs come to the first cluster.
func TestAJobWhoseClusterDegradesMovesAndMeetsItsDeadline(t *testing.T) {
	met, missedWithout, moved := 0, 0, 0
	const runs, deadline = 35, 165
	for seed := range uint64(runs) {
		come := 10 + 2*float64(seed)
		share := func(cluster int, at float64) float64 {
			if cluster == 0 && at >= come {
				return 1. / 3
			}
			return 0.99
		}
		end, moves := twoClusters(seed, deadline, 5, true, share)
		if end <= deadline {
			met++
		}
		moved += moves
		if end, _ := twoClusters(seed, deadline, 5, false, share); end > deadline {
			missedWithout++
		}
	}
	t.Logf("of %d runs %d met the deadline with adaptation and %d without; %d moves", runs, met, runs-missedWithout, moved)
	if met != runs || missedWithout != runs || moved != runs {
		t.Errorf("%d of %d met it, %d missed it without, %d moves", met, runs, missedWithout, moved)
	}
}

// The load follows the job: whichever cluster it is on gets slow a while later.
func TestALoadThatFollowsTheJobDoesNotMakeItPingPong(t *testing.T) {
	for seed := range uint64(10) {
		_, moves := twoClusters(seed, 200, 5, true, func(cluster int, at float64) float64 {
			if int(at/25)%2 == cluster {
				return 0.2
			}
			return 0.99
		})
		if moves > 4 {
			t.Errorf("seed %d: %d moves", seed, moves)
		}
	}
}
