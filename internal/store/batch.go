package store

import "fmt"

// Empty reports whether there is nothing in the batch.
func (b *Batch) Empty() bool {
	return len(b.Events)+len(b.Send)+len(b.Sent)+len(b.Jobs)+len(b.Entries)+len(b.Checkpoints)+len(b.Forget)+
		len(b.Runs)+len(b.Transfers)+len(b.Quotes)+len(b.Settings) == 0
}

// Check says what makes a batch impossible to store when the next event must
// have number next. Stores call it before they write anything.
func (b *Batch) Check(next uint64) error {
	if len(b.Events) > 0 && b.First != next {
		return fmt.Errorf("%w: events from %d come where %d is next", ErrNumber, b.First, next)
	}
	last := uint64(0)
	for _, o := range b.Send {
		if o.ID <= last {
			return fmt.Errorf("command %d of the outbox comes after %d", o.ID, last)
		}
		last = o.ID
	}
	for i := range b.Jobs {
		if j := &b.Jobs[i]; j.ID <= 0 || j.Unique == "" {
			return fmt.Errorf("a job has number %d and unique id %q", j.ID, j.Unique)
		}
	}
	return nil
}
