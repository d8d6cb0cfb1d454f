package predict

import (
	"math"
	"time"
)

// Sample is what was seen of an attempt at one moment.
type Sample struct {
	At            time.Duration // since the attempt began; never falls
	CPU           time.Duration // of the whole process tree so far
	Ran, Delayed  time.Duration // of those threads that can be asked: CPU time, and time ready to run without a processor
	Read, Written int64         // bytes so far
	Step, Steps   float64       // progress that the program reported; 0, 0 if none
	// Slow is how many times longer than usual the program needed for the same,
	// in CPU time, since the sample before: the processor was slower. 0: 1.
	Slow float64
}

// Config is what is known when an attempt begins.
type Config struct {
	Need  Dist    // CPU seconds of the whole job on the reference host; zero if unknown
	Used  float64 // of them, before this attempt, at the usual speed
	Speed float64 // of this host, relative to the reference; 0: 1
	Procs int     // processors asked for; 0: 1
	Rule  Rule    // nil: ChangePoint{}

	// Bytes that the whole job reads and writes, from history, and of them
	// before this attempt; zero if unknown.
	Bytes     Dist
	BytesUsed float64
	// Alone is the wall seconds of the whole job if it had the processors of the
	// reference host for itself, from history, and Waiting the part of them in which
	// it waits for something else than a processor. Unknown: the end follows from
	// Need, and the CPU time used says how far it is.
	Alone              Dist
	Waiting            float64
	BusyUsed, IdleUsed float64 // of them, before this attempt
	BusyRaw            float64 // BusyUsed as it was, not at the usual speed
	// Steady is experience of how seldom the share changes: seconds of earlier runs,
	// and the changes found in them.
	Steady Steadiness
	// Duty is the part of its processors that the program takes when it has
	// them for itself, from history. Less than 1 if it waits for disks or for
	// others. 0: 1.
	Duty float64
	// Band is how much the predicted distributions are stretched, by how earlier
	// predictions held.
	Band Band
}

// Watch predicts the end of one attempt of a job.
type Watch struct {
	cfg  Config
	from Sample // where the interval that is being measured began
	now  Sample
	step float64 // usual seconds between samples
	n    float64 // intervals measured

	work     float64 // CPU seconds of this attempt, as they would have been at the usual speed
	workFrom float64 // of them, where the interval began

	share    series  // work done in an interval, of what was asked for
	current  float64 // CPU used in it
	mean     float64 // and since the beginning
	bytes    series  // bytes a second, in units of byteUnit
	byteUnit float64
	steps    steps
	needPart float64 // that the need has in what the steps say, of 1
	stepRate series  // steps a second, in units of stepUnit
	stepUnit float64
	stepAt   float64 // when they last advanced,
	stepFrom float64 // and how far they were

	shareDrift, byteDrift, stepDrift drift

	phases    phases
	forecasts forecasts

	model   model
	judged  float64 // seconds when the model was last chosen
	changed bool
	change  Change
}

// Change is a moment when the share was found to have changed, or what it is worth.
type Change struct {
	From, To float64       // mean share before and after, at the usual speed
	At       time.Duration // since the attempt began
}

const (
	shareGrain = 0.01
	rateGrain  = 0.02
)

// SetProcs says how many processors the program has from now on.
func (w *Watch) SetProcs(procs int) { w.cfg.Procs = max(procs, 1) }

// NewWatch begins to watch an attempt.
func NewWatch(cfg Config) *Watch {
	if !(cfg.Speed > 0) {
		cfg.Speed = 1
	}
	cfg.Procs = max(cfg.Procs, 1)
	cfg.Used, cfg.BytesUsed = clampPositive(cfg.Used), clampPositive(cfg.BytesUsed)
	if !(cfg.Duty > 0 && cfg.Duty < 1) {
		cfg.Duty = 1
	}
	if cfg.Rule == nil {
		cfg.Rule = ChangePoint{}
	}
	cfg.Waiting = min(clampPositive(cfg.Waiting), 1)
	w := &Watch{
		cfg:      cfg,
		share:    series{grain: shareGrain, top: 1},
		bytes:    series{grain: rateGrain},
		stepRate: series{grain: rateGrain},
		phases:   newPhases(&cfg),
	}
	if cfg.Alone.known {
		w.model = byTime
	}
	for _, s := range []*series{&w.share, &w.bytes, &w.stepRate, &w.phases.granted} {
		cfg.Rule.prepareSeries(s)
		s.steady = cfg.Steady
	}
	return w
}

