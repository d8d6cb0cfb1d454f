package predict

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/experiment/loads"
)

// watched is a watch that has seen n samples, and the last of them.
func watched(n int, kind func(*rand.Rand, float64) loads.Load) (*Watch, Sample) {
	w := NewWatch(Config{Need: LogNormal(3*float64(n), 0.03)})
	r := rand.New(rand.NewPCG(1, 2))
	l := loads.NoisyLoad(r, kind(r, float64(n)/2))
	var s Sample
	for range n {
		s.At += 2 * time.Second
		s.CPU += seconds(2 * l())
		w.AddSample(s)
	}
	return w, s
}

func BenchmarkAdd(b *testing.B) {
	w, s := watched(1000, loads.CompetingLoad)
	for b.Loop() {
		s.At += 2 * time.Second
		s.CPU += 19 * time.Second / 10
		w.AddSample(s)
	}
}

func BenchmarkRemaining(b *testing.B) {
	for name, kind := range map[string]func(*rand.Rand, float64) loads.Load{"steady": loads.SteadyLoad,
		"changing": loads.CompetingLoad} {
		b.Run(name, func(b *testing.B) {
			w, _ := watched(1000, kind)
			for b.Loop() {
				w.RemainingTime()
			}
		})
	}
}

func BenchmarkSum(b *testing.B) {
	x, y := LogNormal(10, 0.1), LogNormal(3, 0.5)
	for b.Loop() {
		Sum(x, y)
	}
}

func BenchmarkElsewhere(b *testing.B) {
	work, share, overhead := LogNormal(100, 0.05), LogNormal(0.8, 0.1), LogNormal(5, 0.4)
	for b.Loop() {
		Demand{Work: work}.RuntimeElsewhere(1.2, 2, share, overhead)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
