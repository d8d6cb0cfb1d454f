package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// turn is one turn of the loop: everything in it becomes durable together.
type turn struct {
	b       *Broker
	now     core.Time
	began   time.Time
	batch   store.Batch
	touched map[core.JobID]*job   // whose records are to be written
	arrays  map[core.JobID]*array // likewise
	then    []func()

	looseEnds []*job // that may be forgotten now
	questions describeQueue
	released  map[core.JobID]*job // by array, one of its elements that waited until now

	endedSpecs map[core.JobID]*jobfile.Job // of jobs that are over, as they were read

	inputs     []core.Input // the engine is still to be told
	isStepping bool         // it is being told
}

// maxMessagesPerCommit is how many messages one transaction takes in: what is durable together
// costs one write to the disk. A turn goes on taking them in for as long as the last write
// took, within minTurnTime and maxTurnTime: whoever asks waits for the turn before and for the
// one with the question, and on a slow disk for as many as the messages before theirs need.
const (
	maxMessagesPerCommit = 256
	minTurnTime          = 20 * time.Millisecond
	maxTurnTime          = 50 * time.Millisecond
)

// maxSentDelay is how long a command that was carried out stays in the outbox at most while
// nothing else is written.
const maxSentDelay = time.Second

// slowTurnTime is from when on a turn is told about in the log: everybody who asked something
// has waited for it.
const slowTurnTime = time.Second

// runTurn lets f and whoever else has something to say change the state, makes it
// durable, and does what follows.
func (b *Broker) runTurn(ctx context.Context, f func(*turn)) error {
	t, began := b.newTurn(), b.opt.Clock()
	f(t)
	limit, n := min(max(minTurnTime, b.lastWrite), maxTurnTime), 1
	for ; n < maxMessagesPerCommit && b.opt.Clock.Since(began) < limit; n++ {
		select {
		case g := <-b.mail:
			g(t)
			continue
		default:
		}
		break
	}
	decided := b.opt.Clock.Since(began)
	err := t.commitTurn(ctx)
	if took := b.opt.Clock.Since(began); took > slowTurnTime {
		b.opt.Log.Warn("the broker kept others waiting", "took", took, "deciding", decided, "writing", took-decided,
			"messages", n, "jobs", len(t.batch.Jobs), "events", len(t.batch.Events))
	}
	return err
}

func (b *Broker) newTurn() *turn {
	return &turn{b: b, now: b.brokerTime(), began: b.opt.Clock(),
		touched: map[core.JobID]*job{}, arrays: map[core.JobID]*array{}}
}

func (t *turn) commitTurn(ctx context.Context) error {
	b := t.b
	t.touchFirstWaiting()
	for _, j := range t.touched {
		if j.spec == nil {
			continue // of a job that is over, whose last attempt is being released
		}
		rec := j.rec
		if j.kept {
			rec.Spec = nil // it is stored, and never changes
		}
		t.batch.Jobs = append(t.batch.Jobs, rec)
	}
	for _, a := range t.arrays {
		t.batch.Arrays = append(t.batch.Arrays, a.Array)
		if a.IsComplete() {
			delete(b.partial, a.ID)
			b.dropArray(a.ID, a)
		}
	}
	if t.batch.First = b.nextEvent; t.takeDeferred() {
		began := b.opt.Clock()
		if err := t.writeAndAnswer(ctx); err != nil {
			return err
		}
		b.lastWrite = b.opt.Clock.Since(began)
		b.nextEvent += uint64(len(t.batch.Events))
		b.unlogged, b.sent, b.outlooks = nil, nil, nil
	}
	t.countTurn(b.opt.Clock.Since(t.began))
	t.publishPlacement()
	for _, f := range t.then {
		f()
	}
	for _, j := range t.touched {
		j.kept = true
		j.signalChange()
		t.looseEnds = append(t.looseEnds, j)
	}
	for _, j := range t.looseEnds {
		if j.isForgettable() {
			b.dropJob(j)
		}
	}
	return b.maybeSnapshot()
}

// publishPlacement lets those beside the loop know where jobs are, how many processors are
// free, and what is drained.
func (t *turn) publishPlacement() {
	for _, j := range t.touched {
		t.b.placed.updateJob(j)
		if j.spec != nil {
			t.b.tally.count(j)
		}
	}
	t.publishChanges()
	for _, c := range t.b.allClusters() {
		if int(c.id) < t.b.eng.ClusterCount() {
			c.idle.Store(int64(t.b.eng.IdleProcs(c.id) - c.KeepFree))
			t.publishDrains(c)
		}
	}
}

