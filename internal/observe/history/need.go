package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// What is believed of how much the CPU time of a program varies before it has
// been seen: with the same arguments, with arguments that differ in numbers and
// the numbers accounted for, and with any arguments.
var (
	sameArgs = spread{df: 3, sd: 0.08}
	fitted   = spread{df: 3, sd: 0.15}
	anyArgs  = spread{df: 2, sd: 1}
)

const (
	leastSd   = 0.005 // of logarithms: clocks are not better than that
	fewPoints = 3     // different numbers before a line is drawn through them
)

// EstimateNeed estimates how many CPU seconds a job needs on the reference host (the
// paper's T100): quantiles at Levels, from the runs of the program that
// finished. With the same arguments if there are any; else by how the time
// depended on the numbers among the arguments; else from all runs of the
// program. Nil if it has never finished. Runs on a core that was slower or faster
// than usual count as they would have been at the usual pace of the program.
func EstimateNeed(rows []Run, program string, args []string) (quantiles []float64, why string, n int) {
	done := finishedRuns(rows)
	pace := PaceOf(rows, program)
	for i := range done {
		if r := &done[i]; r.Program == program {
			r.need /= pace.SlowFactor(r.Slowness)
		}
	}
	return expectNeed(done, program, args, sameArgs)
}

// finishedRun is a run that finished, with what it counts as having needed, which may differ
// from Run.Need. It points to the run: every attempt that starts asks for estimates, and
// copying a hundred runs costs more than estimating.
type finishedRun struct {
	*Run
	need float64
}

// HasFinished tells whether a run of the program with these arguments finished.
func HasFinished(rows []Run, program string, args []string) bool {
	return slices.ContainsFunc(rows, func(r Run) bool {
		return r.Program == program && r.Outcome == Finished && slices.Equal(r.Args, args)
	})
}

// expectNeed estimates what the next run will need, by the needs of runs that finished;
// before is what is believed of how much they vary with the same arguments.
func expectNeed(
	done []finishedRun, program string, args []string, before spread,
) (quantiles []float64, why string, n int) {
	same := needsAlike(done, program, args)
	if n := len(same); n > 0 {
		mean, squares, count := recentMean(same, before.sd)
		widen, why := 1+1/count, fmt.Sprintf("%s with the same arguments", countRuns(n))
		if late, missed, ok := followDrift(same); ok {
			mean, squares, widen, count = late, missed, 1, float64(n)
			why += ", the last of which count most: it drifts"
		}
		s := priorSpread(done, program, args, before).withObservations(squares, count-1)
		s.sd = max(s.sd, leastSd)
		return logNormal(mean, s, widen), why, n
	}
	if q, why, n := byNumbers(done, program, args); n > 0 {
		return q, why, n
	}
	var all []float64
	for i := range done {
		if done[i].Program == program {
			all = append(all, math.Log(done[i].need))
		}
	}
	if len(all) == 0 {
		return nil, "the program has not been run before", 0
	}
	mean, squares := meanAndSquares(all)
	return logNormal(mean, anyArgs.withObservations(squares, float64(len(all)-1)), 1+1/float64(len(all))),
		fmt.Sprintf("%s with other arguments", countRuns(len(all))), len(all)
}

const (
	// latelyKeep is how much a run counts of what the next one counts.
	latelyKeep = 0.95
	// latelyFar deviations from the others a run counts half: something was different.
	latelyFar = 3
)

