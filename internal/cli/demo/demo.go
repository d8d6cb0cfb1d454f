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

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
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

// DefaultDemo is a demo of less than a minute.
func DefaultDemo() Demo { return Demo{Tries: 3, Alone: 6 * time.Second} }

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

// promiseFailure says what is not as the demo promises; nil if nothing is.
func (r *Result) promiseFailure() error {
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

// newJob is the program as a job.
func (b *bed) newJob(steps int, method string) jobfile.Job {
	job := testbed.NewJob("pi", []string{shell, scriptName, strconv.Itoa(steps)}, method)
	job.Workdir, job.Progress = b.work, progressPattern
	return job
}

// PlayStory tells the story. Where the machine became much busier or idler after it was
// measured, it is told so and the demo begins anew; the error is that of the last try.
func (d *Demo) PlayStory(ctx context.Context) (result *Result, err error) {
	for try := 1; ; try++ {
		result, err = d.playOnce(ctx)
		if err != nil {
			return nil, err
		}
		result.Tries = try
		if err = result.promiseFailure(); err == nil || try >= d.Tries || !result.SameOutput {
			break
		}
		d.sayLine("\n%s. The load of this machine may have changed since it was measured.\nOnce more, from the measurement "+
			"on.\n\n",
			capitalizeFirst(strings.TrimPrefix(err.Error(), "demo failed: ")))
	}
	if err != nil {
		return result, err
	}
	return result, d.drawFigure(result)
}

func capitalizeFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func (d *Demo) sayLine(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, format, args...) // nobody is left to tell
}

// saveMethod is how the program can be saved here: in the sandbox, or not at all.
func (d *Demo) saveMethod(ctx context.Context, b *bed) (string, error) {
	clusters, err := b.Client.ListClusters(ctx)
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
	d.sayLine("Checkpoints of unmodified programs do not work here (godwit doctor says why): the\n" +
		"program starts from the beginning where it is migrated to.\n")
	return methodRestart, nil
}

// Checkpoint methods of the job.
const (
	methodSandbox = "sandbox"
	methodRestart = "restart"
)

// playOnce measures, runs the program with and without migration, and sums up. Its broker is
// new: one of before would count what a checkpoint cost under another load.
func (d *Demo) playOnce(ctx context.Context) (result *Result, err error) {
	b, err := openBed(ctx, d.Agent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	d.sayLine("Two clusters on this machine, one core each: %s (core %d) and %s (core %d).\n", east, b.Core[east], west,
		b.Core[west])
	method, err := d.saveMethod(ctx, b)
	if err != nil {
		return nil, err
	}
	d.sayLine("Measuring what this machine gives right now ...\n")
	m, err := b.measureRates(ctx, method)
	if err != nil {
		return nil, err
	}
	p := planRuns(m, d.Alone, method)
	d.introducePlan(&p)
	result = &Result{Program: commandLine(p.steps)}
	d.sayLine("\n1. With migration\n")
	if result.With, err = d.runProgram(ctx, b, &p, "with migration", jobfile.AdaptAuto); err != nil {
		return nil, err
	}
	d.sayLine("\n2. The same again, without migration\n")
	if result.Without, err = d.runProgram(ctx, b, &p, "without migration", jobfile.AdaptOff); err != nil {
		return nil, err
	}
	result.SameOutput = result.With.output == result.Without.output
	d.concludeRuns(result)
	return result, nil
}

func (d *Demo) introducePlan(p *plan) {
	d.sayLine("\nThe program is %q, unmodified; alone it takes about %.1f s here now.\n", commandLine(p.steps), p.alone)
	priority := ""
	if isRoot() {
		priority = " with higher priority"
	}
	d.sayLine("Its deadline is %.1f s after submission. When it is %.0f %% done, %s on its\n"+
		"core%s, and it computes %.0f times slower.\n", p.deadline.Seconds(), 100*p.loadAt, startOf(p.competitors), priority,
		p.expectedSlowdown())
}

func (d *Demo) concludeRuns(r *Result) {
	d.sayLine("\n%-19s %9s %9s   %-13s %s\n", "", "deadline", "done in", "deadline met", "migrations")
	for _, run := range []*Run{&r.With, &r.Without} {
		met := "no"
		if run.Met {
			met = "yes"
		}
		d.sayLine("%-19s %7.1f s %7.1f s   %-13s %d\n", run.Name, run.DeadlineS, run.TookS, met, run.Migrations)
	}
	if r.SameOutput {
		d.sayLine("The output of both runs is identical.\n")
	}
}

// drawFigure makes the figure, if one is wanted.
func (d *Demo) drawFigure(r *Result) error {
	if d.Figure == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(d.Figure), 0o777); err != nil {
		return err
	}
	f := plot.NewGrid(1, 2, testbed.EndCharts(&r.With.record, &r.Without.record)...)
	f.CellWidth, f.CellHeight = 380, 260
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	if err := outfile.WriteAll(d.Figure, svg.Bytes()); err != nil {
		return err
	}
	d.sayLine("Predicted end of the job over time, with its 90 %% interval: %s\n", d.Figure)
	return nil
}
