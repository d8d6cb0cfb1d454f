package broker

import (
	"context"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Histogram counts values by upper bounds.
type Histogram struct {
	Bounds []float64
	Counts []uint64 // one more than bounds: what is above them all
	Sum    float64
}

func newHistogram(bounds ...float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

func (h *Histogram) add(x float64) {
	i := 0
	for i < len(h.Bounds) && x > h.Bounds[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += x
}

// Figures is what has happened since the broker began, for who watches over it. No user and no job can be
// told from it.
type Figures struct {
	Jobs            [core.Cancelled + 1]int // by state, now
	Events          uint64                  // last event of the log
	Waits, Runs     Histogram               // seconds until jobs started, and from their start to their end
	Turns           Histogram               // seconds that it took to decide and to store what was decided
	Met, Missed     uint64                  // deadlines
	Moves           uint64
	Lost            uint64 // attempts
	Checkpoints     uint64
	CheckpointBytes int64
}

type figures struct {
	mu sync.Mutex
	Figures
}

func newFigures() *figures {
	seconds := []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}
	return &figures{Figures: Figures{Waits: newHistogram(seconds...), Runs: newHistogram(seconds...),
		Turns: newHistogram(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)}}
}

// countTurn counts what happened in a turn that is durable.
func (t *turn) countTurn(took time.Duration) {
	f := t.b.figures
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Turns.add(took.Seconds())
	for i := range t.batch.Events {
		if ev := &t.batch.Events[i]; ev.Kind == core.JobBecame {
			f.countState(t.b.jobs[ev.Job], ev)
		}
	}
	for i := range t.batch.Checkpoints {
		f.Checkpoints++
		f.CheckpointBytes += t.batch.Checkpoints[i].Bytes
	}
}

func (f *Figures) countState(j *job, ev *core.Event) {
	if j == nil {
		return
	}
	switch {
	case ev.To == core.Running && ev.From != core.Stopping && j.rec.Started == ev.At:
		f.Waits.add(ev.At.Sub(j.rec.Submitted).Seconds())
	case ev.To == core.Stopped && ev.Lost:
		f.Lost++
	case ev.To == core.Stopped:
		f.Moves++
	case ev.To.IsTerminal() && j.rec.Started != 0:
		f.Runs.add(ev.At.Sub(j.rec.Started).Seconds())
	}
	if ev.To.IsTerminal() && j.rec.Deadline != 0 {
		if ev.To == core.Done && ev.At <= j.rec.Deadline {
			f.Met++
		} else {
			f.Missed++
		}
	}
}

// ReadFigures is what has happened since the broker began.
func (b *Broker) ReadFigures(context.Context) Figures {
	b.figures.mu.Lock()
	f := b.figures.Figures
	for _, h := range []*Histogram{&f.Waits, &f.Runs, &f.Turns} {
		h.Counts = append([]uint64(nil), h.Counts...)
	}
	b.figures.mu.Unlock()
	f.Jobs, _ = b.tally.sum(nil)
	f.Events = b.LastEvent()
	return f
}
