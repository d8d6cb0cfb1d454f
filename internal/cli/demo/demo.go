// Package demo shows on one machine what the broker is for: a program with a
// deadline runs on one of two clusters, other programs begin to compete for its
// core, and it is migrated in time; then the same without migration. The broker is
// the real one, the clusters are two cores of this machine. Everything is sized by
// what the machine gives at that moment, which is measured first, so that the
// story is the same on an idle machine and on a busy one. It must not know how
// the broker decides: it asks over the same socket as everybody else.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/experiment/testbed"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// Demo is what a user can choose.
type Demo struct {
	Out    io.Writer // the story
	Figure string    // file for the figure; "": none
	Agent  []string  // command of an agent; nil: this program
	Tries  int       // how often it is begun anew if the machine became busier or idler meanwhile
	Alone  time.Duration
}

// Default is a demo of less than a minute.
func Default() Demo { return Demo{Tries: 3, Alone: 6 * time.Second} }

// Run is how one of the two runs went.
type Run struct {
	Name       string  `json:"name"`
	DeadlineS  float64 `json:"deadline_s"`
	TookS      float64 `json:"took_s"` // from submission to the end
	Met        bool    `json:"deadline_met"`
	Migrations int     `json:"migrations"`
	Cluster    string  `json:"cluster"` // where it ended

	output string
	record testbed.Record // for the figure
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

// Names of the two clusters.
const (
	east = "east"
	west = "west"
)

// sampleInterval is how often the broker looks at the job.
const sampleInterval = 200 * time.Millisecond

// bed is the testbed, and the folder of the program.
type bed struct {
	*testbed.Testbed
	work string
}

func openBed(ctx context.Context, agent []string) (*bed, error) {
	t, err := testbed.Open(ctx, testbed.Options{Clusters: [2]string{east, west}, Agent: agent, Sample: sampleInterval})
	if err != nil {
		return nil, err
	}
	work, err := installProgram(t.Dir)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return &bed{t, work}, nil
}

// job is the program as a job.
func (b *bed) job(steps int, method string) jobfile.Job {
	job := testbed.NewJob("pi", []string{shell, scriptName, strconv.Itoa(steps)}, method)
	job.Workdir, job.Progress = b.work, progressPattern
	return job
}

// Play tells the story. Where the machine became much busier or idler after it was
// measured, it is told so and the demo begins anew; the error is that of the last try.
func (d *Demo) Play(ctx context.Context) (result *Result, err error) {
	for try := 1; ; try++ {
		result, err = d.try(ctx)
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
func (d *Demo) method(ctx context.Context, b *bed) (string, error) {
	clusters, err := b.Client.Clusters(ctx)
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

// try measures, runs the program with and without migration, and sums up. Its broker is
// new: one of before would count what a checkpoint cost under another load.
func (d *Demo) try(ctx context.Context) (result *Result, err error) {
	b, err := openBed(ctx, d.Agent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	d.say("Two clusters on this machine, one core each: %s (core %d) and %s (core %d).\n", east, b.Core[east], west, b.Core[west])
	method, err := d.method(ctx, b)
	if err != nil {
		return nil, err
	}
	d.say("Measuring what this machine gives right now ...\n")
	m, err := b.measure(ctx, method)
	if err != nil {
		return nil, err
	}
	p := planRuns(m, d.Alone, method)
	d.introduce(&p)
	result = &Result{Program: command(p.steps)}
	d.say("\n1. With migration\n")
	if result.With, err = d.run(ctx, b, &p, "with migration", jobfile.AdaptAuto); err != nil {
		return nil, err
	}
	d.say("\n2. The same again, without migration\n")
	if result.Without, err = d.run(ctx, b, &p, "without migration", jobfile.AdaptOff); err != nil {
		return nil, err
	}
	result.SameOutput = result.With.output == result.Without.output
	d.conclude(result)
	return result, nil
}

func (d *Demo) introduce(p *plan) {
	d.say("\nThe program is %q, unmodified; alone it takes about %.1f s here now.\n", command(p.steps), p.alone)
	priority := ""
	if isRoot() {
		priority = " with higher priority"
	}
	d.say("Its deadline is %.1f s after submission. When it is %.0f %% done, %s on its\n"+
		"core%s, and it computes %.0f times slower.\n", p.deadline.Seconds(), 100*p.loadAt, startOf(p.competitors), priority, p.slowdown())
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
	f := plot.Grid(1, 2, testbed.EndCharts(&r.With.record, &r.Without.record)...)
	f.CellWidth, f.CellHeight = 380, 260
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	if err := outfile.WriteAll(d.Figure, svg.Bytes()); err != nil {
		return err
	}
	d.say("Predicted end of the job over time, with its 90 %% interval: %s\n", d.Figure)
	return nil
}
