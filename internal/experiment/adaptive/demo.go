package adaptive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Demo is a program with a deadline, and others that begin to compute where it
// runs; once with the adaptive service and once without.
type Demo struct {
	Jobs   string   // the folder with the programs
	Figure string   // the file that the figure goes to
	Agent  []string // command of an agent; nil: this program
	Out    io.Writer

	// The times that follow from these are told as they are.
	Length time.Duration // CPU time of the program
	Sample time.Duration // how often it is looked at
	Others int           // programs that begin to compute
}

// DefaultDemo takes about a minute.
func DefaultDemo() Demo {
	return Demo{Jobs: "examples/jobs", Figure: "build/demo/deadline.svg", Length: 16 * time.Second, Sample: 500 * time.Millisecond, Others: 2}
}

// schedule is when what happens, and how the program is saved.
type schedule struct {
	method           string
	loadAt, deadline time.Duration
	program          Program
	size             float64
	needs            time.Duration // CPU time
	interrupted      time.Duration // how long it would take if it stays
}

// Outcome is how the two runs ended.
type Outcome struct{ With, Without *Course }

// AsPromised says whether the adapted run met its deadline and the other missed it.
func (o *Outcome) AsPromised() bool { return o.With.Met() && !o.Without.Met() }

// Play does it all and tells what happens.
func (d *Demo) Play(ctx context.Context) (out *Outcome, err error) {
	home, _, err := twoCPUs()
	if err != nil {
		return nil, err
	}
	program, err := d.program()
	if err != nil {
		return nil, err
	}
	d.say("Two clusters on this machine, one processor each: %s and %s. A broker of its own.\n", Home, Away)
	b, err := NewBed(ctx, d.Agent, d.Sample)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	unit, err := program.measure(ctx, home)
	if err != nil {
		return nil, err
	}
	method, err := d.method(ctx, b)
	if err != nil {
		return nil, err
	}
	s := d.plan(program, method, unit)
	d.tell(s)
	out = &Outcome{}
	d.say("\n1. With the adaptive service\n")
	if out.With, err = d.once(ctx, b, "with the adaptive service", s, jobfile.AdaptAuto); err != nil {
		return nil, err
	}
	d.say("\n2. The same again, but nobody may move it\n")
	if out.Without, err = d.once(ctx, b, "without", s, jobfile.AdaptOff); err != nil {
		return nil, err
	}
	return out, d.conclude(out)
}

func (d *Demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, format, args...) // nobody is left to tell
}

// program is the first one there is that only computes.
func (d *Demo) program() (Program, error) {
	list, err := FindPrograms(d.Jobs)
	for _, p := range list {
		if p.Like == "π" {
			p.Progress = `step (\d+)/(\d+)`
			return p, nil
		}
	}
	return Program{}, errors.Join(err, fmt.Errorf("no program to run: %s has no burn (make examples, needs a C compiler) and there is no python3", d.Jobs))
}

// idle is the part of a processor that a newcomer must get so that the
// demonstration shows what it should.
const idle = 0.8

