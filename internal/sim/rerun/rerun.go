// Package rerun decides anew what the exported log of a live broker says was decided: the same
// engine is told the same inputs at the same times, and every event and every command is
// compared. It must not know how a broker works.
package rerun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// Report is what a rerun compared.
type Report struct {
	Decisions int64     // steps of which an event or a command came, all the same
	Jobs      int       // that these were about
	Steps     int64     // in all
	Events    int64     // that came of them
	Commands  int64     // likewise
	Brokers   int       // that began in this time
	Unknown   int64     // events before the first step that is kept
	From, To  core.Time // of the first and the last step; 0 if there is none
}

// DifferenceError says where the engine decides otherwise than the live broker did.
type DifferenceError struct {
	File string
	Line int
	engine.Difference
}

func (e *DifferenceError) Error() string {
	about := "something about no job"
	if e.Job != 0 {
		about = fmt.Sprintf("job %d", e.Job)
	}
	return fmt.Sprintf("%s:%d: %s, at %s: the live broker decided %s, the replay decides %s", e.File, e.Line, about,
		time.Unix(0, int64(e.At)).UTC().Format("2006-01-02 15:04:05.000 UTC"), e.Logged, e.Decided)
}

// rerunner is a file being compared.
type rerunner struct {
	in    *brokerlog.Reader
	again *engine.Retrial
	last  uint64 // number of the last event
	jobs  map[core.JobID]bool
	Report
}

// ReadLog decides anew all that stands in a file. It returns a *badinput.Error if the file says
// what cannot be, a *DifferenceError for the first decision that is not the same. tell, if it is
// not nil, hears how many steps have been compared.
func ReadLog(ctx context.Context, r io.Reader, name string, tell func(steps int64)) (Report, error) {
	in, err := brokerlog.NewReader(r, name)
	if err != nil {
		return Report{}, err
	}
	if u := in.Header().User; u != "" {
		return Report{}, in.BadLine("a log with the decisions of the broker; this one holds the jobs of "+u+
			" alone, for --trace: of a broker of several users root exports the decisions", nil)
	}
	x := &rerunner{in: in, jobs: map[core.JobID]bool{}}
	for {
		line, err := in.NextLine()
		switch {
		case errors.Is(err, io.EOF):
			x.Report.Jobs = len(x.jobs)
			return x.Report, x.checkWhole()
		case err != nil:
			return Report{}, err
		case ctx.Err() != nil:
			return Report{}, ctx.Err()
		}
		switch d, err := x.takeLine(line); {
		case err != nil:
			return Report{}, in.BadLine("a line that can have been written", err)
		case d != nil:
			return Report{}, &DifferenceError{name, in.LineCount(), *d}
		}
		if tell != nil && line.Step != nil && x.Steps&0x3ff == 0 {
			tell(x.Steps)
		}
	}
}

func (x *rerunner) checkWhole() error {
	if x.again == nil {
		return x.in.BadLine("a log with the decisions of the broker; this one holds jobs alone", nil)
	}
	return nil
}

func (x *rerunner) takeLine(l *brokerlog.Line) (*engine.Difference, error) {
	switch {
	case l.Job != nil:
		return nil, nil
	case l.Start != nil:
		return nil, x.start(l.Start)
	case x.again == nil:
		return nil, errors.New("the state that it begins with is missing")
	case l.Event != nil:
		return nil, x.applyUnknown(l.Event)
	case l.Began != nil:
		x.Brokers++
		return nil, x.begin(l.Began.Engine, nil)
	case l.Left != nil:
		if x.again.IsBegun() || l.Left.After != x.last {
			return nil, nil // of another snapshot than the one that the file begins with
		}
		return nil, x.begin(l.Left.Engine, l.Left.Unsettled)
	}
	return x.takeStep(l.Step)
}

func (x *rerunner) start(s *brokerlog.Start) (err error) {
	if x.again != nil {
		return errors.New("it begins twice")
	}
	x.last = s.After
	x.again, err = engine.NewRetrial(s.Place, s.Snapshot)
	return err
}

func (x *rerunner) begin(settings, unsettled json.RawMessage) error {
	var cfg engine.Config
	if err := json.Unmarshal(settings, &cfg); err != nil {
		return err
	}
	if unsettled == nil {
		return x.again.BeginEngine(cfg, nil)
	}
	var left engine.Unsettled
	if err := json.Unmarshal(unsettled, &left); err != nil {
		return err
	}
	return x.again.BeginEngine(cfg, &left)
}

// applyUnknown takes an event over of which it is not known what it came of: those are older
// than the first step that is kept.
func (x *rerunner) applyUnknown(ev *core.Event) error {
	if x.Steps > 0 {
		return errors.New("what an event came of is missing")
	}
	x.last++
	x.Unknown++
	return x.again.ApplyEvent(ev)
}

func (x *rerunner) takeStep(s *brokerlog.Step) (*engine.Difference, error) {
	if !x.again.IsBegun() { // before the point at which all is known
		for i := range s.Events {
			if err := x.applyUnknown(&s.Events[i]); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	if x.Steps++; x.From == 0 {
		x.From = s.At
	}
	x.To = s.At
	x.last += uint64(len(s.Events))
	x.Events += int64(len(s.Events))
	x.Commands += int64(len(s.Commands))
	if len(s.Events)+len(s.Commands) > 0 {
		x.Decisions++
	}
	for i := range s.Events {
		if id := s.Events[i].Job; id != 0 {
			x.jobs[id] = true
		}
	}
	for i := range s.Commands {
		x.jobs[s.Commands[i].Job] = true
	}
	return x.again.CheckStep(s.At, &s.In, s.Events, s.Commands)
}
