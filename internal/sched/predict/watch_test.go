package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/experiment/loads"
)

// program is a simulated one: what it has done after some seconds of wall time.
type program struct {
	need    float64 // CPU seconds at full share
	share   func(at float64) float64
	steps   float64                    // how many it reports; 0: none
	stepAt  func(done float64) float64 // part of the steps reported when a part of the work is done; nil: the same
	bytes   float64                    // read and written by its end
	cpuPart float64                    // of wall time that is CPU time, when it has its CPU; 0: all
}

// watchUntil plays the program until a part of its work is done, and returns
// the seconds that it still takes.
func (p program) watchUntil(w *Watch, part float64) (remaining float64) {
	const fine = 0.05
	cpuPart := p.cpuPart
	if cpuPart == 0 {
		cpuPart = 1
	}
	cpu, at, stopped := 0.0, 0.0, 0.0
	for next := 2.0; cpu < p.need; at += fine {
		if stopped == 0 && at >= next {
			next += 2
			done := cpu / p.need
			s := Sample{At: seconds(at), CPU: seconds(cpu * cpuPart), Read: int64(p.bytes * done)}
			if p.steps > 0 {
				told := done
				if p.stepAt != nil {
					told = p.stepAt(done)
				}
				s.Step, s.Steps = math.Floor(told*p.steps), p.steps
			}
			w.AddSample(s)
			if done >= part {
				stopped = at
			}
		}
		cpu += fine * p.share(at)
	}
	return at - stopped
}

func full(float64) float64 { return 0.99 }

func mustRemain(t *testing.T, w *Watch) Dist {
	t.Helper()
	d, ok := w.RemainingTime()
	if !ok {
		t.Fatal("nothing predicted")
	}
	return d
}

func mustBeNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !near(got, want, tolerance) {
		t.Errorf("%s is %.3g, not %.3g", what, got, want)
	}
}

func TestNothingIsPredictedFromNothing(t *testing.T) {
	w := NewWatch(Config{})
	for i := range 20 {
		if _, ok := w.RemainingTime(); ok {
			t.Fatal("an end is predicted, of a program of which nothing is known")
		}
		if _, ok := w.RemainingWork(); ok {
			t.Fatal("work is predicted, of a program of which nothing is known")
		}
		w.AddSample(Sample{At: seconds(float64(i + 1)), CPU: seconds(float64(i))})
	}
}

func TestTheEndFollowsFromNeedAndShare(t *testing.T) {
	// Two processors of double speed, 100 reference seconds used before.
	w := NewWatch(Config{Need: LogNormal(900, 0.01), Used: 100, Speed: 2, Procs: 2})
	var s Sample
	for range 50 {
		s.At += 2 * time.Second
		s.CPU += 3 * time.Second // of 4 possible
		w.AddSample(s)
	}
	now, mean := w.CurrentShare()
	mustBeNear(t, "the share", now, 0.75, 1e-9)
	mustBeNear(t, "the mean share", mean, 0.75, 1e-9)
	work, _ := w.RemainingWork() // 900 − 100 − 150 × 2
	mustBeNear(t, "the work left", work.Median(), 500, 0.02)
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), 500./(2*2*0.75), 0.05)
	if w.ModelName() != "cpu" {
		t.Errorf("predicted by %s", w.ModelName())
	}
}

func TestAJobThatNeedsMoreThanItSaidStillHasAnEnd(t *testing.T) {
	last := 0.0
	for _, used := range []float64{99, 103, 110, 150, 300, 2000} {
		w := NewWatch(Config{Need: LogNormal(100, 0.03), Used: used - 10})
		var s Sample
		for range 10 {
			s.At += time.Second
			s.CPU += time.Second
			w.AddSample(s)
		}
		d := mustRemain(t, w)
		t.Logf("%g s used of 100: %.1f s left, 90 %% between %.1f and %.1f", used, d.Median(), d.Quantile(0.05),
			d.Quantile(0.95))
		if d.Median() <= 0 || d.Quantile(0.95) < d.Median()*1.1 {
			t.Errorf("%g used: %v", used, d)
		}
		// Once it is clear that the need was wrong, the longer it has run the
		// longer it is expected to run on.
		if used >= 150 {
			if d.Median() < 0.2*used || d.Median() < last {
				t.Errorf("%g used: only %.1f s left", used, d.Median())
			}
			last = d.Median()
		}
	}
}