// AddSample takes a sample. What goes backwards is taken to have stood still.
func (w *Watch) AddSample(s Sample) {
	w.changed = false
	s.CPU, s.Read, s.Written = max(s.CPU, w.now.CPU), max(s.Read, w.now.Read), max(s.Written, w.now.Written)
	if s.At <= w.now.At {
		return
	}
	slow := s.Slow
	if !(slow > 0) || math.IsInf(slow, 0) {
		slow = 1
	}
	s.Ran, s.Delayed = max(s.Ran, w.now.Ran), max(s.Delayed, w.now.Delayed)
	cpu := (s.CPU - w.now.CPU).Seconds()
	w.work += cpu / slow
	w.phases.addInterval((s.At - w.now.At).Seconds(), cpu, (s.Ran - w.now.Ran).Seconds(),
		(s.Delayed - w.now.Delayed).Seconds(), slow, w.cfg.Speed, float64(w.cfg.Procs))
	w.now = s
	w.addSteps(s)
	// Intervals much shorter than usual say little and would count like others.
	dt := (s.At - w.from.At).Seconds()
	if dt < w.step/4 {
		return
	}
	w.n++
	w.step += (dt - w.step) / min(w.n, 50)
	w.addShare(dt)
	w.addGranted()
	w.addBytes(dt)
	w.from, w.workFrom = s, w.work
	w.judgeModels()
}

func (w *Watch) addShare(dt float64) {
	procs := float64(w.cfg.Procs)
	w.current = (w.now.CPU - w.from.CPU).Seconds() / dt / procs
	w.mean = w.now.CPU.Seconds() / w.now.At.Seconds() / procs
	var by shift
	if by, w.changed = w.share.addRate((w.work-w.workFrom)/dt/procs, dt); w.changed {
		w.change = Change{From: by.from, To: by.to, At: w.now.At - time.Duration(by.ago*float64(time.Second))}
	}
	w.shareDrift.markProgress(w.now.At.Seconds(), w.work/procs, w.share.whole.mean)
}

// addGranted looks at the share that the program gets when it is ready to run. Where
// that is what the prediction rests on, its changes are those that are told.
func (w *Watch) addGranted() {
	by, changed := w.phases.takeSample(w.step)
	if w.model != byTime {
		return
	}
	if w.changed = changed; changed {
		w.change = Change{From: by.from, To: by.to, At: w.now.At - time.Duration(by.ago*float64(time.Second))}
	}
}

// addBytes measures in units of the first rate that is not nothing.
func (w *Watch) addBytes(dt float64) {
	if !w.cfg.Bytes.known {
		return
	}
	rate := float64(w.now.Read-w.from.Read+w.now.Written-w.from.Written) / dt
	if w.byteUnit == 0 {
		w.byteUnit = rate
	}
	if w.byteUnit > 0 {
		w.bytes.addRate(rate/w.byteUnit, dt)
		w.byteDrift.markProgress(w.now.At.Seconds(), float64(w.now.Read+w.now.Written)/w.byteUnit, w.bytes.whole.mean)
	}
}

// addSteps measures between reports of an advance, or a step that takes longer
// than an interval would look like standing still.
func (w *Watch) addSteps(s Sample) {
	first := !w.steps.known
	sec := s.At.Seconds()
	advanced := w.steps.addReport(s.Step, s.Steps, w.usedSeconds(), sec)
	if first && w.steps.known {
		w.stepAt, w.stepFrom = sec, w.steps.now
	}
	if !advanced || sec-w.stepAt < w.step/2 {
		return
	}
	if w.steps.now <= w.stepFrom { // began again
		w.stepAt, w.stepFrom = sec, w.steps.now
		return
	}
	rate := (w.steps.now - w.stepFrom) / (sec - w.stepAt)
	if w.stepUnit == 0 {
		w.stepUnit = rate
	}
	w.stepRate.addRate(rate/w.stepUnit, sec-w.stepAt)
	w.stepDrift.markProgress(sec, w.steps.now/w.stepUnit, w.stepRate.whole.mean)
	w.stepAt, w.stepFrom = sec, w.steps.now
}

