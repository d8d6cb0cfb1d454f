package agent

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// How often a program is looked at.
const (
	usualSample = 2 * time.Second
	minSample   = 100 * time.Millisecond
	maxSample   = 2 * time.Minute
)

func sampleEvery(a *wire.Attempt) time.Duration {
	every := usualSample
	if a.Every.Sample > 0 {
		every = min(max(a.Every.Sample, minSample), maxSample)
	}
	if len(a.Alone.Seconds) > 0 && a.Deadline > 0 {
		every = min(every, max(expectedRunTime(a)/samplesOfRun, briefSample))
	}
	return every
}

// A short program with a deadline is looked at more often than usual, so that a
// deadline in danger is seen while there is time: so many times, but no more often than
// this.
const (
	samplesOfRun = 20
	briefSample  = 250 * time.Millisecond
)

// usualConfidence is the chance of meeting the deadline that is wanted where the
// user names none.
const usualConfidence = 0.95

// noteInterval is how long explain is spared after a change was told.
const noteInterval = 10 * time.Second

// watching is what is known of how the program does.
type watching struct {
	forecast *predict.Watch
	progress *output.Progress
	asking   checkpointing.DeadlineAlarm
	began    time.Duration // the program, on life's clock
	from     reckoning
	pulse    pulse
	last     proctree.Usage
	lastAt   time.Duration // when that was, on life's clock
	method   string
	chance   float64 // of meeting the deadline here; -1 if not known
	spent    atomic.Pointer[wallTimes]
	noted    time.Duration
	warned   bool // that the deadline is in danger and the job is not to be moved
}

// wallTimes is how the job spent its wall time so far, see wire.Vitals.
type wallTimes struct{ busy, idle float64 }

// reckoning is where counting begins: what the processes of the attempt had used
// before the program began, and what the job had used before the attempt.
type reckoning struct {
	start proctree.Usage
	used  float64 // seconds on the reference host
	busy  float64 // wall seconds of them, see wire.Vitals
	idle  float64
	moved int64 // bytes read and written before the attempt
	speed float64
}

// totalWork is what the whole job has used, in seconds on the reference host, when
// the processes of the attempt have used so much.
func (r reckoning) totalWork(cpu time.Duration) float64 {
	return r.used + max(cpu-r.start.CPU, 0).Seconds()*r.speed
}

// totalBytes is what the whole job has read and written.
func (r reckoning) totalBytes(u proctree.Usage) int64 {
	return r.moved + max(u.Read-r.start.Read, 0) + max(u.Written-r.start.Written, 0)
}

func (l *life) newReckoning(saved *wire.Saved) reckoning {
	r := reckoning{start: l.around.usage(l.attempt.Mark), speed: l.attempt.Speed}
	if r.speed <= 0 {
		r.speed = 1
	}
	if saved != nil {
		r.used, r.moved, r.busy, r.idle = saved.Used, saved.IO, saved.Busy, saved.Idle
	}
	return r
}

