package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkNeed(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var rows []Run
	for i := range 1000 {
		rows = append(rows, done(fmt.Sprint("program", i%10), 10+random.Float64(), fmt.Sprint(1+i/100), "--fast"))
	}
	for name, args := range map[string][]string{"same": {"3", "--fast"}, "numbers": {"77", "--fast"},
		"other": {"--slow"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if q, _, n := EstimateNeed(rows, "program3", args); n == 0 || len(q) != NLevels {
					b.Fatal("unknown")
				}
			}
		})
	}
}

func BenchmarkWaitBound(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	w := &Waits{}
	for b.Loop() {
		w.AddWait(random.ExpFloat64())
		w.UpperBound(0.9, 0.95)
	}
}