// recentMean is the mean of logarithms, oldest first, the sum of their squared deviations
// from it, and how many they count for: the newest most, those far from the others
// little. usual is the standard deviation that is believed in.
func recentMean(logs []float64, usual float64) (mean, squares, count float64) {
	mean = medianOf(slices.Clone(logs))
	off := make([]float64, len(logs))
	for i, x := range logs {
		off[i] = math.Abs(x - mean)
	}
	// 1.5 times the median deviation is the standard deviation, of normal ones.
	far := latelyFar * max(1.5*medianOf(off), usual, leastSd)
	newness := make([]float64, len(logs))
	weight := 1.0
	for i := len(newness) - 1; i >= 0; i-- {
		newness[i] = weight
		weight *= latelyKeep
	}
	for range 10 {
		sum, weights := 0.0, 0.0
		for i, x := range logs {
			w := newness[i] / (1 + (x-mean)*(x-mean)/(far*far))
			sum, weights = sum+w*x, weights+w
		}
		last := mean
		if mean = sum / weights; math.Abs(mean-last) < 1e-9*far {
			break
		}
	}
	weights, quadratic := 0.0, 0.0
	for i, x := range logs {
		w := newness[i]
		e := min(math.Abs(x-mean), far)
		squares += w * e * e
		weights, quadratic = weights+w, quadratic+w*w
	}
	count = weights * weights / quadratic
	return mean, squares * count / weights, count
}

func countRuns(n int) string {
	if n == 1 {
		return "one run"
	}
	return fmt.Sprintf("%d runs", n)
}

// finishedRuns is the runs whose need is known. What ran in the sandbox is counted
// as it would have been outside, if that is known.
func finishedRuns(rows []Run) []finishedRun {
	costs := map[string]float64{}
	list := make([]finishedRun, 0, len(rows))
	for i := range rows {
		r := finishedRun{&rows[i], rows[i].Need}
		if r.Outcome != Finished || r.Need <= 0 || math.IsInf(r.Need, 0) || math.IsNaN(r.Need) {
			continue
		}
		if r.Method == sandbox {
			cost, known := costs[r.Program]
			if !known {
				cost = 1
				if c, ok := SandboxCost(rows, r.Program); ok {
					cost = max(1, c.Ratio)
				}
				costs[r.Program] = cost
			}
			r.need /= cost
		}
		list = append(list, r)
	}
	return list
}

// needsAlike is the logarithms of what the program needed with these arguments, in the
// order in which the runs ended.
func needsAlike(done []finishedRun, program string, args []string) []float64 {
	same := make([]finishedRun, 0, len(done))
	for _, r := range slices.Backward(done) { // the newest is first, as a rule
		if r.Program == program && slices.Equal(r.Args, args) {
			same = append(same, r)
		}
	}
	byEnd := func(a, b finishedRun) int { return cmp.Compare(a.Ended, b.Ended) }
	if !slices.IsSortedFunc(same, byEnd) {
		slices.SortStableFunc(same, byEnd)
	}
	logs := make([]float64, len(same))
	for i := range same {
		logs[i] = math.Log(same[i].need)
	}
	return logs
}

const (
	driftGain = 0.5 // part by which the newest run moves what is expected where it drifts
	driftFrom = 6   // runs from which it is looked for
	// driftClearly: so much smaller the errors of following it must have been than
	// those of the mean of all.
	driftClearly = 0.7
)

// followDrift follows a need that changes slowly, because the processors get faster
// and slower with what else they do, or the program's data grow. It is told apart
// from one that only varies by what would have been expected of each run from
// those before it: by their mean, or by the last of them most. missed is the sum of
// the squared errors of the latter.
func followDrift(logs []float64) (expected, missed float64, ok bool) {
	if len(logs) < driftFrom {
		return 0, 0, false
	}
	mean, byMean := logs[0], 0.0
	expected = logs[0]
	for i, x := range logs[1:] {
		byMean += (x - mean) * (x - mean)
		missed += (x - expected) * (x - expected)
		mean += (x - mean) / float64(i+2)
		expected += driftGain * (x - expected)
	}
	return expected, missed, missed < driftClearly*byMean
}

// meanAndSquares is the mean and the sum of squared deviations from it.
func meanAndSquares(x []float64) (mean, squares float64) {
	mean, sd := meanSd(x)
	return mean, sd * sd * float64(max(0, len(x)-1))
}