func (l *life) newWatching(s *started) *watching {
	a := l.attempt
	w := &watching{began: l.sinceBirth(), from: l.newReckoning(s.saved), method: s.choice.Method, chance: -1,
		noted: -noteInterval}
	w.pulse = pulse{pace: a.Pace, speed: w.from.speed}
	used, busy := w.from.used, w.from.busy
	if s.saved != nil {
		used /= w.pulse.pace.SlowFactor(s.saved.Slow)
		busy /= w.pulse.pace.SlowFactor(s.saved.Slow)
		w.pulse.mean.AddPulse(s.saved.Slow, w.from.used)
	}
	cfg := predict.Config{Used: used, Speed: w.from.speed, Procs: max(a.Procs, 1),
		BytesUsed: float64(w.from.moved), Duty: a.Duty, BusyUsed: busy, BusyRaw: w.from.busy, IdleUsed: w.from.idle,
		Steady: predict.Steadiness{Changes: a.Alone.Changes, Seconds: a.Alone.Over}, Band: predict.Band(a.Band)}
	if d, ok := predict.FromQuantiles(a.Need); ok {
		cfg.Need = d
	}
	if d, ok := predict.FromQuantiles(a.Alone.Seconds); ok && proctree.SeesDelays() {
		cfg.Alone, cfg.Waiting = d, a.Alone.Waiting
	}
	if s.choice.Method == checkpointing.MethodSandbox && a.Alone.Sandbox > 1 {
		cfg.Need = cfg.Need.Scale(a.Alone.Sandbox)
		longer := cfg.Waiting + (1-cfg.Waiting)*a.Alone.Sandbox
		cfg.Alone, cfg.Waiting = cfg.Alone.Scale(longer), cfg.Waiting/longer
	}
	switch a.Rule {
	case "fixed-n":
		cfg.Rule = predict.FixedN{N: 10} // as in papers/004
	case "mean":
		cfg.Rule = predict.MeanOnly{}
	}
	if d, ok := predict.FromQuantiles(a.Bytes); ok {
		cfg.Bytes = d
	}
	w.forecast = predict.NewWatch(cfg)
	var err error
	if w.progress, err = output.NewProgress(a.Spec.Progress); err != nil {
		l.sendNote("predict", "no progress from the output", fmt.Sprintf("the pattern cannot be used: %v", err), nil)
	}
	w.asking = checkpointing.DeadlineAlarm{Confidence: a.Spec.Confidence, SampleInterval: sampleEvery(a)}
	if w.asking.Confidence <= 0 {
		w.asking.Confidence = usualConfidence
	}
	return w
}

// onSample looks at the program and does what follows from it.
func (l *life) onSample() {
	l.checkFence()
	l.takeSample()
	l.judgeSandboxCost()
	l.pollDenied()
	l.noteShareChange()
	l.askIfInDanger()
}

// takeSample takes a sample.
func (l *life) takeSample() {
	w := l.watch
	before := w.last.CPU
	w.last, w.lastAt = l.around.usage(l.attempt.Mark), l.sinceBirth()
	w.pulse.addWork((w.last.CPU - max(before, w.from.start.CPU)).Seconds() * w.from.speed)
	w.progress.SearchOutput(l.spool)
	done, of := w.progress.StepsDone()
	w.forecast.AddSample(predict.Sample{
		At: w.lastAt - w.began, Slow: w.pulse.slowdownNow(), CPU: max(w.last.CPU-w.from.start.CPU, 0),
		Ran: max(w.last.Ran-w.from.start.Ran, 0), Delayed: max(w.last.Delayed-w.from.start.Delayed, 0),
		Read: max(w.last.Read-w.from.start.Read, 0), Written: max(w.last.Written-w.from.start.Written, 0),
		Step: done, Steps: of,
	})
	w.noteSpent()
	l.measurePulse()
	w.chance = -1
	// Also where nobody asks: the predictions are judged when the program has ended.
	d, known := w.forecast.RemainingTime()
	if left, ok := l.timeLeft(); ok && known {
		w.chance = d.ProbabilityBelow(left.Seconds())
	}
}

// noteSpent keeps how the job spent its time for whoever saves it.
func (w *watching) noteSpent() {
	busy, idle := w.forecast.BusyAndIdle()
	w.spent.Store(&wallTimes{busy, idle})
}

// timeLeft is the time to the deadline; false if there is none.
func (l *life) timeLeft() (time.Duration, bool) {
	if l.attempt.Deadline <= 0 {
		return 0, false
	}
	return l.attempt.Deadline.Sub(l.brokerTime()), true
}

// noteShareChange notes that the share of the processors, or what it is worth, has
// changed for good.
func (l *life) noteShareChange() {
	w := l.watch
	c, ok := w.forecast.LastChange()
	if !ok || l.sinceBirth()-w.noted < noteInterval {
		return
	}
	w.noted = l.sinceBirth()
	inputs := map[string]any{"from": c.From, "to": c.To}
	if w.chance >= 0 {
		inputs["p_deadline"] = w.chance
	}
	l.sendNote("predict", fmt.Sprintf("CPU share %s from %.0f %% to %.0f %%", changeDirection(c.From, c.To), 100*c.From,
		100*c.To),
		"change detected; earlier samples no longer count", inputs)
}

