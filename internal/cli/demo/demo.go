// Package demo shows on one machine what the broker is for: a program with a
// deadline runs on one of two clusters, other programs begin to compete for its
// core, and it is migrated in time; then the same without migration. The broker is
// the real one, the clusters are two cores of this machine. Everything is sized by
// what the machine gives at that moment, which is measured first, so that the
// story is the same on an idle machine and on a busy one. It must not know how
// the broker decides: it asks over the same socket as everybody else.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// Demo is what a user can choose.
type Demo struct {
	Out    io.Writer // the story
	Figure string    // file for the figure; "": none
	Agent  []string  // command of an agent; nil: this program
	Tries  int       // how often it is begun anew if the machine became busier or idler meanwhile
	Alone  time.Duration
}

// Default is a demo of a minute or two.
func Default() Demo { return Demo{Tries: 3, Alone: 7 * time.Second} }

// Run is how one of the two runs went.
type Run struct {
	Name       string  `json:"name"`
	DeadlineS  float64 `json:"deadline_s"`
	TookS      float64 `json:"took_s"` // from submission to the end
	Met        bool    `json:"deadline_met"`
	Migrations int     `json:"migrations"`
	Cluster    string  `json:"cluster"` // where it ended

	output string
	loadAt float64
	points []point
	moves  []float64
}

// Result is the outcome of the demo.
type Result struct {
	Program    string `json:"program"`
	Tries      int    `json:"tries"`
	With       Run    `json:"with_migration"`
	Without    Run    `json:"without_migration"`
	SameOutput bool   `json:"same_output"`
}

// failure says what is not as the demo promises; nil if nothing is.
func (r *Result) failure() error {
	switch {
	case !r.SameOutput:
		return errors.New("demo failed: the outputs of the two runs differ")
	case r.With.Migrations == 0:
		return errors.New("demo failed: the job was not migrated")
	case !r.With.Met:
		return errors.New("demo failed: the deadline was missed")
	case r.Without.Met:
		return errors.New("demo failed: the deadline was met without migration")
	}
	return nil
}

// Play tells the story. Where the machine became much busier or idler after it was
// measured, it is told so and the demo begins anew; the error is that of the last try.
func (d *Demo) Play(ctx context.Context) (result *Result, err error) {
	bed, err := openTestbed(ctx, d.Agent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.close()) }()
	prog, err := installProgram(bed.dir)
	if err != nil {
		return nil, err
	}
	d.say("Two clusters on this machine, one core each: %s (core %d) and %s (core %d).\n", east, bed.core[east], west, bed.core[west])
	method, err := d.method(ctx, bed)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		result, err = d.try(ctx, bed, prog, method)
		if err != nil {
			return nil, err
		}
		result.Tries = try
		if err = result.failure(); err == nil || try >= d.Tries || !result.SameOutput {
			break
		}
		d.say("\n%s. The load of this machine may have changed since it was measured.\nOnce more, from the measurement on.\n\n",
			capital(strings.TrimPrefix(err.Error(), "demo failed: ")))
	}
	if err != nil {
		return result, err
	}
	return result, d.draw(result)
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func (d *Demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, format, args...) // nobody is left to tell
}

// method is how the program can be saved here: in the sandbox, or not at all.
func (d *Demo) method(ctx context.Context, bed *testbed) (string, error) {
	clusters, err := bed.client.Clusters(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range clusters {
		for _, m := range c.Methods {
			if m == methodSandbox {
				return m, nil
			}
		}
	}
	d.say("Checkpoints of unmodified programs do not work here (godwit doctor says why): the\n" +
		"program starts from the beginning where it is migrated to.\n")
	return methodRestart, nil
}

// Checkpoint methods of the job.
const (
	methodSandbox = "sandbox"
	methodRestart = "restart"
)

// try measures, runs the program with and without migration, and sums up.
func (d *Demo) try(ctx context.Context, bed *testbed, prog *program, method string) (*Result, error) {
	d.say("Measuring what this machine gives right now ...\n")
	m, err := bed.measure(ctx, prog, method)
	if err != nil {
		return nil, err
	}
	p := planRuns(m, d.Alone, method)
	d.introduce(prog, &p)
	result := &Result{Program: prog.command(p.steps)}
	d.say("\n1. With migration\n")
	if result.With, err = d.run(ctx, bed, prog, &p, "with migration", jobfile.AdaptAuto); err != nil {
		return nil, err
	}
	d.say("\n2. The same again, without migration\n")
	if result.Without, err = d.run(ctx, bed, prog, &p, "without migration", jobfile.AdaptOff); err != nil {
		return nil, err
	}
	result.SameOutput = result.With.output == result.Without.output
	d.conclude(result)
	return result, nil
}

func (d *Demo) introduce(prog *program, p *plan) {
	d.say("\nThe program is %q, unmodified; alone it takes about %.1f s here now.\n", prog.command(p.steps), p.alone)
	d.say("Its deadline is %.1f s after submission. When it is %.0f %% done, %d other programs start on\n"+
		"its core, and it computes %.0f times slower.\n", p.deadline.Seconds(), 100*p.loadAt, p.competitors, p.slowdown())
}

func (d *Demo) conclude(r *Result) {
	d.say("\n%-19s %9s %9s   %-13s %s\n", "", "deadline", "done in", "deadline met", "migrations")
	for _, run := range []*Run{&r.With, &r.Without} {
		met := "no"
		if run.Met {
			met = "yes"
		}
		d.say("%-19s %7.1f s %7.1f s   %-13s %d\n", run.Name, run.DeadlineS, run.TookS, met, run.Migrations)
	}
	if r.SameOutput {
		d.say("The output of both runs is identical.\n")
	}
}

// draw makes the figure, if one is wanted.
func (d *Demo) draw(r *Result) error {
	if d.Figure == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(d.Figure), 0o777); err != nil {
		return err
	}
	if err := drawRuns(d.Figure, &r.With, &r.Without); err != nil {
		return err
	}
	d.say("Predicted end of the job over time, with its 90 %% interval: %s\n", d.Figure)
	return nil
}

// secondsBetween is 0 if one of the moments is not known.
func secondsBetween(from, to *api.Time) float64 {
	if from == nil || to == nil {
		return 0
	}
	return to.Sub(from.Time).Seconds()
}
