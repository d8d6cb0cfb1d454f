package runlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/godwit-hpc/godwit/internal/format/jsonlines"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Replay is a log being replayed.
type Replay struct {
	lines     *jsonlines.Reader
	header    Header
	world     *world.World   // as the logged events make it
	engine    *engine.Engine // decides anew, on a world of its own
	last      core.Time
	submitted int64
	total     endLine
}

// Observer is told what the log says, once it has been verified.
type Observer interface {
	// JobSubmitted is told the label of the next job, before the event.
	JobSubmitted(label int64)
	Observe(ev *core.Event)
}

// Report is what a replay proved.
type Report struct {
	Steps  int64 // inputs on which the engine decided as logged
	Events int64 // that came of them, all identical
}

// DifferenceError says where the engine decides differently from the log.
type DifferenceError struct {
	File    string
	Line    int
	Logged  string // the first event that differs, "nothing" if there is none
	Decided string
}

func (e *DifferenceError) Error() string {
	return fmt.Sprintf("%s:%d: the engine decides differently: logged %s, decided %s", e.File, e.Line, e.Logged, e.Decided)
}

// Open reads the header of a log, plain or gzip; name is the file as the user
// knows it. What is wrong with it is a *badinput.Error.
func Open(r io.Reader, name string) (*Replay, error) {
	in, err := jsonlines.Open(r, name)
	if err != nil {
		return nil, err
	}
	var l headerLine
	switch err := in.DecodeNext(&l); {
	case errors.Is(err, io.EOF):
		return nil, in.BadLine("", "the header of a log; the file is empty", nil)
	case err != nil:
		return nil, err
	}
	if err := l.checkHeader(); err != nil {
		return nil, in.BadLine("", "the header of a log", err)
	}
	h := l.toHeader()
	w := world.New(h.World)
	return &Replay{lines: in, header: h, world: w, engine: engine.New(h.Engine, world.New(h.World)), last: -1 << 62}, nil
}

// Header is what the run began with.
func (r *Replay) Header() Header { return r.header }

// TotalProcs is how many processors the logged grid has.
func (r *Replay) TotalProcs() int {
	n := 0
	for _, c := range r.world.Clusters() {
		n += c.Procs()
	}
	return n
}

// Run replays the log to its end. It returns a *badinput.Error if the log
// says what cannot be, a *DifferenceError if the engine decides differently.
func (r *Replay) Run(ctx context.Context, o Observer) (Report, error) {
	for {
		var l stepLine
		err := r.lines.DecodeNext(&l)
		switch {
		case errors.Is(err, io.EOF):
			return Report{}, r.lines.BadLine("", "a log that ends with its last line; this one breaks off", nil)
		case err != nil:
			return Report{}, err
		case l.End != nil:
			return r.finishReplay(l.End)
		}
		if r.total.Steps&0xff == 0 && ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
		if err := r.verifyStep(&l); err != nil {
			return Report{}, err
		}
		if l.In.Kind == core.Submit {
			o.JobSubmitted(l.jobLabel())
		}
		for i := range l.Events {
			o.Observe(&l.Events[i])
		}
	}
}

func (l *stepLine) jobLabel() int64 {
	if l.Label != 0 {
		return l.Label
	}
	return int64(l.In.Spec.ID)
}

// verifyStep verifies one line: the events can have happened, and they are what the
// engine makes of the input.
func (r *Replay) verifyStep(l *stepLine) error {
	if err := r.checkStep(l); err != nil {
		return r.lines.BadLine("", "a step that can have happened", err)
	}
	r.last = l.At
	r.total.Steps++
	r.total.Events += int64(len(l.Events))
	decided, err := r.applyEvents(l)
	if err != nil {
		return r.lines.BadLine("", "a step that can have happened", err)
	}
	return r.compareEvents(l.Events, decided)
}

func (r *Replay) checkStep(l *stepLine) error {
	if l.At < r.last {
		return errors.New("it is older than the one before it")
	}
	for i := range l.Events {
		l.Events[i].Modernize()
		if l.Events[i].At != l.At {
			return fmt.Errorf("event %d happens at another time than its step", i+1)
		}
	}
	if l.In.Kind != core.Submit {
		return nil
	}
	err := r.checkSpec(l.In.Spec)
	r.submitted++
	return err
}

// applyEvents applies the logged events to the world and lets the engine decide
// anew. Both rely on what their callers promise, which a log need not keep:
// if one of them gives up, the log is at fault.
func (r *Replay) applyEvents(l *stepLine) (decided []core.Event, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	for i := range l.Events {
		if err := r.world.ApplyEvent(&l.Events[i]); err != nil {
			return nil, err
		}
	}
	return r.engine.Step(l.At, &l.In).Events, nil
}

func (r *Replay) compareEvents(logged, decided []core.Event) error {
	for i := range max(len(logged), len(decided)) {
		if i < len(logged) && i < len(decided) && areEventsEqual(&logged[i], &decided[i]) {
			continue
		}
		return &DifferenceError{File: r.lines.Name(), Line: r.lines.LineCount(), Logged: describeEvent(logged, i),
			Decided: describeEvent(decided, i)}
	}
	return nil
}

func describeEvent(events []core.Event, i int) string {
	if i >= len(events) {
		return "nothing"
	}
	text, err := json.Marshal(&events[i])
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// finishReplay checks that the log is whole, and that both worlds are the same.
func (r *Replay) finishReplay(end *endLine) (Report, error) {
	if *end != r.total {
		return Report{}, r.lines.BadLine("", fmt.Sprintf("the end of %d steps and %d events; the log has %d and %d",
			end.Steps, end.Events, r.total.Steps, r.total.Events), nil)
	}
	if err := r.lines.DecodeNext(&stepLine{}); !errors.Is(err, io.EOF) {
		if err == nil {
			err = r.lines.BadLine("", "nothing after the last line", nil)
		}
		return Report{}, err
	}
	if !bytes.Equal(r.world.AppendState(nil), r.engine.World().AppendState(nil)) {
		return Report{}, &DifferenceError{File: r.lines.Name(), Line: r.lines.LineCount(), Logged: "one state",
			Decided: "another"}
	}
	return Report(r.total), nil
}
