package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (a *app) waitCommand() *cobra.Command {
	var output string
	var all bool
	cmd := &cobra.Command{
		Use:   "wait ID…|--all",
		Short: "Wait for jobs to end, exit with their code",
		Long: `Waits until the jobs have ended and exits with the code of the job: that of the
first that did not end with 0 if there are several. Of several jobs a line each says
how it ended, and the last line which failed. Ctrl-C ends the waiting, not the jobs.` + jobsHelp,
		Example: `  godwit wait 7; echo $?
  godwit wait 7-9 -o json
  godwit wait 83`,
		Args:                  jobArguments,
		ValidArgsFunction:     a.completeJobs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			var jobs []api.Job
			err := a.AskUntilAnswered(cmd.Context(), func(c *api.Client) (err error) {
				jobs, err = selectJobs(cmd.Context(), c, args, all, false)
				return err
			})
			if err != nil {
				return err
			}
			return a.waitJobs(cmd.Context(), jobs, output)
		},
	}
	g := term.OutputGroup(&output)
	g.Flags.BoolVar(&all, "all", false, "all jobs that have not ended")
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) waitJobs(ctx context.Context, named []api.Job, output string) error {
	jobs := []*api.Job{}
	var code error
	var failed []string
	for i := range named {
		v := a.newLiveView(jobRef(&named[i]))
		job, err := follow.JobToEnd(ctx,
			follow.Options{Connect: a.ConnectBroker, Job: jobRef(&named[i]), See: v.showState, Again: v.redrawLines})
		v.closeScreen()
		if err != nil {
			return err
		}
		text := v.endingText(job)
		if len(named) > 1 {
			text = endOfOne(job)
		}
		if text != "" {
			a.SayLine(text)
		}
		if err := codeOf(job); err != nil {
			failed = append(failed, jobLabel(job))
			code = cmp.Or(code, err)
		}
		jobs = append(jobs, job)
	}
	if len(named) > 1 && len(failed) > 0 {
		a.SayLine(fmt.Sprintf("%d of %s failed: %s", len(failed), term.PluralNoun(int64(len(named)), "job"),
			strings.Join(failed, ", ")))
	}
	if output == "json" {
		var err error
		if len(jobs) == 1 {
			err = term.WriteJSON(a.Stdout, jobs[0])
		} else {
			err = term.WriteJSON(a.Stdout, jobs)
		}
		if err != nil {
			return err
		}
	}
	return code
}

// endOfOne says how one of several jobs ended.
func endOfOne(j *api.Job) string {
	text := "job " + jobLabel(j) + " (" + j.Name + ") " + stateWord(j)
	if j.State != core.Done && j.Why != "" {
		text += ": " + j.Why
	}
	if isLate(j) {
		text += ", missed its deadline by " + term.FormatDuration(j.Ended.Sub(j.Deadline.Time).Seconds())
	}
	return text
}

type logsFlags struct {
	output string
	follow bool
	tail   int
	part   int
	stream string // "": both
}

// logStreams are what a job writes, by the number of the stream less one.
var logStreams = []string{"stdout", "stderr"}

// checkStream refuses a stream that there is not.
func (f *logsFlags) checkStream() error {
	if f.stream == "" || slices.Contains(logStreams, f.stream) {
		return nil
	}
	return &badinput.Error{Field: "--stream", Value: f.stream, Want: "stdout or stderr"}
}

// shows reports whether a stream is wanted.
func (f *logsFlags) shows(stream int) bool { return f.stream == "" || logStreams[stream] == f.stream }

func (a *app) logsCommand() *cobra.Command {
	f := logsFlags{tail: -1}
	cmd := &cobra.Command{
		Use:   "logs ID… [-f] [--tail N]",
		Short: "Print what jobs wrote",
		Long: `Prints what jobs wrote so far: to stdout what they wrote to their stdout, to stderr
what they wrote to their stderr. With -f what a job writes from now on as well,
until it ends. Of several jobs a line before each says whose output follows; of
several jobs of one name it is the newest. Of a job of several parts it is what its
part 0 wrote; --part names another.` + jobsHelp,
		Example: `  godwit logs 7
  godwit logs -f last
  godwit logs --tail 20 83_[1-4]
  godwit logs --stream stderr 7`,
		Args:              jobArguments,
		ValidArgsFunction: a.completeJobs,

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				jobs, err := selectJobs(cmd.Context(), c, args, false, true)
				if err != nil {
					return err
				}
				return a.logsOf(cmd.Context(), c, jobs, &f)
			})
		},
	}
	g := term.OutputGroup(&f.output)
	g.Flags.BoolVarP(&f.follow, "follow", "f", false, "go on until the job ends")
	g.Flags.VarP(term.WholeNumberFlag(&f.tail, 0, 1<<30), "tail", "n", "only the last `N` lines; default: all")
	g.Flags.Lookup("tail").DefValue = "" // else the help says -1
	g.Flags.StringVar(&f.stream, "stream", "", "only this `STREAM`: stdout or stderr")
	g.Flags.Var(term.WholeNumberFlag(&f.part, 0, wire.MaxParts-1), "part", "of a job of several parts, that of part `N`")
	term.GroupFlags(cmd, g)
	term.CompleteNames(cmd, "stream", logStreams)
	return cmd
}