// method is how the program can be saved here: in the sandbox, or not at all.
func (d *Demo) method(ctx context.Context, b *Bed) (string, error) {
	clusters, err := b.Client.Clusters(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range clusters {
		if c.Share > 0 && c.Share < idle {
			d.say("This machine is busy: a newcomer gets about %.0f %% of the processor of %s. It may come out\notherwise than it should.\n", 100*c.Share, c.Name)
		}
	}
	if slices.ContainsFunc(clusters, func(c api.Cluster) bool { return slices.Contains(c.Methods, "sandbox") }) {
		return "sandbox", nil
	}
	d.say("The sandbox does not work here (godwit doctor says why): the program cannot be saved\n" +
		"while it runs and begins again where it is moved to. The deadline leaves time for that.\n")
	return "restart", nil
}

// plan chooses the times. A program that continues loses a few seconds by a move;
// one that begins again loses all it has done, so that the others come early.
func (d *Demo) plan(p Program, method string, unit usage) schedule {
	size := math.Round(100*d.Length.Seconds()/unit.CPU) / 100
	s := schedule{method: method, program: p, size: size, needs: core.Seconds(size * unit.CPU)}
	s.loadAt, s.deadline = part(s.needs, 0.3), part(s.needs, 1.5)
	if method == "restart" {
		s.loadAt, s.deadline = part(s.needs, 0.2), part(s.needs, 1.9)
	}
	s.interrupted = s.loadAt + time.Duration(1+d.Others)*(s.needs-s.loadAt)
	return s
}

// part of a time, in whole tenths of a second.
func part(d time.Duration, x float64) time.Duration {
	return time.Duration(float64(d) * x).Round(100 * time.Millisecond)
}

func (d *Demo) tell(s schedule) {
	d.say("The program: %s. It knows nothing of all this.\n", strings.Join(short(s.program.argv(s.size)), " "))
	d.say("It needs %.1f s of CPU time here, so alone it would take about as long. Its deadline is\n%.1f s after submission. After %.1f s %d other programs begin to compute on the processor of\n"+
		"%s: if it stays it gets a third of it and takes about %.0f s.\n",
		s.needs.Seconds(), s.deadline.Seconds(), s.loadAt.Seconds(), d.Others, Home, s.interrupted.Seconds())
}

// short leaves out the folders of a command.
func short(argv []string) []string {
	var list []string
	for _, a := range argv {
		list = append(list, filepath.Base(a))
	}
	return list
}

// once runs the program while others begin to compute on its processor.
func (d *Demo) once(ctx context.Context, b *Bed, name string, s schedule, adapt jobfile.Adapt) (*Course, error) {
	say := func(at float64, text string) { d.say("  %5.1f s  %s\n", at, text) }
	spec, err := b.job(&s.program, s.size, s.method)
	if err != nil {
		return nil, err
	}
	spec.Deadline, spec.Estimate, spec.Adapt = s.deadline, s.needs, adapt
	say(0, fmt.Sprintf("submitted; deadline %.1f s", s.deadline.Seconds()))
	c, err := b.Run(ctx, name, &spec, Others{d.Others, s.loadAt}, say)
	if err != nil {
		return nil, err
	}
	say(c.Took(), fmt.Sprintf("%s in %s, %s", strings.ToLower(c.Final.State.String()), c.Final.Cluster, margin(c)))
	return c, nil
}

// margin says how long before or after its deadline a job ended.
func margin(c *Course) string {
	if m := c.Deadline - c.Took(); m >= 0 {
		return fmt.Sprintf("%.1f s before its deadline", m)
	}
	return fmt.Sprintf("%.1f s after its deadline", c.Took()-c.Deadline)
}

// conclude prints both outcomes and draws the figure.
func (d *Demo) conclude(o *Outcome) error {
	d.say("\n%-26s %9s %9s  %-8s %5s  %s\n", "", "deadline", "done in", "met", "moves", "ended in")
	for _, c := range []*Course{o.With, o.Without} {
		met := "yes"
		if !c.Met() {
			met = "no"
		}
		d.say("%-26s %7.1f s %7.1f s  %-8s %5d  %s\n", c.Name, c.Deadline, c.Took(), met, len(c.Moves()), c.Final.Cluster)
	}
	if o.With.Output == o.Without.Output {
		d.say("Both wrote the same, byte for byte.\n")
	} else {
		return errors.New("the two runs wrote different things: the move was noticed by the program")
	}
	if !o.AsPromised() {
		d.say("This is not what was to be shown: %s\n", blame(o))
	}
	if d.Figure == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(d.Figure), 0o777); err != nil {
		return err
	}
	if err := save(d.Figure, endFigure(o.With, o.Without)); err != nil {
		return err
	}
	d.say("The predicted end over time, with its 90 %% band: %s\n", d.Figure)
	return nil
}

// blame says what went otherwise than promised.
func blame(o *Outcome) string {
	switch {
	case o.With.Met():
		return "the program met its deadline although nobody moved it."
	case len(o.With.Moves()) == 0:
		return "the program was not moved. Is this machine busy with other things?"
	}
	return "the program was moved and still came late. Is this machine busy with other things?"
}