func TestStepsPredictWhereTheNeedIsUnknown(t *testing.T) {
	w := NewWatch(Config{})
	p := program{need: 300, share: func(at float64) float64 {
		if at > 80 {
			return 0.5
		}
		return 0.99
	}, steps: 500}
	left := p.watchUntil(w, 0.5)
	d := mustRemain(t, w)
	mustBeNear(t, "the time left", d.Median(), left, 0.12)
	if w.ModelName() != "steps" {
		t.Errorf("predicted by %s", w.ModelName())
	}
	work, ok := w.RemainingWork()
	if !ok {
		t.Fatal("no work")
	}
	mustBeNear(t, "the work left", work.Median(), 150, 0.05)
}

func TestStepsOverrideANeedThatIsWrong(t *testing.T) {
	w := NewWatch(Config{Need: LogNormal(150, 0.03)}) // it needs 300
	left := program{need: 300, share: full, steps: 200}.watchUntil(w, 0.4)
	if w.ModelName() != "steps" {
		t.Errorf("predicted by %s", w.ModelName())
	}
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), left, 0.1)
}

func TestUnevenStepsDoNotOverrideAGoodNeed(t *testing.T) {
	w := NewWatch(Config{Need: LogNormal(300, 0.02)})
	// Each step costs more than the one before: half of them are done when a
	// quarter of the work is.
	left := program{need: 300, share: full, steps: 200, stepAt: math.Sqrt}.watchUntil(w, 0.4)
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), left, 0.1)
	if w.ModelName() != "cpu" {
		t.Errorf("predicted by %s", w.ModelName())
	}
}

func TestStepsOfAProgramThatWaitsAreTimed(t *testing.T) {
	// It computes little and irregularly, and advances evenly.
	r := rand.New(rand.NewPCG(5, 6))
	w := NewWatch(Config{})
	var s Sample
	for i := range 60 {
		s.At += 2 * time.Second
		s.CPU += seconds(0.1 * r.ExpFloat64())
		if i > 20 && i < 40 {
			s.CPU += seconds(1.5)
		}
		s.Step, s.Steps = float64(i+1), 120
		w.AddSample(s)
	}
	if w.ModelName() != "steps" || w.model != byStepTime {
		t.Errorf("predicted by %s (%d)", w.ModelName(), w.model)
	}
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), 120, 0.08)
	work, _ := w.RemainingWork()
	mustBeNear(t, "the work left", work.Median(), 120, 0.08)
}

// The paper's XTO: mostly waits for its disk. How much CPU it takes says little.
func TestBytesPredictAProgramThatWaitsForItsDisk(t *testing.T) {
	w := NewWatch(Config{Need: LogNormal(40, 0.5), Bytes: LogNormal(1e9, 0.02)})
	left := program{need: 200, share: full, cpuPart: 0.1, bytes: 1e9}.watchUntil(w, 0.5)
	if w.ModelName() != "io" {
		t.Errorf("predicted by %s", w.ModelName())
	}
	d := mustRemain(t, w)
	mustBeNear(t, "the time left", d.Median(), left, 0.06)
	if left < d.Quantile(0.05) || left > d.Quantile(0.95) {
		t.Errorf("%.0f s left, predicted %v", left, d)
	}
	work, _ := w.RemainingWork()
	mustBeNear(t, "the work left", work.Median(), left, 0.06)
}

func TestCPUPredictsWhereBytesComeInBursts(t *testing.T) {
	w := NewWatch(Config{Need: LogNormal(300, 0.02), Bytes: LogNormal(1e9, 0.3)})
	var s Sample
	for i := range 75 {
		s.At += 2 * time.Second
		s.CPU += 2 * time.Second
		if i%10 == 0 {
			s.Written += 3e7 * int64(1+i/10)
		}
		w.AddSample(s)
	}
	if w.ModelName() != "cpu" {
		t.Errorf("predicted by %s", w.ModelName())
	}
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), 150, 0.08)
}

func TestAProgramThatSharesItsTimeWithADiskNeedsAsLongElsewhere(t *testing.T) {
	w := NewWatch(Config{Need: LogNormal(40, 0.02), Duty: 0.2})
	left := program{need: 200, share: full, cpuPart: 0.2}.watchUntil(w, 0.5)
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), left, 0.06)
	work, _ := w.RemainingWork()
	mustBeNear(t, "the work left", work.Median(), left, 0.06)
}

func TestAContinuedJobCountsFromItsCheckpoint(t *testing.T) {
	// It was half done, by 60 of 120 steps and 100 s, when it was moved here.
	w := NewWatch(Config{Used: 100, Speed: 2})
	var s Sample
	for i := range 15 {
		s.At += 2 * time.Second
		s.CPU += 2 * time.Second
		s.Step, s.Steps = 60+float64(i+1)*2.4, 120
		w.AddSample(s)
	}
	work, ok := w.RemainingWork() // 60 of 100 done here, another 24 steps to go
	if !ok {
		t.Fatal("no work")
	}
	mustBeNear(t, "the work left", work.Median(), 40, 0.05)
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), 20, 0.08)
}

