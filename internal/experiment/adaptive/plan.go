package adaptive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Plan says what of the experiment is done, and how long it takes.
type Plan struct {
	File string // the scenario file, "" if there is none
	// those of spec 20: a alone, b disturbed, c disturbed with the service, d overhead; e calibration
	Parts    string
	Programs []string      // by name; none: all there are
	Jobs     string        // the folder with the programs
	Agent    []string      `json:"-"` // command of an agent; nil: that of godwit
	Out      io.Writer     `json:"-"` // is told what is done
	Length   time.Duration // of a program alone
	Sample   time.Duration // how often it is looked at in a to c
	Repeat   int           // runs of each kind
	Others   CompetingLoad // that begin to compute in b and c
	Slack    float64       // least one of a deadline, as a part of the mean completion time

	Intervals      []time.Duration // of d
	OverheadLength time.Duration   // of the program in d
	OverheadRepeat int             // runs of each kind in d

	Live LivePlan // e
}

// DefaultPlan is the experiment as the report shows it.
func DefaultPlan() Plan {
	return Plan{Parts: allParts, Jobs: "examples/jobs", Length: 30 * time.Second, Sample: 200 * time.Millisecond,
		Repeat: 3,
		Others: CompetingLoad{N: 2, After: 10 * time.Second}, Slack: 0.111,
		Intervals:      []time.Duration{100 * time.Millisecond, 2 * time.Second, 35 * time.Second, 120 * time.Second},
		OverheadLength: 8 * time.Second, OverheadRepeat: 6,
		Live: LivePlan{Runs: 60, AtOnce: 1, Length: 9 * time.Second, Sample: 100 * time.Millisecond, Learn: 3,
			Records: "../shared/data/load", File: "build/adaptive-live.jsonl"}}
}

const (
	allParts    = "abcde"
	partsWanted = "parts of the experiment: a, b, c, d, e"
)

// includesPart says whether a part is to be done.
func (p *Plan) includesPart(part byte) bool { return strings.IndexByte(p.Parts, part) >= 0 }

// CheckParts complains about what cannot be done.
func (p *Plan) CheckParts() error {
	for _, r := range p.Parts {
		if !strings.ContainsRune(allParts, r) {
			return &badinput.Error{Field: "--only", Value: string(r), Want: partsWanted}
		}
	}
	if p.Parts == "" {
		return &badinput.Error{Field: "--only", Want: partsWanted}
	}
	return nil
}

// Trial is what one program did.
type Trial struct {
	Name, Like string
	Argv       []string
	Steps      bool      // its progress was read from its output
	Alone      []*Course // (a); the first without a prediction where nothing was known before
	Without    []*Course // (b)
	With       []*Course // (c)
	Deadline   float64   // of (b) and (c)
	Floored    bool      // by the least slack, not by three standard deviations
}

// Results is everything that was measured.
type Results struct {
	Plan    Plan
	Machine measured.Machine
	Trials  []Trial
	Costs   []Cost

	Simulated []Simulated          `json:",omitempty"`
	Judged    []calibration.Judged `json:",omitempty"` // of the simulated runs, by the default rule
	Live      *LiveResults         `json:"-"`          // kept run by run in a file of their own
}

// Simulated is how a rule did in simulated runs.
type Simulated struct {
	Rule     string
	Loads    []string
	Verdicts []calibration.Verdict // one for each load
}

// KeepMissing takes over what was measured before and not now.
func (r *Results) KeepMissing(old *Results) {
	p := &r.Plan
	if !p.includesPart('a') && !p.includesPart('b') && !p.includesPart('c') {
		r.Trials = old.Trials
		if !p.includesPart('d') { // nothing of what the machine is told of was measured now
			live := p.Live
			r.Machine, r.Plan = old.Machine, old.Plan
			r.Plan.Live = live
		}
	}
	if !p.includesPart('d') {
		r.Costs = old.Costs
	}
	if len(r.Simulated) == 0 {
		r.Simulated, r.Judged = old.Simulated, old.Judged
	}
	if r.Live == nil {
		r.Live = old.Live
	}
}

// simulateCalibration is the calibration with simulated runs, under loads that were not used
// to choose the constants of the predictor.
func (r *Results) simulateCalibration(records string) {
	kinds, seed, _ := loads.CalibrationLoads(records, true)
	for _, rule := range calibration.Rules {
		judged := calibration.SimulateLoads(kinds, seed, rule.Rule)
		s := Simulated{Rule: rule.Name}
		s.Loads, s.Verdicts = calibration.SplitByLoad(judged, loads.Alone)
		r.Simulated = append(r.Simulated, s)
		if rule.Rule == nil {
			r.Judged = judged
		}
	}
}

// MeasureAll does the experiment. If only the last part could not be finished, the
// others are returned with the error.
func (p *Plan) MeasureAll(ctx context.Context) (*Results, error) {
	if err := p.CheckParts(); err != nil {
		return nil, err
	}
	home, _, err := testbed.TwoCores()
	if err != nil {
		return nil, err
	}
	r := &Results{Plan: *p, Machine: measured.ThisMachine(clock.RealClock())}
	var programs []Program
	if strings.ContainsAny(p.Parts, "abcd") {
		if programs, err = p.choosePrograms(); err != nil {
			return nil, err
		}
	}
	if p.includesPart('a') || p.includesPart('b') || p.includesPart('c') {
		for _, prog := range programs {
			t, err := p.tryProgram(ctx, prog, home)
			if err != nil {
				return nil, err
			}
			r.Trials = append(r.Trials, *t)
		}
	}
	if p.includesPart('d') {
		if r.Costs, err = p.measureOverhead(ctx, programs[0], home); err != nil {
			return nil, err
		}
	}
	r.Machine.LoadAfter = measured.LoadAverage()
	if p.includesPart('e') {
		r.Live, err = p.calibrateAll(ctx, r, home)
	}
	return r, err
}

