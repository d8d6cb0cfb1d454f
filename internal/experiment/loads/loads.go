// Package loads makes the load that others put on a processor: recorded ones of
// ../shared/data/load and generated ones, as the share that a program gets beside
// them and as what real programs have to do to bring it about. Predictions are
// calibrated with them, simulated and live; it must not know who predicts.
package loads

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Load says what share of its processor a program gets in the next interval.
type Load func() float64

// Kind makes loads for runs of about n samples.
type Kind struct {
	Name string
	Runs int // of a whole calibration
	// Programs: the others are whole programs that compute, not a use of the
	// processor by many.
	Programs bool
	Make     func(r *rand.Rand, n float64) Load
}

// Alone is the name of the kind under which the share does not change.
const Alone = "alone (generated)"

// CalibrationLoads are the loads of the calibration from a folder with the recorded ones. Those
// for choosing the constants of the predictor and those for checking it share
// nothing: other days of PlanetLab, the other half of Alibaba's day, other seeds.
// Where records are missing, generated loads stand for them; missing tells of it.
func CalibrationLoads(dir string, checking bool) (kinds []Kind, seed uint64, missing []error) {
	days, half, seed := []string{"20110303"}, 0, uint64(1)
	if checking {
		days, half, seed = []string{"20110306", "20110322"}, 1, 1_000_001
	}
	kinds = []Kind{
		{Name: Alone, Runs: 250, Programs: true, Make: SteadyLoad},
		{Name: "competing (generated)", Runs: 500, Programs: true, Make: CompetingLoad},
		{Name: "stairs (generated)", Runs: 250, Programs: true, Make: stairLoad},
	}
	if hosts, err := planetLab(dir, days...); err == nil {
		kinds = append(kinds, Kind{Name: "PlanetLab (recorded)", Runs: 500, Make: func(r *rand.Rand, _ float64) Load {
			return recordedLoad(r, hosts[r.IntN(len(hosts))], 1+r.IntN(5))
		}})
	} else {
		missing = append(missing, err)
		kinds = append(kinds, Kind{Name: "wavering (generated)", Runs: 500, Make: func(r *rand.Rand, _ float64) Load {
			return waveringLoad(r, 1+r.IntN(5))
		}})
	}
	if use, err := readAlibaba(dir); err == nil {
		use = use[half*len(use)/2 : (half+1)*len(use)/2]
		kinds = append(kinds, Kind{Name: "Alibaba (recorded)", Runs: 250, Make: func(r *rand.Rand, _ float64) Load {
			return recordedLoad(r, use, 5)
		}})
	} else {
		missing = append(missing, err)
		kinds = append(kinds, Kind{Name: "drifting (generated)", Runs: 250, Make: func(r *rand.Rand, _ float64) Load {
			return waveringLoad(r, 5)
		}})
	}
	return kinds, seed, missing
}

// recordedLoad plays a record of the CPU use of others from a random moment on,
// each value for hold samples.
func recordedLoad(r *rand.Rand, use []float64, hold int) Load {
	at, left := r.IntN(len(use)), hold
	return func() float64 {
		if left == 0 {
			at, left = (at+1)%len(use), hold
		}
		left--
		return max(1-use[at], 0.05)
	}
}

// waveringLoad stands for the recorded loads where they are not here: each value
// depends on the one before.
func waveringLoad(r *rand.Rand, hold int) Load {
	mean, sd, keep := 0.2+0.5*r.Float64(), 0.05+0.1*r.Float64(), 0.8*r.Float64()
	use := make([]float64, 300)
	x := 0.0
	for i := range use {
		x = keep*x + sd*math.Sqrt(1-keep*keep)*r.NormFloat64()
		use[i] = min(max(mean+x, 0), 0.95)
	}
	return recordedLoad(r, use, hold)
}

// CompetingLoad is a load of other programs that come and go at random; all get the same part of
// one CPU. In a run of n samples come 1.2 of them in the mean, to stay for 0.7
// runs: the share changes about twice a run.
func CompetingLoad(r *rand.Rand, n float64) Load {
	const coming, stay, parts = 1.2, 0.7, 10
	var leaving []float64
	next, now := r.ExpFloat64()*n/coming, 0.0
	return func() float64 {
		sum := 0.0
		for range parts {
			now += 1.0 / parts
			if now >= next {
				leaving = append(leaving, now+r.ExpFloat64()*n*stay)
				next = now + r.ExpFloat64()*n/coming
			}
			leaving = slices.DeleteFunc(leaving, func(end float64) bool { return end < now })
			sum += 1 / float64(1+len(leaving))
		}
		return sum / parts
	}
}

// stairLoad: one program comes, then another, then both leave: a share of 1, 1/2,
// 1/3, 1, changing at random moments, mostly after a third of the run.
func stairLoad(r *rand.Rand, n float64) Load {
	at := []float64{n * (0.1 + 0.4*r.Float64()), n * (0.4 + 0.6*r.Float64()), n * (0.9 + 2*r.Float64())}
	slices.Sort(at)
	shares := []float64{1, 1. / 2, 1. / 3, 1}
	now := 0.0
	return func() float64 {
		now++
		i := 0
		for i < len(at) && now > at[i] {
			i++
		}
		return shares[i]
	}
}

// SteadyLoad is nobody but the kernel.
func SteadyLoad(*rand.Rand, float64) Load { return func() float64 { return 0.98 } }

// NoisyLoad is what a sensor sees of a share: scheduling is not quite even.
func NoisyLoad(r *rand.Rand, l Load) Load {
	sd := 0.01 + 0.02*r.Float64()
	return func() float64 { return min(max(l()*(1+sd*r.NormFloat64()), 0.01), 1) }
}
