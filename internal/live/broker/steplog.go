package broker

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// The log holds what every decision rested on: what the engine was told, and when, and with
// which settings it began. It becomes durable with the events that came of it, as one record
// for a turn. What led to no event waits for the next turn that writes something: a broker
// that is killed before goes on as if nobody had told it.

// maxUnlogged is how many steps wait for a turn that writes something.
const maxUnlogged = 1000

// logStep takes down a step of the engine, unless nothing came of it.
func (b *Broker) logStep(now core.Time, in *core.Input, out *engine.Output) {
	if out.Idle {
		return
	}
	told := *in
	s := store.Step{At: now, In: &told, Events: len(out.Events), Commands: slices.Clone(out.Commands)}
	s.ShareSpec(out.Events)
	b.unlogged = append(b.unlogged, s)
}

// logBegin takes down that an engine has begun, on what the events before it gave.
func (b *Broker) logBegin() error {
	settings, err := json.Marshal(b.opt.Engine)
	if err != nil {
		return fmt.Errorf("the settings of the engine: %w", err)
	}
	b.engineSettings = settings
	b.unlogged = append(b.unlogged, store.Step{Began: settings})
	return nil
}

// logSnapshot takes down what the engine has left to look at while a snapshot is taken: a
// replay may begin with it.
func (b *Broker) logSnapshot(upTo uint64) error {
	left, err := json.Marshal(b.eng.Unsettled())
	if err != nil {
		return err
	}
	b.unlogged = append(b.unlogged, store.Step{Began: b.engineSettings, Left: left, UpTo: upTo})
	return nil
}
