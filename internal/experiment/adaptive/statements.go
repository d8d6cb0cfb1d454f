package adaptive

import (
	"fmt"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

// Verdict is something that the paper says, or that must hold, with what we saw.
type Verdict struct {
	Name  string // short, for tests and JSON
	Where string // part of the experiment
	Says  string
	Rule  string // how it is checked
	Saw   string
	Holds bool
}

// findings puts what was seen into one sentence and remembers whether all of it
// was as it should be.
type findings struct {
	saw   []string
	wrong bool
}

func (f *findings) addFinding(ok bool, format string, args ...any) {
	f.saw = append(f.saw, fmt.Sprintf(format, args...))
	f.wrong = f.wrong || !ok
}

// CheckStatements evaluates every statement on which something was measured.
func (r *Results) CheckStatements() []Verdict {
	var list []Verdict
	add := func(v Verdict, check func(f *findings)) {
		var f findings
		check(&f)
		if len(f.saw) == 0 {
			return
		}
		v.Holds, v.Saw = !f.wrong, strings.Join(f.saw, "; ")
		list = append(list, v)
	}
	add(Verdict{Name: "accurate", Where: "a", Says: "alone, the predicted remaining time matches the actual one",
		Rule: fmt.Sprintf("median error from one third of the run on below %.0f %%", 100*mostError)}, r.checkAccuracy)
	add(Verdict{Name: "missed", Where: "b", Says: "disturbed and without the service the job ends far behind its deadline",
		Rule: "every run misses it"}, r.checkMissed)
	add(Verdict{Name: "met", Where: "c",
		Says: "with the service the deadline is met (the paper: XTO yes, π no, by the time of the transfer)",
		Rule: "every run meets it"}, r.checkMet)
	add(Verdict{Name: "earlier", Where: "c", Says: "the job ends much earlier than without the service",
		Rule: "the slowest run with it against the fastest without"}, r.checkEarlier)
	add(Verdict{Name: "quick", Where: "c", Says: "the prediction quickly adjusts to the degradation",
		Rule: "moved within ten samples, the paper's N, after the others began"}, r.checkReaction)
	add(Verdict{Name: "same", Where: "a–c", Says: "the program does not notice",
		Rule: "the output of every run is the same, byte for byte"}, r.checkSameOutput)
	add(Verdict{Name: "overhead", Where: "d", Says: "the overhead is within the noise, at every interval",
		Rule: fmt.Sprintf("completion time within ±%.0f %% (the paper's interval) of the plain one", 100*paperNoise)},
		r.checkNoise)
	add(Verdict{Name: "watching", Where: "d", Says: "watching costs almost nothing",
		Rule: fmt.Sprintf("below %.1f %% of a core at the default interval of 2 s", 100*mostWatching)}, r.checkWatching)
	add(Verdict{Name: "calibrated error", Where: "e",
		Says: "under changing load the predicted remaining time of CPU-bound programs is near the actual one (issue 3)",
		Rule: fmt.Sprintf("median error from one third of the run on below %.0f %%, of all live runs and of all simulated "+
			"ones", 100*mostError)}, r.calibratedError)
	add(Verdict{Name: "calibrated bands", Where: "e", Says: "nine ends of ten lie in the 90 % band",
		Rule: fmt.Sprintf("%.0f to %.0f %% of the bands hold, of at least %d runs", 100*leastHold, 100*mostHold, leastRuns)},
		r.calibratedBands)
	return list
}

// What the two halves of the live runs did is told, each has too few for a verdict.
func (r *Results) calibratedError(f *findings) {
	r.eachCalibration(func(name string, v *calibration.Verdict) {
		half := name == fromHistory || name == fromSteps
		f.addFinding(half || v.Middle < mostError, "%s %.1f %% (%.1f to %.1f) of %d runs", name, 100*v.Middle,
			100*v.MiddleBetween[0], 100*v.MiddleBetween[1], v.Runs)
	})
}

// Too few runs say nothing of three points of a hundred, so all count together;
// what the live ones alone did is told.
func (r *Results) calibratedBands(f *findings) {
	r.eachCalibration(func(name string, v *calibration.Verdict) {
		ok := v.Runs < leastRuns || v.Holds >= leastHold && v.Holds <= mostHold
		f.addFinding(ok && (name != both || v.Runs >= leastRuns), "%s %.1f ± %.1f %% of %d runs", name, 100*v.Holds,
			100*v.Deviation, v.Runs)
	})
}

func (r *Results) checkAccuracy(f *findings) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if errs := errorsOf(t.Alone); len(errs) > 0 {
			m := measured.Median(errs)
			f.addFinding(m < mostError, "%s %.1f %%", t.Name, 100*m)
		}
	}
}

func (r *Results) checkMissed(f *findings) {
	for i := range r.Trials {
		if t := &r.Trials[i]; len(t.Without) > 0 {
			n := len(t.Without) - countMet(t.Without)
			f.addFinding(n == len(t.Without), "%s %d of %d missed, mean %.1f s against %.1f s", t.Name, n, len(t.Without),
				tookOf(t.Without).Mean, t.Deadline)
		}
	}
}