// diskRetryInterval is how long a full disk is left alone before it is tried again.
const diskRetryInterval = 200 * time.Millisecond

// storeBatch makes a batch durable. While the disk is full it waits: jobs run on, and
// nothing is decided that could not be remembered.
func (b *Broker) storeBatch(ctx context.Context, batch *store.Batch) error {
	for waited := false; ; waited = true {
		err := b.commitEncodable(ctx, batch)
		switch {
		case err == nil && waited:
			b.full.Store(nil)
			b.opt.Log.Info("there is room on the disk again")
		case errors.Is(err, store.ErrFull):
			if !waited {
				b.opt.Log.Error("the disk is full; nothing is decided until there is room", "error", err)
				err = fmt.Errorf("%w: jobs run on, but nothing can be decided until there is room on the disk", err)
				b.full.Store(&err)
			}
			if clock.SleepContext(ctx, diskRetryInterval) {
				continue
			}
		}
		return err
	}
}

// StuckReason is why the broker cannot decide anything at present; nil if it can.
func (b *Broker) StuckReason() error {
	if err := b.full.Load(); err != nil {
		return *err
	}
	return nil
}

// afterCommit has f done once the turn is durable.
func (t *turn) afterCommit(f func()) { t.then = append(t.then, f) }

// touchJob has the record of a job written.
func (t *turn) touchJob(j *job) { t.touched[j.rec.ID] = j }

// settleJob notes that something that was under way for a job is over, of which its
// record says nothing.
func (t *turn) settleJob(j *job) { t.looseEnds = append(t.looseEnds, j) }

// stepEngine tells the engine something and takes down what it decided. What follows from
// that for the engine it is told afterwards.
func (t *turn) stepEngine(in *core.Input) {
	if t.inputs = append(t.inputs, *in); t.isStepping {
		return
	}
	t.isStepping = true
	for len(t.inputs) > 0 {
		first := t.inputs[0]
		t.inputs = t.inputs[1:]
		t.stepOnce(&first)
	}
	t.isStepping = false
}

func (t *turn) stepOnce(in *core.Input) {
	out := t.b.eng.Step(t.now, in)
	t.b.logStep(t.now, in, out)
	for i := range out.Events {
		t.batch.Events = append(t.batch.Events, out.Events[i])
		t.recordEvent(&out.Events[i])
	}
	for i := range out.Commands {
		t.handleCommand(out.Commands[i])
	}
	t.b.wake = out.WakeAt
}

// explainJob adds a line to the reasons of a job.
func (t *turn) explainJob(j *job, kind, choice, why string, inputs map[string]any) {
	t.addEntry(j, wire.Entry{At: t.now, Kind: kind, Choice: choice, Why: why, Inputs: inputs})
}

func (t *turn) addEntry(j *job, e wire.Entry) {
	t.batch.Entries = append(t.batch.Entries, store.Entry{Job: j.rec.ID, Entry: e})
	t.afterCommit(func() { j.tellNews(e) })
}

// sendCommand puts a command into the outbox; it is carried out after the turn and
// again after a crash, until it is known to have been.
func (t *turn) sendCommand(c core.Command) uint64 {
	id := t.b.nextSend
	t.b.nextSend++
	t.batch.Send = append(t.batch.Send, store.Outbound{ID: id, Command: c})
	return id
}

// markSent has a command forgotten that was carried out. That needs no write of its own: a
// command that a killed broker did not forget is carried out again, which changes nothing.
func (t *turn) markSent(id uint64) {
	if len(t.b.sent) == 0 {
		t.b.sentBefore = t.now.Add(maxSentDelay)
	}
	t.b.sent = append(t.b.sent, id)
}

// takeDeferred adds to the turn what waits for one that writes something, and reports whether
// there is anything to write.
func (t *turn) takeDeferred() bool {
	b := t.b
	if t.batch.IsEmpty() && len(b.unlogged) < maxUnlogged && (len(b.sent) == 0 || t.now < b.sentBefore) &&
		(len(b.outlooks) == 0 || t.now < b.outlooksBefore) {
		return false
	}
	t.batch.Steps, t.batch.Sent, t.batch.Outlooks = b.unlogged, b.sent, b.outlooks
	return !t.batch.IsEmpty()
}
