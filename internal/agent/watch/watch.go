package watch

import (
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// usualConfidence is the chance of meeting the deadline that is wanted where the
// user names none.
const usualConfidence = 0.95

// noteInterval is how long explain is spared after a change was told.
const noteInterval = 10 * time.Second

// Watch is what is known of how a program does. It belongs to one goroutine, but for
// UsedWith and WallTimes. All times of day are times since its agent began.
type Watch struct {
	forecast *predict.Watch
	progress *output.Progress
	alarm    checkpointing.DeadlineAlarm
	began    time.Duration // the program
	from     usageBefore
	pulse    pulse
	last     proctree.Usage
	lastAt   time.Duration // when that was
	method   string
	chance   float64 // of meeting the deadline here; -1 if not known
	spent    atomic.Pointer[wallTimes]
	noted    time.Duration // when a change of its share was last told
	warned   bool          // that the deadline is in danger and the job is not to be moved
}

// wallTimes is how the job spent its wall time so far, see wire.Vitals.
type wallTimes struct{ busy, idle float64 }

// usageBefore is where counting begins: what the processes of the attempt had used
// before the program began, and what the job had used before the attempt.
type usageBefore struct {
	start proctree.Usage
	used  float64 // seconds on the reference host
	busy  float64 // wall seconds of them, see wire.Vitals
	idle  float64
	moved int64 // bytes read and written before the attempt
	speed float64
}

// totalWork is what the whole job has used, in seconds on the reference host, when
// the processes of the attempt have used so much.
func (r usageBefore) totalWork(cpu time.Duration) float64 {
	return r.used + max(cpu-r.start.CPU, 0).Seconds()*r.speed
}

// totalBytes is what the whole job has read and written.
func (r usageBefore) totalBytes(u proctree.Usage) int64 {
	return r.moved + max(u.Read-r.start.Read, 0) + max(u.Written-r.start.Written, 0)
}

func newUsageBefore(a *wire.Attempt, saved *wire.Saved, start proctree.Usage) usageBefore {
	r := usageBefore{start: start, speed: a.Speed}
	if r.speed <= 0 {
		r.speed = 1
	}
	if saved != nil {
		r.used, r.moved, r.busy, r.idle = saved.Used, saved.IO, saved.Busy, saved.Idle
	}
	return r
}

// Program is a program that begins.
type Program struct {
	Attempt  *wire.Attempt
	Saved    *wire.Saved // the checkpoint that it continues; nil: from the beginning
	Method   string      // by which it is saved
	Began    time.Duration
	Used     proctree.Usage   // by the processes of the attempt before
	Progress *output.Progress // how far it is
}

// NewWatch begins to follow a program.
func NewWatch(p Program) *Watch {
	a := p.Attempt
	w := &Watch{began: p.Began, from: newUsageBefore(a, p.Saved, p.Used), progress: p.Progress, method: p.Method,
		chance: -1, noted: -noteInterval}
	w.pulse = pulse{pace: a.Pace, speed: w.from.speed}
	used, busy := w.from.used, w.from.busy
	if p.Saved != nil {
		used /= w.pulse.pace.SlowFactor(p.Saved.Slow)
		busy /= w.pulse.pace.SlowFactor(p.Saved.Slow)
		w.pulse.mean.AddPulse(p.Saved.Slow, w.from.used)
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
	if p.Method == checkpointing.MethodSandbox && a.Alone.Sandbox > 1 {
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
	w.alarm = checkpointing.DeadlineAlarm{Confidence: a.Spec.Confidence, SampleInterval: SampleInterval(a)}
	if w.alarm.Confidence <= 0 {
		w.alarm.Confidence = usualConfidence
	}
	return w
}

// ReportSteps takes how many of how many steps the program reports before a sample; 0, 0: it does not.
func (w *Watch) ReportSteps(done, of float64) { w.progress.TakeReport(done, of) }

// AddSample takes what the processes of the attempt have used until now and what the program
// has written.
func (w *Watch) AddSample(now time.Duration, u proctree.Usage, written *output.Spool) {
	before := w.last.CPU
	w.last, w.lastAt = u, now
	w.pulse.addWork((w.last.CPU - max(before, w.from.start.CPU)).Seconds() * w.from.speed)
	w.progress.SearchOutput(written)
	done, of := w.progress.StepsDone()
	w.forecast.AddSample(predict.Sample{
		At: w.lastAt - w.began, Slow: w.pulse.slowdownNow(), CPU: max(w.last.CPU-w.from.start.CPU, 0),
		Ran: max(w.last.Ran-w.from.start.Ran, 0), Delayed: max(w.last.Delayed-w.from.start.Delayed, 0),
		Read: max(w.last.Read-w.from.start.Read, 0), Written: max(w.last.Written-w.from.start.Written, 0),
		Step: done, Steps: of,
	})
	busy, idle := w.forecast.BusyAndIdle()
	w.spent.Store(&wallTimes{busy, idle})
}

// SetProcs says how many processors the program has from now on.
func (w *Watch) SetProcs(procs int) { w.forecast.SetProcs(procs) }

// JudgeChance predicts the rest, after a sample, and from that the chance of meeting a
// deadline in so long; where there is none the prediction is judged all the same when the
// program has ended.
func (w *Watch) JudgeChance(left time.Duration, hasDeadline bool) {
	w.chance = -1
	if d, known := w.forecast.RemainingTime(); known && hasDeadline {
		w.chance = d.ProbabilityBelow(left.Seconds())
	}
}

// AddEnd takes the CPU time of a program that has ended, of which some may have been used
// after the last sample.
func (w *Watch) AddEnd(cpu time.Duration) {
	w.last.CPU = max(w.last.CPU, w.from.start.CPU+cpu)
}

// ShareChange is a lasting change of the program's share of the processors, or of what that
// is worth, which is to be told now; false: there is none, or one was told a moment ago.
func (w *Watch) ShareChange(now time.Duration) (predict.Change, bool) {
	c, ok := w.forecast.LastChange()
	if !ok || now-w.noted < noteInterval {
		return predict.Change{}, false
	}
	w.noted = now
	return c, true
}

// IsInDanger says, once for each sample, whether the broker is to be told now that the
// deadline, in so long, is in danger.
func (w *Watch) IsInDanger(now, left time.Duration) bool {
	return w.alarm.IsInDanger(w.chance, now, left)
}

// NeedsWarning is IsInDanger for a job that is not to be moved, whose user is warned once.
func (w *Watch) NeedsWarning(now, left time.Duration) bool {
	if w.chance >= w.alarm.Confidence || w.warned || !w.IsInDanger(now, left) {
		return false
	}
	w.warned = true
	return true
}

// ResetDeadline notes that the deadline is another one.
func (w *Watch) ResetDeadline() {
	w.alarm.ResetDeadline()
	w.warned = false
}

// RecordAnswer notes that the broker has answered and leaves the job here.
func (w *Watch) RecordAnswer(now time.Duration) { w.alarm.RecordAnswer(now) }

// Chance is the chance of meeting the deadline here, after the last sample; negative: not
// known.
func (w *Watch) Chance() float64 { return w.chance }

// WantedChance is the chance that the user wants.
func (w *Watch) WantedChance() float64 { return w.alarm.Confidence }

// RunSince is how long the program has run.
func (w *Watch) RunSince(now time.Duration) time.Duration { return now - w.began }

// LastUsage is the last sample.
func (w *Watch) LastUsage() proctree.Usage { return w.last }

// MethodName is the method by which the program is saved.
func (w *Watch) MethodName() string { return w.method }

// UsedWith is what the whole job has used, in seconds on the reference host, and the bytes
// that it has read and written, when the processes of the attempt have used so much.
func (w *Watch) UsedWith(u proctree.Usage) (work float64, bytes int64) {
	return w.from.totalWork(u.CPU), w.from.totalBytes(u)
}

// WallTimes is how the job had spent its wall time by the last sample, see wire.Vitals.
func (w *Watch) WallTimes() (busy, idle float64) {
	if s := w.spent.Load(); s != nil {
		return s.busy, s.idle
	}
	return w.from.busy, w.from.idle
}
