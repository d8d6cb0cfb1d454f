package predict

import "math"

// model is what the prediction rests on.
type model uint8

const (
	byNeed     model = iota // CPU used of the CPU needed, and the share
	bySteps                 // CPU a step took, steps left, and the share
	byStepTime              // wall time a step took and steps left
	byBytes                 // bytes moved of the bytes known from history
	byTime                  // time passed of the time it takes alone, and the share it is granted
	nModels
)

var modelNames = [nModels]string{"cpu", "steps", "steps", "io", "cpu"}

// mostlyWaits is the part of its time that a program waits whose end is told by the
// clock rather than by its CPU time.
const mostlyWaits = 0.5

// ModelName names what predicts best so far: cpu, wall, steps or io.
func (w *Watch) ModelName() string {
	if w.model == byTime && w.cfg.Waiting > mostlyWaits {
		return "wall"
	}
	if w.model == bySteps && w.needPart > 0.5 {
		return modelNames[byNeed]
	}
	return modelNames[w.model]
}

const (
	judgeEvery = 1.1 // again when the run has become so much longer
	// clearly: another model must promise an error smaller by this to be taken.
	clearly = 0.8
	// conflict: so many deviations apart, two models cannot both be right.
	conflict = 2.5
)

// judgeModels chooses the model whose expected error is the smallest, by how its
// predictions held so far. It keeps the present one unless another is clearly
// better.
func (w *Watch) judgeModels() {
	if !w.cfg.Bytes.known && !w.steps.known {
		return // nothing to choose from
	}
	sec := w.now.At.Seconds()
	if w.judged > 0 && sec < w.judged*judgeEvery && w.canPredict(w.model) {
		return
	}
	errs := w.expectedErrors()
	best := w.model
	for m := range nModels {
		limit := errs[best]
		if best == w.model {
			limit *= clearly
		}
		if errs[m] < limit || math.IsInf(errs[best], 1) && !math.IsInf(errs[m], 1) {
			best = m
		}
	}
	if !math.IsInf(errs[best], 1) {
		w.model, w.judged = best, sec
	}
}

// canPredict is true if the model has what it needs to predict.
func (w *Watch) canPredict(m model) bool {
	switch m {
	case byNeed:
		return w.cfg.Need.known
	case bySteps:
		return w.steps.canPredict()
	case byStepTime:
		return w.steps.canPredict() && w.stepUnit > 0
	case byTime:
		return w.cfg.Alone.known
	}
	return w.cfg.Bytes.known && w.byteUnit > 0
}

// expectedErrors are the relative errors of the remaining time to be expected of each
// model; infinite if it cannot predict.
func (w *Watch) expectedErrors() (errs [nModels]float64) {
	var median, sigma [nModels]float64
	var f futures
	for m := range nModels {
		if errs[m] = math.Inf(1); w.canPredict(m) {
			w.amountLeft(m, &f)
			median[m], sigma[m] = medianAndSigma(&f)
			errs[m] = sigma[m]
		}
	}
	// Steps go with the CPU time or with the clock, by what they cost in each.
	if w.steps.byClock() {
		errs[bySteps] = math.Inf(1)
	} else {
		errs[byStepTime] = math.Inf(1)
	}
	// The steps are what the program itself says. Where the need disagrees with
	// them by more than either allows, it is the need that is wrong.
	if w.canPredict(bySteps) && w.canPredict(byNeed) {
		left, off := w.steps.cpuLeft(w.usedSeconds())
		if apart, wrong := estimatesDisagree(left/w.fullPace(), off, median[byNeed], sigma[byNeed]); wrong {
			errs[byNeed] = max(errs[byNeed], apart)
		}
	}
	if w.canPredict(byTime) { // knows all that the need says, and how long it waits
		errs[byNeed] = math.Inf(1)
	}
	for m := range errs {
		if !math.IsInf(errs[m], 1) {
			errs[m] = math.Hypot(errs[m], w.rateError(model(m), median[m]))
		}
	}
	return errs
}

// cpuLeft is the median of the CPU seconds left by the steps, and its relative
// deviation. Where it is also known what the job needs, and the two do not
// disagree, both count, each by how sure it is.
func (w *Watch) cpuLeft() (left, sigma float64) {
	w.needPart = 0
	left, sigma = w.steps.cpuLeft(w.usedSeconds())
	if !w.canPredict(byNeed) || !(left > 0) {
		return left, sigma
	}
	var f futures
	needLeft(w.cfg.Need, w.usedSeconds(), &f)
	need, off := medianAndSigma(&f)
	if _, wrong := estimatesDisagree(left, sigma, need, off); wrong || !(need > 0) {
		return left, sigma
	}
	steps, known := 1/max(sigma*sigma, 1e-12), 1/max(off*off, 1e-12)
	w.needPart = known / (steps + known)
	return left * math.Pow(need/left, w.needPart), 1 / math.Sqrt(steps+known)
}

// estimatesDisagree says how far two estimates are apart, and whether that is more than
// their deviations allow.
func estimatesDisagree(a, sigmaA, b, sigmaB float64) (apart float64, wrong bool) {
	apart = math.Abs(math.Log(max(a, 1e-9) / max(b, 1e-9)))
	return apart, apart > conflict*math.Hypot(sigmaA, sigmaB)
}

// rateError is the relative error to be expected of a model's rate over the
// time it takes to do what is left.
func (w *Watch) rateError(m model, left float64) float64 {
	d, s := &w.shareDrift, &w.share
	switch m {
	case byStepTime:
		d, s = &w.stepDrift, &w.stepRate
	case byBytes:
		d, s = &w.byteDrift, &w.bytes
	case byTime:
		if w.phases.granted.total.n == 0 {
			return 0
		}
		d, s, left = &w.phases.drift, &w.phases.granted, left*(1-w.waitingHere())
	}
	time := left / max(s.whole.mean, 1e-9)
	sec := max(w.now.At.Seconds(), 1e-9)
	// What is off in the mean of the whole is off more in the part to come.
	return math.Sqrt(d.perFold()*math.Log1p(time/sec)) * (1 + sec/max(time, sec/100))
}

// medianAndSigma is the median of the strata and their relative deviation, by the
// 5 % and 95 % quantiles.
func medianAndSigma(f *futures) (median, sigma float64) {
	d := f.toDist()
	median = d.Median()
	return median, (d.q[11] - d.q[1]) / (2 * scores[11] * max(median, 1e-9))
}
