package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// CheckDecisions decides anew what the log of a store says was decided: an engine that is told
// the same must decide the same. It returns how many steps it has compared.
func CheckDecisions(t testing.TB, s store.Store) int {
	t.Helper()
	d := &decider{}
	if err := s.ReadLog(context.Background(), d.takePart); err != nil {
		t.Errorf("after %d steps: %v", d.steps, err)
	}
	return d.steps
}

type decider struct {
	again *engine.Retrial
	steps int
}

func (d *decider) takePart(p *store.LogPart) (err error) {
	if d.again == nil {
		var state []byte
		if p.Snapshot != nil {
			state = p.Snapshot.State
		}
		d.again, err = engine.NewRetrial(core.DeadlineFirst, state)
		return err
	}
	events, next := p.Events, p.First
	for i := range p.Steps {
		s := &p.Steps[i]
		if err := d.takeStep(s, events[:s.Events], next); err != nil {
			return fmt.Errorf("event %d: %w", next, err)
		}
		events, next = events[s.Events:], next+uint64(s.Events)
	}
	for i := range events {
		if err := d.again.ApplyEvent(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *decider) takeStep(s *store.Step, events []core.Event, next uint64) error {
	if s.Began != nil {
		return d.begin(s, next)
	}
	if !d.again.IsBegun() {
		return nil
	}
	d.steps++
	in, err := s.FullInput(events)
	if err != nil {
		return err
	}
	differs, err := d.again.CheckStep(s.At, &in, events, s.Commands)
	if err == nil && differs != nil {
		told, _ := json.Marshal(in)
		err = fmt.Errorf("job %d: told %s, the broker decided %s; now %s is decided", differs.Job, told, differs.Logged,
			differs.Decided)
	}
	return err
}

func (d *decider) begin(s *store.Step, next uint64) error {
	var cfg engine.Config
	if err := json.Unmarshal(s.Began, &cfg); err != nil {
		return err
	}
	if s.Left == nil {
		return d.again.BeginEngine(cfg, nil)
	}
	if d.again.IsBegun() || s.UpTo+1 != next {
		return nil // of another snapshot
	}
	var left engine.Unsettled
	if err := json.Unmarshal(s.Left, &left); err != nil {
		return err
	}
	return d.again.BeginEngine(cfg, &left)
}
