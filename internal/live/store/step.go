package store

import (
	"encoding/json"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Step is one step of the engine: what it was told, and what came of it besides events. With
// the events it is what a decision rested on. Instead of a step it may be a mark: that an
// engine began, or what one had left to look at when a snapshot was taken.
type Step struct {
	At       core.Time      `json:"at,omitempty"`
	In       *core.Input    `json:"in,omitempty"`
	Events   int            `json:"events,omitempty"` // how many of those of its batch came of it, in order
	Commands []core.Command `json:"commands,omitempty"`
	// SpecOf is the event, from 1, in which the description of the job stands that the
	// input came with: it is stored once.
	SpecOf int `json:"specOf,omitempty"`

	Began json.RawMessage `json:"began,omitempty"` // an engine with these settings
	// Left is what the engine had left when the snapshot after event UpTo was taken; it has the settings Began.
	Left json.RawMessage `json:"left,omitempty"`
	UpTo uint64          `json:"upTo,omitempty"`
}

// ShareSpec leaves the description of a job out of the input that stands in one of the
// events that came of it.
func (s *Step) ShareSpec(events []core.Event) {
	if s.In == nil || s.In.Spec == nil {
		return
	}
	for i := range events {
		if events[i].Spec == s.In.Spec {
			in := *s.In
			in.Spec = nil
			s.In, s.SpecOf = &in, i+1
			return
		}
	}
}

// FullInput is the input with the description of the job, given the events that came of it.
func (s *Step) FullInput(events []core.Event) (core.Input, error) {
	in := *s.In
	if s.SpecOf == 0 {
		return in, nil
	}
	if s.SpecOf < 0 || s.SpecOf > len(events) {
		return in, fmt.Errorf("%w: event %d of a step with %d describes a job", ErrDamaged, s.SpecOf, len(events))
	}
	in.Spec = events[s.SpecOf-1].Spec
	return in, nil
}

// LogPart is a part of the log: the snapshot that it begins with, or steps of one batch with
// the events that came of them.
type LogPart struct {
	Snapshot *Snapshot
	First    uint64 // number of Events[0], or of the next event where there is none
	Events   []core.Event
	Steps    []Step // nil: it is not known what the events came of
}

// countEvents is how many events came of some steps.
func countEvents(steps []Step) int {
	n := 0
	for i := range steps {
		n += steps[i].Events
	}
	return n
}

// checkSteps says what makes the steps of a batch impossible: every event came of one.
func (b *Batch) checkSteps() error {
	if n := countEvents(b.Steps); len(b.Steps) > 0 && n != len(b.Events) {
		return fmt.Errorf("%w: %d events came of the steps of a batch with %d", ErrNumber, n, len(b.Events))
	}
	return nil
}

// LogRow is the steps of one batch as a store keeps them.
type LogRow struct {
	First uint64 `json:"first"` // number of the first event that came of them
	Steps []Step `json:"steps"`
}

// JoinLog hands out the rows of a log, in their order, each with its events. from is the
// number of the first event that is kept, next that of the next one, and read gives those
// from one number up to another.
func JoinLog(rows func(yield func(LogRow) error) error, from, next uint64,
	read func(from, below uint64) ([]core.Event, error), see func(*LogPart) error) error {
	unexplained := func(below uint64) error {
		for from < below {
			events, err := read(from, min(below, from+eventsPerPart))
			if err != nil {
				return err
			}
			if len(events) == 0 {
				return fmt.Errorf("%w: event %d is missing", ErrDamaged, from)
			}
			if err := see(&LogPart{First: from, Events: events}); err != nil {
				return err
			}
			from += uint64(len(events))
		}
		return nil
	}
	err := rows(func(row LogRow) error {
		if row.First < from { // its beginning was dropped
			return nil
		}
		if err := unexplained(row.First); err != nil {
			return err
		}
		n := uint64(countEvents(row.Steps))
		events, err := read(from, from+n)
		if err == nil && uint64(len(events)) != n {
			err = fmt.Errorf("%w: of events %d to %d there are %d", ErrDamaged, from, from+n, len(events))
		}
		if err != nil {
			return err
		}
		from += n
		return see(&LogPart{First: row.First, Events: events, Steps: row.Steps})
	})
	if err != nil {
		return err
	}
	return unexplained(next)
}

// eventsPerPart is how many events are handed out at once of which it is not known what they
// came of.
const eventsPerPart = 1000