// priorSpread is what other runs say of how much the time varies with the same
// arguments: those of the same program most, those of others a little. It
// counts for no more than a few observations, so that a program that differs
// is soon believed.
func priorSpread(done []finishedRun, program string, args []string, before spread) spread {
	type group struct {
		program string
		args    string
	}
	logs := map[group][]float64{}
	for i := range done {
		r := &done[i]
		if r.Program == program && slices.Equal(r.Args, args) {
			continue
		}
		key := group{r.Program, strings.Join(r.Args, "\x00")}
		logs[key] = append(logs[key], math.Log(r.need))
	}
	keys := make([]group, 0, len(logs))
	for key := range logs { // order-free: sorted below
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b group) int {
		if a.program != b.program {
			return compareText(a.program, b.program)
		}
		return compareText(a.args, b.args)
	})
	var squares, free float64
	for _, key := range keys {
		_, sq := meanAndSquares(logs[key])
		weight := 0.2
		if key.program == program {
			weight = 1
		}
		squares += weight * sq
		free += weight * float64(len(logs[key])-1)
	}
	learnt := before.withObservations(squares, free)
	return spread{df: min(learnt.df, 6), sd: max(learnt.sd, leastSd)}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// byNumbers fits log time against the logarithms of those numbers among the
// arguments that differ from run to run: time = c · n₁^b₁ · n₂^b₂ …
func byNumbers(done []finishedRun, program string, args []string) (quantiles []float64, why string, n int) {
	form, now := argumentShape(args)
	if len(now) == 0 {
		return nil, "", 0
	}
	var xs [][]float64
	var ys []float64
	for i := range done {
		if done[i].Program != program {
			continue
		}
		if f, numbers := argumentShape(done[i].Args); f == form {
			xs, ys = append(xs, numbers), append(ys, math.Log(done[i].need))
		}
	}
	varying := differingPositions(xs, now)
	if len(varying) == 0 || countPoints(xs, varying) < len(varying)-1+fewPoints {
		return nil, "", 0
	}
	rows := make([][]float64, len(xs))
	for i := range xs {
		rows[i] = logsAt(xs[i], varying)
	}
	at := logsAt(now, varying)
	fit := fitLine(rows, ys, fitted)
	mean, widen := fit.expectedAt(at)
	widen += farOutside(rows, at)
	return logNormal(mean, fit.spread, widen),
		fmt.Sprintf("%s that differ in %d of the numbers among the arguments; time grows with exponent %.2g",
			countRuns(len(ys)), len(varying), fit.slope[0]), len(ys)
}

// farOutside widens an estimate for numbers that lie beyond all that have been
// seen: a power law need not go on for ever. In units of the variance of one
// observation, for every doubling.
func farOutside(rows [][]float64, at []float64) float64 {
	sum := 0.0
	for k := range at {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, r := range rows {
			lo, hi = min(lo, r[k]), max(hi, r[k])
		}
		beyond := max(0, lo-at[k], at[k]-hi) / math.Ln2
		sum += beyond * beyond
	}
	return sum
}

// differingPositions is the positions of positive numbers that are not the same
// everywhere.
func differingPositions(xs [][]float64, now []float64) []int {
	var list []int
	for k := range now {
		positive, same := now[k] > 0, true
		for _, x := range xs {
			positive = positive && x[k] > 0
			same = same && x[k] == now[k]
		}
		if positive && !same {
			list = append(list, k)
		}
	}
	return list
}

// countPoints counts the different combinations of numbers.
func countPoints(xs [][]float64, positions []int) int {
	seen := map[string]bool{}
	for _, x := range xs {
		seen[fmt.Sprint(logsAt(x, positions))] = true
	}
	return len(seen)
}

func logsAt(x []float64, positions []int) []float64 {
	var list []float64
	for _, k := range positions {
		list = append(list, math.Log(x[k]))
	}
	return list
}
