package watch

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// TimeLeft is what the program probably still takes; negative if nobody knows.
func (w *Watch) TimeLeft() time.Duration {
	d, ok := w.forecast.RemainingTime()
	if !ok {
		return -1
	}
	return time.Duration(min(d.Quantile(0.5), 1e9) * float64(time.Second))
}

// remainingQuantiles is the quantiles of the seconds that the program still takes from now on:
// the prediction is of the moment of the last sample.
func (w *Watch) remainingQuantiles(now time.Duration, d predict.Dist) []float64 {
	left := d.Quantiles()
	age := (now - w.lastAt).Seconds()
	for i := range left {
		left[i] = max(left[i]-age, 0)
	}
	return left
}

// Vitals is how the program does, but for what only its agent knows.
func (w *Watch) Vitals(now time.Duration) wire.Vitals {
	v := wire.Vitals{
		CPU: w.last.CPU.Seconds(), Used: w.from.totalWork(w.last.CPU),
		Memory: w.last.Memory, Peak: w.last.Peak, Read: w.last.Read, Written: w.last.Written,
		Done: -1, Chance: w.chance, Model: w.forecast.ModelName(), Method: w.method, Slowness: w.MeanPulse(),
	}
	v.Share, v.Mean = w.forecast.CurrentShare()
	if s := w.spent.Load(); s != nil && proctree.SeesDelays() {
		v.Busy, v.Idle, v.Changes = s.busy, s.idle, w.forecast.ShareChanges()
	}
	v.Ran = max(w.lastAt-w.began, 0).Seconds()
	if d, ok := w.forecast.RemainingTime(); ok {
		v.Left = w.remainingQuantiles(now, d)
	}
	if d, ok := w.forecast.RemainingWork(); ok {
		v.Work, v.Done, v.Waiting = d.Quantiles(), w.forecast.DonePart(d.Quantile(0.5)), w.forecast.WaitingWork()
	}
	if done, of := w.progress.StepsDone(); of > 0 {
		v.Done = done / of
	}
	return v
}

// BandDeviations is how far off the predictions were, once the program has ended.
func (w *Watch) BandDeviations() []float64 { return w.forecast.BandDeviations() }