func TestStepsThatBeginAgainAreCountedAnew(t *testing.T) {
	w := NewWatch(Config{Need: LogNormal(200, 0.1)})
	var s Sample
	for i := range 100 {
		s.At += time.Second
		s.CPU += time.Second
		s.Step, s.Steps = float64(i%50), 50 // phases
		w.AddSample(s)
		if _, ok := w.RemainingTime(); !ok && i >= minSide {
			t.Fatalf("nothing predicted after %d samples", i+1)
		}
	}
}

// A test by hand of what a sensor may deliver: nothing new, time that stands
// still, counters that fall, intervals of all lengths.
func TestOddSamplesDoNoHarm(t *testing.T) {
	w := NewWatch(Config{Need: LogNormal(100, 0.05)})
	var s Sample
	for range 20 {
		s.At += 2 * time.Second
		s.CPU += 2 * time.Second
		w.AddSample(s)
		w.AddSample(s)
		w.AddSample(Sample{At: s.At - time.Second, CPU: s.CPU - time.Second})
		w.AddSample(Sample{At: s.At + 10*time.Millisecond})
		w.AddSample(Sample{At: s.At + 20*time.Millisecond, CPU: s.CPU, Step: math.NaN(), Steps: 3})
	}
	_, mean := w.CurrentShare()
	mustBeNear(t, "the mean share", mean, 1, 0.02)
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), 60, 0.05)
}

func TestWhateverIsSampledThePredictionIsADistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Used:  rapid.SampledFrom([]float64{0, 10, 1e6, -5, math.NaN()}).Draw(t, "used"),
			Speed: rapid.SampledFrom([]float64{0, 0.5, 3, -1}).Draw(t, "speed"),
			Procs: rapid.IntRange(-1, 8).Draw(t, "procs"),
			Rule:  rapid.SampledFrom([]Rule{nil, ChangePoint{0.1}, FixedN{3}, MeanOnly{}}).Draw(t, "rule"),
		}
		if rapid.Bool().Draw(t, "need known") {
			cfg.Need = someDist(t, "need")
		}
		if rapid.Bool().Draw(t, "bytes known") {
			cfg.Bytes = someDist(t, "bytes")
		}
		w := NewWatch(cfg)
		var s Sample
		for range rapid.IntRange(0, 120).Draw(t, "samples") {
			s.At += time.Duration(rapid.Int64Range(-1e8, 1e10).Draw(t, "at"))
			s.CPU += time.Duration(rapid.Int64Range(-1e8, 4e10).Draw(t, "cpu"))
			s.Read += rapid.Int64Range(0, 1e12).Draw(t, "read")
			if rapid.Bool().Draw(t, "reports") {
				s.Step, s.Steps = rapid.Float64().Draw(t, "step"), rapid.Float64().Draw(t, "steps")
			} else {
				s.Step++
				s.Steps = 1000
			}
			w.AddSample(s)
			work, okWork := w.RemainingWork()
			left, okLeft := w.RemainingTime()
			for _, d := range []Dist{work, left} {
				if _, ok := FromQuantiles(d.Quantiles()); d.IsKnown() && !ok {
					t.Fatalf("after %+v: %v", s, d)
				}
			}
			if okWork != work.IsKnown() || okLeft != left.IsKnown() {
				t.Fatalf("known %v and %v: %v, %v", okWork, okLeft, work, left)
			}
			if now, mean := w.CurrentShare(); !(now >= 0) || !(mean >= 0) || math.IsInf(now, 0) {
				t.Fatalf("share %g, mean %g", now, mean)
			}
			if !slices.Contains([]string{"cpu", "io", "steps"}, w.ModelName()) {
				t.Fatalf("model %q", w.ModelName())
			}
		}
	})
}

func TestTheSameSamplesGiveTheSamePrediction(t *testing.T) {
	a, _ := watched(300, loads.CompetingLoad)
	b, _ := watched(300, loads.CompetingLoad)
	da, _ := a.RemainingTime()
	db, _ := b.RemainingTime()
	if da != db {
		t.Errorf("%v and %v", da, db)
	}
	if again, _ := a.RemainingTime(); again != da {
		t.Errorf("asking changes the answer: %v, then %v", da, again)
	}
}