func (a *app) logsOf(ctx context.Context, c *api.Client, jobs []api.Job, f *logsFlags) error {
	if err := f.checkStream(); err != nil {
		return err
	}
	switch {
	case f.follow && len(jobs) > 1:
		return &badinput.Error{Field: "--follow", Problem: fmt.Sprintf("only with a single job, these are %d", len(jobs))}
	case f.follow && f.tail >= 0:
		return &badinput.Error{Field: "--tail", Problem: "not together with --follow"}
	case f.follow && f.part > 0:
		return &badinput.Error{Field: "--part", Problem: "not together with --follow"}
	case f.follow:
		return a.followLogs(ctx, jobRef(&jobs[0]), f)
	}
	texts := []map[string]string{}
	for i := range jobs {
		if len(jobs) > 1 && f.output != "json" {
			if _, err := fmt.Fprintf(a.Stdout, "==> job %s (%s) <==\n", jobLabel(&jobs[i]), jobs[i].Name); err != nil {
				return err
			}
		}
		text, err := a.printLogs(ctx, c, jobRef(&jobs[i]), f)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	switch {
	case f.output != "json":
		return nil
	case len(texts) == 1:
		return term.WriteJSON(a.Stdout, texts[0])
	}
	return term.WriteJSON(a.Stdout, texts)
}

// printLogs prints both streams as they are now, or returns them for JSON.
func (a *app) printLogs(ctx context.Context, c *api.Client, id string, f *logsFlags) (map[string]string, error) {
	var text [2]bytes.Buffer
	for i, to := range []io.Writer{a.Stdout, a.Stderr} {
		if !f.shows(i) {
			continue
		}
		if f.output == "json" {
			to = &text[i]
		}
		last := &lastLines{to: to, most: f.tail}
		if _, err := c.CopyPartLogs(ctx, id, f.part, i+1, 0, false, last); err != nil {
			return nil, err
		}
		if err := last.flushLines(); err != nil {
			return nil, err
		}
	}
	return map[string]string{"id": id, "stdout": text[0].String(), "stderr": text[1].String()}, nil
}

// lastLines passes on the last lines of what is written to it; all of it if most
// is negative.
type lastLines struct {
	to    io.Writer
	most  int
	lines [][]byte // the last one may go on
}

func (l *lastLines) Write(p []byte) (int, error) {
	if l.most < 0 {
		return l.to.Write(p)
	}
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		if k := len(l.lines) - 1; k >= 0 && !bytes.HasSuffix(l.lines[k], []byte("\n")) {
			l.lines[k] = append(l.lines[k], rest[:n]...)
		} else {
			l.lines = append(l.lines, bytes.Clone(rest[:n]))
		}
		rest = rest[n:]
		if len(l.lines) > l.most {
			l.lines = l.lines[len(l.lines)-l.most:]
		}
	}
	return len(p), nil
}

func (l *lastLines) flushLines() error {
	_, err := l.to.Write(bytes.Join(l.lines, nil))
	return err
}

func (a *app) followLogs(ctx context.Context, id string, f *logsFlags) error {
	streams := []io.Writer{a.Stdout, a.Stderr}
	for i := range streams {
		if !f.shows(i) {
			streams[i] = io.Discard
		}
	}
	_, err := follow.JobToEnd(ctx, follow.Options{Connect: a.ConnectBroker, Job: id, Stdout: streams[0],
		Stderr: streams[1]})
	if errors.Is(err, follow.ErrOutput) {
		return fmt.Errorf("job %s: %w", id, err)
	}
	return err
}
