package store

import (
	"fmt"
	"math"
)

// NextSend is the number of the next command after those in the batch, if it
// was next before.
func (b *Batch) NextSend(next uint64) uint64 {
	if n := len(b.Send); n > 0 {
		return b.Send[n-1].ID + 1
	}
	return next
}

// IsEmpty reports whether there is nothing in the batch.
func (b *Batch) IsEmpty() bool {
	return len(b.Events)+len(b.Steps)+len(b.Send)+
		len(b.Sent)+len(b.Jobs)+len(b.Arrays)+len(b.Entries)+len(b.Checkpoints)+len(b.Forget)+
		len(b.Flows)+len(b.FlowTasks)+len(b.FlowEntries)+len(b.Pools)+len(b.PoolChunks)+
		len(b.Runs)+len(b.Transfers)+len(b.Quotes)+len(b.Settings)+len(b.Outlooks)+len(b.Weather) == 0 && b.Thin == nil
}

// CheckNumbers says what makes a batch impossible to store when these are the numbers
// of the next event and the next command. Stores call it before they write
// anything.
func (b *Batch) CheckNumbers(nextEvent, nextSend uint64) error {
	if len(b.Events) > 0 && b.First != nextEvent {
		return fmt.Errorf("%w: events from %d come where %d is next", ErrNumber, b.First, nextEvent)
	}
	if err := b.checkSteps(); err != nil {
		return err
	}
	for _, o := range b.Send {
		if o.ID < nextSend {
			return fmt.Errorf("%w: command %d of the outbox comes where %d is next", ErrNumber, o.ID, nextSend)
		}
		nextSend = o.ID + 1
	}
	for i := range b.Jobs {
		if j := &b.Jobs[i]; j.ID <= 0 || j.Unique == "" {
			return fmt.Errorf("a job has number %d and unique id %q", j.ID, j.Unique)
		}
	}
	for i := range b.Arrays {
		if a := &b.Arrays[i]; a.ID <= 0 || a.Spec == nil || a.Next < 0 {
			return fmt.Errorf("an array has number %d and goes on with element %d", a.ID, a.Next)
		}
	}
	if err := b.checkFlows(); err != nil {
		return err
	}
	if err := b.checkPools(); err != nil {
		return err
	}
	for i := range b.Weather {
		if r := &b.Weather[i]; math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
			return fmt.Errorf("a reading of %s is %v", r.What, r.Value)
		}
	}
	for i := range b.Outlooks {
		if o := &b.Outlooks[i]; math.IsNaN(o.Chance) || math.IsInf(o.Chance, 0) {
			return fmt.Errorf("a chance of job %d is %v", o.Job, o.Chance)
		}
	}
	if b.Thin != nil && b.Thin.Step <= 0 {
		return fmt.Errorf("readings cannot be thinned to one in %v", b.Thin.Step)
	}
	return nil
}
