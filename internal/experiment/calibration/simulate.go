package calibration

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// Rules are those of package predict by the names that reports call them.
var Rules = []struct {
	Name string
	Rule predict.Rule
}{{ChangePoint, nil}, {"fixed N = 10 (papers/004)", predict.FixedN{N: 10}}, {"mean only", predict.MeanOnly{}}}

// ChangePoint is the default rule.
const ChangePoint = "change point"

// SimulateLoads plays all runs of all kinds of load and judges a rule on them.
func SimulateLoads(kinds []loads.Kind, seed uint64, rule predict.Rule) []Judged {
	var all []Judged
	for i := range kinds {
		for range kinds[i].Runs {
			seed++
			all = append(all, PlayRun(&kinds[i], seed, rule)...)
		}
	}
	return all
}

// PlayRun runs a program of 40 to 200 samples' CPU time under a load, and judges
// what is predicted at the moments. Its need is known to half a percent up to
// three percent, as from a history of runs.
func PlayRun(k *loads.Kind, seed uint64, rule predict.Rule) []Judged {
	const dt = 2.0
	r := rand.New(rand.NewPCG(seed, 99))
	n := 40 * math.Pow(5, r.Float64())
	sigma := []float64{0.005, 0.01, 0.02, 0.03}[r.IntN(4)]
	need := n * dt
	prior := predict.LogNormal(need*math.Exp(sigma*r.NormFloat64()), sigma)
	l := loads.NoisyLoad(r, k.Make(r, n))
	var cpu []float64 // at the end of each sample
	sum, end := 0.0, 0.0
	for end == 0 {
		x := l() * dt
		if sum+x >= need {
			end = (float64(len(cpu)) + (need-sum)/x) * dt
		}
		sum += x
		cpu = append(cpu, sum)
	}
	w := predict.NewWatch(predict.Config{Need: prior, Rule: rule})
	var all []Judged
	due := Due{End: end}
	for i, c := range cpu[:len(cpu)-1] {
		at := float64(i+1) * dt
		// CPU time is counted in hundredths of a second.
		w.AddSample(predict.Sample{At: secondsDuration(at), CPU: secondsDuration(c).Truncate(10 * time.Millisecond)})
		if m, ok := due.MomentAt(at); ok {
			d, _ := w.RemainingTime()
			now, _ := w.CurrentShare()
			all = append(all, Judged{Run: seed, Load: k.Name, Moment: m, Actual: end - at,
				AsNow: max(prior.Median()-c, 0) / max(now, 0.01),
				Low:   d.Quantile(0.05), Mid: d.Median(), High: d.Quantile(0.95)})
		}
	}
	return all
}

// ReplayRun predicts again what was seen of a live run, as if what it needed had been
// known but for sigma. It shows how much of an error comes from the need.
func ReplayRun(need, sigma, end float64, at, cpu []float64) []Judged {
	w := predict.NewWatch(predict.Config{Need: predict.LogNormal(need, sigma)})
	var all []Judged
	due := Due{End: end}
	for i := range at {
		w.AddSample(predict.Sample{At: secondsDuration(at[i]), CPU: secondsDuration(cpu[i])})
		d, known := w.RemainingTime()
		if !known {
			continue
		}
		if m, ok := due.MomentAt(at[i]); ok {
			now, _ := w.CurrentShare()
			all = append(all, Judged{Moment: m, Actual: end - at[i], AsNow: max(need-cpu[i], 0) / max(now, 0.01),
				Low: d.Quantile(0.05), Mid: d.Median(), High: d.Quantile(0.95)})
		}
	}
	return all
}

func secondsDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
