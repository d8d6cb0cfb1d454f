package adaptive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godwit-hpc/godwit/internal/jobfile"
)

// Demo is a program with a deadline, and others that begin to compute where it
// runs.
type Demo struct {
	Program   []string      // the command
	Needs     time.Duration // CPU time of it on the reference host
	Deadline  time.Duration
	LoadAfter time.Duration
	Others    int    // programs that begin to compute then
	Method    string // checkpoint method
}

// Play runs the demo twice, with the adaptive service and without, and tells
// what happens.
func (d *Demo) Play(ctx context.Context, b *Bed, out io.Writer) (with, without *Course, err error) {
	spec := jobfile.Job{Name: "demo", Argv: d.Program, Min: 1, Max: 1, Deadline: d.Deadline, Estimate: d.Needs, Confidence: jobfile.DefaultConfidence,
		Retries: jobfile.DefaultRetries, On: nil, Checkpoint: jobfile.Checkpoint{Method: d.Method, Every: jobfile.Never}}
	fmt.Fprintf(out, "\nWith the adaptive service:\n")
	if with, err = d.once(ctx, b, "with the adaptive service", spec, out); err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(out, "\nThe same again, but nobody may move it:\n")
	spec.Adapt = jobfile.AdaptOff
	without, err = d.once(ctx, b, "without", spec, out)
	return with, without, err
}

// once runs the program while others begin to compute on its processor.
func (d *Demo) once(ctx context.Context, b *Bed, name string, spec jobfile.Job, out io.Writer) (*Course, error) {
	say := func(at float64, text string) { fmt.Fprintf(out, "  %5.1f s  %s\n", at, text) }
	say(0, fmt.Sprintf("submitted: needs %s of CPU time, deadline %s", d.Needs, d.Deadline))
	var load *Load
	acts := []Act{{After: d.LoadAfter, Do: func() (err error) {
		say(d.LoadAfter.Seconds(), fmt.Sprintf("%d other programs begin to compute on the same processor", d.Others))
		load, err = StartLoad(b.CPU[Home], d.Others)
		return err
	}}}
	c, err := b.Run(ctx, name, &spec, acts, say)
	if load != nil {
		err = errors.Join(err, load.Stop())
	}
	if err != nil {
		return nil, err
	}
	c.LoadAt = d.LoadAfter.Seconds()
	say(c.Took(), outcome(c))
	return c, nil
}

func outcome(c *Course) string {
	margin := c.Deadline - c.Took()
	if c.Met() {
		return fmt.Sprintf("done, %.1f s before its deadline", margin)
	}
	return fmt.Sprintf("%s, %.1f s after its deadline", c.Final.State, -margin)
}