// usedSeconds is the CPU seconds of the job so far, on the reference host at its usual
// speed.
func (w *Watch) usedSeconds() float64 { return w.cfg.Used + w.work*w.cfg.Speed }

// DonePart is the part of the job that is done, if so much is left.
func (w *Watch) DonePart(left float64) float64 {
	used := w.usedSeconds()
	if w.model == byTime {
		used = (w.phases.busy + w.phases.idle) * float64(w.cfg.Procs)
	}
	if all := used + left; all > 0 {
		return used / all
	}
	return 0
}

// fullPace is the reference CPU seconds that a second of full share is worth.
func (w *Watch) fullPace() float64 { return w.cfg.Speed * float64(w.cfg.Procs) }

// CurrentShare is the part of its processors that the job got in the last interval,
// and in the mean of the attempt.
func (w *Watch) CurrentShare() (now, mean float64) { return w.current, w.mean }

// LastChange tells of a change of the share that the last Add found.
func (w *Watch) LastChange() (Change, bool) { return w.change, w.changed }

// RemainingTime is the distribution of the wall seconds left here from the last
// sample on; false if nothing is known from which it follows, or too little
// has been seen: a program that has just begun still loads itself.
func (w *Watch) RemainingTime() (Dist, bool) {
	var f futures
	if !w.remainingFutures(&f) {
		return Dist{}, false
	}
	d := f.toDist()
	w.forecasts.keepForecast(w.now.At.Seconds(), d)
	return d.stretchSides(w.cfg.Band), true
}

func (w *Watch) remainingFutures(f *futures) bool {
	if w.n < minSide && w.model != byTime || w.n == 0 || !w.canPredict(w.model) {
		return false
	}
	w.amountLeft(w.model, f)
	rate, step := &w.share, w.step
	switch w.model {
	case byTime:
		w.playAlone(f)
		return true
	case byBytes:
		rate = &w.bytes
	case byStepTime:
		rate, step = &w.stepRate, w.stepRate.total.dur/max(w.stepRate.total.n, 1)
	}
	o := rate.makeOutlook(step)
	o.playFutures(f)
	return true
}

// amountLeft fills in what is left by a model that is able, in seconds at a rate of
// one.
func (w *Watch) amountLeft(m model, f *futures) {
	switch m {
	case byNeed:
		needLeft(w.cfg.Need, w.usedSeconds(), f)
		f.scaleBy(1 / w.fullPace())
	case byTime:
		w.aloneLeft(f)
		waiting := w.waitingLeft()
		f.scaleBy(waiting + (1-waiting)/w.cfg.Speed)
	case bySteps:
		left, sigma := w.cpuLeft()
		for i := range f {
			f[i] = left * math.Exp(min(sigma, 2)*stratumScore[i]) / w.fullPace()
		}
	case byStepTime:
		// Part of the next step has been done since the last report, and a
		// report may be off by half a step.
		since := (w.now.At.Seconds() - w.stepAt) * w.stepRate.whole.mean * w.stepUnit
		todo := w.steps.total - w.steps.now
		todo -= min(since, todo, 1)
		for i := range f {
			f[i] = max(todo+stratumScore[i]/4, 0) / w.stepUnit
		}
	case byBytes:
		needLeft(w.cfg.Bytes, w.cfg.BytesUsed+float64(w.now.Read+w.now.Written), f)
		f.scaleBy(1 / w.byteUnit)
	}
}

// RemainingWork is the distribution of the reference CPU seconds left, for a prediction
// of other hosts. Of a program that is not bound by its CPU it is those that
// would pass in the time it takes.
func (w *Watch) RemainingWork() (Dist, bool) {
	var f futures
	switch w.model {
	case byTime:
		w.aloneLeft(&f)
		f.scaleBy(float64(w.cfg.Procs))
	case byNeed, bySteps:
		if !w.canPredict(w.model) {
			return Dist{}, false
		}
		w.amountLeft(w.model, &f)
		f.scaleBy(w.fullPace() / w.cfg.Duty)
	default:
		if !w.remainingFutures(&f) {
			return Dist{}, false
		}
		f.scaleBy(w.fullPace())
	}
	return f.toDist(), true
}