func (r *Results) checkMet(f *findings) {
	for i := range r.Trials {
		if t := &r.Trials[i]; len(t.With) > 0 {
			n := countMet(t.With)
			f.addFinding(n == len(t.With), "%s %d of %d met, mean %.1f s against %.1f s", t.Name, n, len(t.With),
				tookOf(t.With).Mean, t.Deadline)
		}
	}
}

func (r *Results) checkEarlier(f *findings) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if len(t.With) == 0 || len(t.Without) == 0 {
			continue
		}
		slowest, fastest := t.With[0].TookSeconds(), t.Without[0].TookSeconds()
		for _, c := range t.With {
			slowest = max(slowest, c.TookSeconds())
		}
		for _, c := range t.Without {
			fastest = min(fastest, c.TookSeconds())
		}
		f.addFinding(slowest < fastest, "%s %.1f s and %.1f s", t.Name, slowest, fastest)
	}
}

func (r *Results) checkReaction(f *findings) {
	const samples = 10
	for i := range r.Trials {
		if t := &r.Trials[i]; len(t.With) > 0 {
			waits := reactionTimes(t.With)
			worst := 0.0
			for _, w := range waits {
				worst = max(worst, w)
			}
			all := len(waits) == len(t.With)
			f.addFinding(all && worst <= samples*r.Plan.Sample.Seconds(), "%s after %.1f s at most", t.Name, worst)
			if !all {
				f.addFinding(false, "%d runs not moved", len(t.With)-len(waits))
			}
		}
	}
}

// reactionTimes lists how long after the others began the jobs were moved.
func reactionTimes(list []*Course) []float64 {
	var waits []float64
	for _, c := range list {
		for _, at := range c.MoveTimes() {
			if at >= c.LoadAt {
				waits = append(waits, at-c.LoadAt)
				break
			}
		}
	}
	return waits
}

func (r *Results) checkSameOutput(f *findings) {
	for i := range r.Trials {
		t := &r.Trials[i]
		seen := map[string]int{}
		runs, moves := 0, 0
		for _, list := range [][]*Course{t.Alone, t.Without, t.With} {
			for _, c := range list {
				seen[c.Output]++
				runs++
				moves += len(c.MoveTimes())
			}
		}
		f.addFinding(len(seen) == 1, "%s: %d runs with %d moves, %d different outputs", t.Name, runs, moves, len(seen))
	}
}

func (r *Results) checkNoise(f *findings) {
	for _, k := range r.costKinds() {
		if k.every > 0 && !k.sandbox {
			s := r.relativeToPlain(k)
			f.addFinding(s.Mean > 1-paperNoise && s.Mean < 1+paperNoise, "%s %+.2f ± %.2f %%", k, 100*(s.Mean-1),
				100*s.HalfWidth())
		}
	}
}

func (r *Results) checkWatching(f *findings) {
	for _, k := range r.costKinds() {
		if k.every == 2*time.Second && !k.sandbox {
			s := measured.SpreadOf(r.costValues(k, func(c Cost) float64 { return c.Watch }))
			f.addFinding(s.Mean < mostWatching, "%.4f %%", 100*s.Mean)
		}
	}
}

// CountHolding is how many statements hold.
func CountHolding(list []Verdict) (holds, all int) {
	for _, v := range list {
		if v.Holds {
			holds++
		}
	}
	return holds, len(list)
}

func errorsOf(list []*Course) []float64 {
	var errs []float64
	for _, c := range list {
		errs = append(errs, c.PredictionErrors()...)
	}
	return errs
}

func bandsOf(list []*Course) (held, all int) {
	for _, c := range list {
		h, n := c.CountBands()
		held, all = held+h, all+n
	}
	return held, all
}

// kind is one way in which the program of (d) was run.
type kind struct {
	every   time.Duration
	sandbox bool
}

func (k kind) String() string {
	switch {
	case k.every == 0:
		return "plain exec"
	case k.sandbox:
		return fmt.Sprintf("sandbox, every %s", shortDuration(k.every))
	}
	return "every " + shortDuration(k.every)
}

func shortDuration(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// costKinds lists them in the order in which they were run.
func (r *Results) costKinds() []kind {
	var list []kind
	seen := map[kind]bool{}
	for _, c := range r.Costs {
		k := kind{c.Every, c.Sandbox}
		if !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	return list
}

// costValues lists something of all runs of a kind.
func (r *Results) costValues(k kind, of func(Cost) float64) []float64 {
	var list []float64
	for _, c := range r.Costs {
		if c.Every == k.every && c.Sandbox == k.sandbox {
			list = append(list, of(c))
		}
	}
	return list
}

// relativeToPlain is the completion times of a kind as parts of the plain one of the
// same round.
func (r *Results) relativeToPlain(k kind) measured.Spread {
	plain := map[int]float64{}
	for _, c := range r.Costs {
		if c.Every == 0 {
			plain[c.Round] = c.Wall
		}
	}
	var ratios []float64
	for _, c := range r.Costs {
		if c.Every == k.every && c.Sandbox == k.sandbox && plain[c.Round] > 0 {
			ratios = append(ratios, c.Wall/plain[c.Round])
		}
	}
	return measured.SpreadOf(ratios)
}