func TestElsewhereTakesWorkShareAndOverhead(t *testing.T) {
	d := Demand{Work: Point(600)}.RuntimeElsewhere(2, 3, Point(0.5), Point(30))
	mustBeNear(t, "the time", d.Median(), 30+600/(2*3*0.5), 0.03)
	if late := 1 - d.ProbabilityBelow(1.3*230); late < 0.02 || late > 0.25 {
		t.Errorf("the chance that the share falls there is taken to be %.2f", late)
	}
	wide := Demand{Work: LogNormal(600, 0.2)}.RuntimeElsewhere(2, 3, LogNormal(0.5, 0.2), LogNormal(30, 1))
	if wide.Quantile(0.9)-wide.Quantile(0.1) <= d.Quantile(0.9)-d.Quantile(0.1) {
		t.Error("uncertain inputs do not make an uncertain end")
	}
	full := Demand{Work: Point(100)}.RuntimeElsewhere(0, 0, Dist{}, Dist{})
	mustBeNear(t, "the time without overhead and with a full share", full.Median(), 100, 0.01)
}

// The futures are the points of a lattice: each dimension visits all strata,
// and the tables say what they should.
func TestTheLatticeIsEven(t *testing.T) {
	if len(strides) != dimJump+maxJumps {
		t.Fatalf("%d strides for %d dimensions", len(strides), dimJump+maxJumps)
	}
	for dim := range strides {
		var seen [nFutures]bool
		for i := range nFutures {
			seen[stratumOf(i, dim)] = true
		}
		if slices.Contains(seen[:], false) {
			t.Errorf("dimension %d leaves strata out", dim)
		}
	}
	for i := range nFutures {
		p := (float64(i) + 0.5) / nFutures
		if math.Abs(stratumScore[i]-normalScore(p)) > 1e-5 || math.Abs(stratumWait[i]+math.Log(1-p)) > 1e-5 {
			t.Errorf("stratum %d: %g, %g", i, stratumScore[i], stratumWait[i])
		}
	}
	for i, z := range scores {
		if math.Abs(z-normalScore(levels[i])) > 1e-9 {
			t.Errorf("score of %g is %g", levels[i], z)
		}
	}
}

// A processor that becomes slower is seen in what is left, not only in the share
// of it that the program gets, which stays the same.
func TestASlowerProcessorDelaysTheEnd(t *testing.T) {
	w := NewWatch(Config{Need: Point(100)})
	var at, cpu time.Duration
	run := func(n int, slow float64) float64 {
		for range n {
			at, cpu = at+time.Second, cpu+time.Second
			w.AddSample(Sample{At: at, CPU: cpu, Slow: slow})
		}
		d, ok := w.RemainingTime()
		if !ok {
			t.Fatal("nothing is predicted")
		}
		return d.Median()
	}
	if left := run(20, 1); math.Abs(left-80) > 4 {
		t.Errorf("after 20 of 100 s it still takes %.1f s", left)
	}
	// 20 s more do the work of 10: 70 are left, at half the speed.
	if left := run(20, 2); math.Abs(left-140) > 25 {
		t.Errorf("on a core half as fast it still takes %.1f s, want about 140", left)
	}
	if now, mean := w.CurrentShare(); now != 1 || mean != 1 {
		t.Errorf("the share is %g now and %g in the mean, it had the processor all the time", now, mean)
	}
	if done := w.DonePart(70); math.Abs(done-0.3) > 0.01 {
		t.Errorf("%.3f of it is done, want 0.3", done)
	}
}

// Starting is no step: a program that first loads for long is not taken to go on
// like that. And where its need is known roughly, and its steps say it well, they
// count, and the other way round.
func TestStepsAndNeedCountBothAndTheStartDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		need   Dist
		jitter float64 // of the cost of a step
	}{
		"steps alone":              {Dist{}, 0},
		"steps are better":         {LogNormal(180, 0.2), 0},
		"the need is better":       {LogNormal(120, 0.01), 0.5},
		"the need is another's":    {LogNormal(500, 0.02), 0},
		"both are known very well": {LogNormal(120, 0.01), 0},
	} {
		w := NewWatch(Config{Need: c.need})
		var s Sample
		for i := range 60 { // 20 s of loading, then a step a second of 100
			s.At += time.Second
			s.CPU += time.Second
			if i >= 20 {
				s.Step, s.Steps = float64(i-20)+c.jitter*float64(i%5)/5*2, 100
			}
			w.AddSample(s)
		}
		if left := mustRemain(t, w).Median(); math.Abs(left/61-1) > 0.07 {
			t.Errorf("%s: %.1f s left by %s, want 61", name, left, w.ModelName())
		}
	}
}
