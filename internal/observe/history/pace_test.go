package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// slowRuns are runs of a program that feels a part of the slowness of its core.
func slowRuns(n int, power float64) []Run {
	random := rand.New(rand.NewPCG(3, uint64(n)))
	var rows []Run
	for i := range n {
		size := 1 + i%2 // two sizes: what they need is nothing of the pace
		method, cost := "restart", 1.0
		if i%3 == 0 { // nor is the sandbox
			method, cost = sandbox, 1.1
		}
		slowness := 1.2 * math.Exp(0.15*random.NormFloat64())
		rows = append(rows, Run{Program: "p", Args: []string{fmt.Sprint(size)}, Outcome: Finished, Method: method,
			Slowness: slowness,
			Need:     10 * cost * float64(size) * math.Pow(slowness/1.2, power) * math.Exp(0.01*random.NormFloat64())})
	}
	return rows
}

func TestHowMuchAProgramFeelsOfASlowCoreIsLearnt(t *testing.T) {
	if p := PaceOf(nil, "p"); p != (wire.Pace{}) || p.SlowFactor(2) != 1 {
		t.Errorf("nothing is known, but %+v", p)
	}
	for _, power := range []float64{0, 0.5, 1} {
		rows := slowRuns(40, power)
		p := PaceOf(rows, "p")
		if math.Abs(p.Power-power) > 0.12 || math.Abs(math.Log(p.Usual/1.2)) > 0.1 {
			t.Errorf("a program that feels %g of it has pace %+v", power, p)
		}
		if got, want := p.SlowFactor(2*p.Usual), math.Pow(2, p.Power); math.Abs(got-want) > 1e-9 {
			t.Errorf("twice as slow as usual takes %g times as long, want %g", got, want)
		}
		q, _, _ := EstimateNeed(rows, "p", []string{"2"})
		if spread := math.Log(q[11] / q[1]); math.Abs(q[6]-20) > 2 || spread > 0.2 {
			t.Errorf("with power %g it needs %g, 5 to 95 %% within a factor of e^%g", power, q[6], spread)
		}
	}
	// One run says nothing yet of how much is felt.
	if p := PaceOf(slowRuns(1, 0), "p"); p.Power != powerPrior {
		t.Errorf("after one run %+v", p)
	}
}

func TestRunsWithoutAPulseCountAsTheyAre(t *testing.T) {
	rows := slowRuns(10, 1)
	for i := range rows {
		rows[i].Slowness = 0
	}
	if p := PaceOf(rows, "p"); p != (wire.Pace{}) {
		t.Errorf("%+v", p)
	}
}