func changeDirection(from, to float64) string {
	if to < from {
		return "dropped"
	}
	return "rose"
}

// askIfInDanger asks the broker for a better place if the deadline is in danger
// here.
func (l *life) askIfInDanger() {
	w := l.watch
	left, ok := l.timeLeft()
	if !ok || w.chance < 0 || l.stopping != nil || l.outbox.IsWaiting(wire.Ask) {
		return
	}
	if l.attempt.Spec.Adapt != "" {
		if w.chance < w.asking.Confidence && !w.warned && w.asking.IsInDanger(w.chance, l.sinceBirth(), left) {
			w.warned = true
			l.sendNote("predict", "the deadline is in danger", "migration is off for this job (--adapt off)",
				map[string]any{"p_deadline": w.chance})
		}
		return
	}
	if w.asking.IsInDanger(w.chance, l.sinceBirth(), left) {
		v := l.currentVitals()
		l.outbox.QueueMessage(wire.Message{Kind: wire.Ask, State: &v,
			Why: fmt.Sprintf("the chance to meet the deadline here is %.0f %%, %.0f %% are wanted", 100*w.chance,
				100*w.asking.Confidence)})
	}
}

// timeLeft is what the program probably still takes; negative if nobody knows.
func (w *watching) timeLeft() time.Duration {
	d, ok := w.forecast.RemainingTime()
	if !ok {
		return -1
	}
	return time.Duration(min(d.Quantile(0.5), 1e9) * float64(time.Second))
}

// remainingQuantiles is the quantiles of the seconds that the program still takes from now on:
// the prediction is of the moment of the last sample.
func (l *life) remainingQuantiles(d predict.Dist) []float64 {
	left := d.Quantiles()
	age := (l.sinceBirth() - l.watch.lastAt).Seconds()
	for i := range left {
		left[i] = max(left[i]-age, 0)
	}
	return left
}

// currentVitals is how the job does, also when the program never ran.
func (l *life) currentVitals() wire.Vitals {
	w := l.watch
	if w == nil {
		return wire.Vitals{Wall: l.timeRun().Seconds(), CPU: l.around.usage(l.attempt.Mark).CPU.Seconds(), Done: -1,
			Chance: -1}
	}
	v := wire.Vitals{
		CPU: w.last.CPU.Seconds(), Used: w.from.totalWork(w.last.CPU), Wall: l.timeRun().Seconds(),
		Memory: w.last.Memory, Peak: w.last.Peak, Read: w.last.Read, Written: w.last.Written,
		Done: -1, Chance: w.chance, Model: w.forecast.ModelName(), Method: w.method, SaveCost: l.saveCost().Seconds(),
		SandboxCost: l.sandboxCost(), Slowness: w.pulse.mean.MeanPulse(),
	}
	v.Share, v.Mean = w.forecast.CurrentShare()
	if s := w.spent.Load(); s != nil && proctree.SeesDelays() {
		v.Busy, v.Idle, v.Changes = s.busy, s.idle, w.forecast.ShareChanges()
	}
	v.Ran = max(w.lastAt-w.began, 0).Seconds()
	if d, ok := w.forecast.RemainingTime(); ok {
		v.Left = l.remainingQuantiles(d)
	}
	if d, ok := w.forecast.RemainingWork(); ok {
		v.Work, v.Done, v.Waiting = d.Quantiles(), w.forecast.DonePart(d.Quantile(0.5)), w.forecast.WaitingWork()
	}
	if done, of := w.progress.StepsDone(); of > 0 {
		v.Done = done / of
	}
	return v
}

// saveCost is how long it takes to save, move and restore the program, as it took
// last time; 0 if it was never saved here: the broker has seen others.
func (l *life) saveCost() time.Duration {
	if l.watch.method == checkpointing.MethodRestart || l.saving.Took <= 0 {
		return 0
	}
	return l.saving.Took + max(l.restored, l.saving.Took/2)
}