// calibrateAll does (e).
func (p *Plan) calibrateAll(ctx context.Context, r *Results, home int) (*LiveResults, error) {
	programs, err := p.computingPrograms()
	if err != nil {
		return nil, err
	}
	r.simulateCalibration(p.Live.Records)
	if err := p.calibrateLive(ctx, programs, home); err != nil {
		return nil, err
	}
	return ReadLive(p.Live.File)
}

// computingPrograms are the programs of (e): those that only compute, unless others are
// named.
func (p *Plan) computingPrograms() ([]Program, error) {
	of := *p
	of.Programs = p.Live.Programs
	list, err := of.choosePrograms()
	if len(p.Live.Programs) == 0 {
		list = slices.DeleteFunc(list, func(prog Program) bool { return prog.Progress != "" })
	}
	return list, err
}

func (p *Plan) choosePrograms() ([]Program, error) {
	all, err := FindPrograms(p.Jobs)
	if err != nil {
		return nil, err
	}
	var names []string
	var list []Program
	for _, prog := range all {
		names = append(names, prog.Name)
		if len(p.Programs) == 0 || slices.Contains(p.Programs, prog.Name) {
			list = append(list, prog)
		}
	}
	for _, name := range p.Programs {
		if !slices.Contains(names, name) {
			return nil, &badinput.Error{Field: "--programs", Value: name, Want: badinput.UnknownName("program", name, names)}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no program to run: %s has no burn (make examples, needs a C compiler) and there is no "+
			"python3", p.Jobs)
	}
	return list, nil
}

func (p *Plan) sayLine(format string, args ...any) {
	if p.Out != nil {
		_, _ = fmt.Fprintf(p.Out, format+"\n", args...) // it is only told
	}
}

// tryProgram runs (a) to (c) with one program and a broker of its own, so that all that
// it knows of the program are these runs.
func (p *Plan) tryProgram(ctx context.Context, prog Program, home int) (t *Trial, err error) {
	unit, err := prog.measureUnit(ctx, home)
	if err != nil {
		return nil, err
	}
	size := p.Length.Seconds() / unit.Wall
	t = &Trial{Name: prog.Name, Like: prog.Like, Argv: prog.argv(size), Steps: prog.Progress != ""}
	b, err := NewBed(ctx, p.Agent, p.Sample)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	spec, err := b.newJob(&prog, size, "sandbox")
	if err != nil {
		return nil, err
	}
	// One more: of the first nothing is known before it ends.
	if t.Alone, err = p.runRepeatedly(ctx, b, "alone", spec, p.Repeat+1, CompetingLoad{}); err != nil {
		return nil, err
	}
	t.setDeadline(p.Slack)
	p.sayLine("%s: deadline %.1f s", t.Name, t.Deadline)
	spec.Deadline = core.DurationFromSeconds(t.Deadline)
	if p.includesPart('c') {
		if t.With, err = p.runRepeatedly(ctx, b, "with the service", spec, p.Repeat, p.Others); err != nil {
			return nil, err
		}
	}
	if p.includesPart('b') {
		spec.Adapt = jobfile.AdaptOff
		if t.Without, err = p.runRepeatedly(ctx, b, "without the service", spec, p.Repeat, p.Others); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// runRepeatedly runs a job several times.
func (p *Plan) runRepeatedly(ctx context.Context, b *Bed, how string, spec jobfile.Job, n int,
	others CompetingLoad) ([]*Course, error) {
	var list []*Course
	for i := range n {
		c, err := b.RunJob(ctx, spec.Name+", "+how, &spec, others, nil)
		if err != nil {
			return nil, err
		}
		ended := ""
		if c.Deadline > 0 {
			ended = ", " + describeMargin(c)
		}
		p.sayLine("%s %s, run %d of %d: %.1f s, %d moves%s", spec.Name, how, i+1, n, c.TookSeconds(), len(c.MoveTimes()),
			ended)
		list = append(list, c)
	}
	return list, nil
}

// setDeadline sets the deadline as the paper does: three standard deviations above the
// mean completion time. A spread of about zero leaves no time to move anything
// anywhere, so there is a least slack.
func (t *Trial) setDeadline(least float64) {
	s := t.aloneSpread()
	slack := 3 * s.Sd
	t.Floored = slack < least*s.Mean
	t.Deadline = s.Mean + max(slack, least*s.Mean)
}

// aloneSpread is how long the undisturbed runs took.
func (t *Trial) aloneSpread() measured.Spread { return tookOf(t.Alone) }

func tookOf(list []*Course) measured.Spread {
	var took []float64
	for _, c := range list {
		took = append(took, c.TookSeconds())
	}
	return measured.SpreadOf(took)
}

// countMet counts the runs that ended in time.
func countMet(list []*Course) int {
	n := 0
	for _, c := range list {
		if c.MetDeadline() {
			n++
		}
	}
	return n
}
