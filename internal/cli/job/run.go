package job

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The exit code of a shell for a program that wrote where nobody reads.
const exitBrokenPipe = 128 + int(syscall.SIGPIPE)

const runLong = `Runs a command as a job and waits for it: its output appears here, and godwit exits
with its exit code. The working directory is sent along, and files that changed are
copied back (--workdir none sends nothing). Your environment is passed on where the
account is yours; elsewhere only the variables that --env names. The program need
not be changed.

With a deadline the end of the job is predicted while it runs. When the chance of
meeting the deadline falls below --confidence, the job is checkpointed and migrated
to a cluster where the chance is better. For that it may run in a sandbox without
network, in which only its working directory and /tmp can be written; a program that
needs more is noticed, and started again without the sandbox. --checkpoint restart
never uses the sandbox.

Ctrl-C cancels the job: its program gets SIGTERM, and SIGKILL after a grace time
(--grace, 30 s), and what it wrote is copied back; a second Ctrl-C quits without
waiting. With --detach the number of the job is printed and it runs on by itself.

Standard input is sent along if it is a file or a pipe, as in: godwit run -- sort <
names.txt; up to its end, at most 1 GiB. In a loop that reads a file give -n, as
with ssh, or the job takes the rest of the file.

Exit codes: the job's own; 1 it could not be run; 2 wrong usage or bad input;
127 no such program, 126 not executable; 130 cancelled with Ctrl-C.`

const runExample = `  # A command as you would type it, after the two dashes
  godwit run -- python3 examples/jobs/pi.py 2000

  # With a deadline: its end is predicted, and it is migrated if need be
  godwit run --deadline 90s -- python3 examples/jobs/pi.py 2000

  # Progress read from what it prints makes the prediction better
  godwit run --deadline 90s --progress 'step (\d+)/(\d+)' -- \
      ./examples/jobs/burn 30

  # In the background; later: godwit logs -f ID, godwit wait ID
  godwit run --detach --procs 4 --on local -- ./solve mesh.dat

  # A job file, followed in the same way
  godwit run examples/jobs/pi.yaml`

type runFlags struct {
	job     jobFlags
	detach  bool
	noStdin bool
	output  string
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:     "run [flags] -- COMMAND ARGUMENTS…",
		Short:   "Run a command as a job, follow it, exit with its code",
		Long:    runLong,
		Example: runExample,

		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &badinput.Error{Field: cmd.CommandPath(),
					Want: "a command after --, such as: godwit run -- ./program input.dat"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := a.readJob(cmd, args, &f.job, true)
			if err != nil {
				return err
			}
			return a.runJob(cmd.Context(), f, job)
		},
	}
	out := term.NewGroup("Output")
	out.Flags.BoolVarP(&f.detach, "detach", "d", false, "print the job's number and return at once")
	out.Flags.BoolVarP(&f.noStdin, "no-stdin", "n", false, "do not send standard input along")
	term.OutputFlag(out.Flags, &f.output)
	out.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, append(f.job.flagGroups(), out)...)
	stopAtCommand(cmd.Flags())
	a.completeJobFlags(cmd)
	return cmd
}

// submitJob sends the work folder and hands the job in.
func (a *app) submitJob(ctx context.Context, c *api.Client, job *jobfile.Job, stdin string) ([]core.JobID, error) {
	work, err := a.sendWork(ctx, c, job)
	if err != nil {
		return nil, err
	}
	job.FixMoments(a.Now())
	if job.Key == "" {
		job.Key = newKey()
	}
	done, err := a.submitOnce(ctx, c, &api.Submit{Job: *job, Work: work, Stdin: stdin})
	if err == nil && len(done.IDs) == 0 {
		err = errors.New("the broker took the job and gave it no number")
	}
	return done.IDs, err
}

// newKey makes up the key of a submission.
func newKey() string { return "cli-" + rand.Text() }

// submitOnce hands a job in. If the broker goes away before it has answered nobody
// knows whether it took the job: it is submitted again with the same key, of which
// there is one job at most.
func (a *app) submitOnce(ctx context.Context, c *api.Client, s *api.Submit) (api.Submitted, error) {
	begin := a.Now()
	for {
		done, err := c.SubmitJob(ctx, s)
		if connect.WasAnswered(err) || ctx.Err() != nil || a.Now.Since(begin) > connect.StartTimeout {
			return done, err
		}
		a.toldAgain.Do(func() {
			a.SayLine("the broker went away before it answered: submitting the job again, under the same key")
		})
		clock.SleepContext(ctx, connect.RetryPause)
		if again, err := a.ConnectBroker(ctx); err == nil { // it starts a broker where there is none
			again.Close()
		}
	}
}

func (a *app) runJob(ctx context.Context, f *runFlags, job *jobfile.Job) error {
	if job.Array.Len() > 0 && !f.detach {
		return &badinput.Error{Field: "array",
			Problem: "godwit run follows a single job; use --detach, or godwit submit and godwit wait"}
	}
	c, err := a.ConnectBroker(ctx)
	if err != nil {
		return err
	}
	stdin := ""
	if !f.noStdin {
		stdin, err = a.sendStdin(ctx, c)
		job.Stdin = stdin != ""
	}
	var ids []core.JobID
	if err == nil {
		ids, err = a.submitJob(ctx, c, job, stdin)
	}
	if err != nil || f.detach {
		c.Close()
		if err == nil {
			err = a.printSubmitted(ids, f.output)
		}
		return err
	}
	return a.followRun(ctx, c, fmt.Sprint(ids[0]), f.output)
}

// followRun stays with a job that run submitted.
func (a *app) followRun(ctx context.Context, c *api.Client, id, output string) error {
	// A pipe that nobody reads any more is told by a failing write, so that the job
	// can be ended rather than left behind.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	v := a.newLiveView(id)
	first := c
	o := follow.Options{
		Connect: func(ctx context.Context) (*api.Client, error) {
			if c := first; c != nil {
				first = nil
				return c, nil
			}
			return a.ConnectBroker(ctx)
		},
		Job: id, See: v.showState, Again: v.redrawLines, Stdout: v.sharedStdout(a.Stdout), Stderr: v.sharedStderr(a.Stderr),
		Interrupted: func(ctx context.Context, c *api.Client) error {
			v.sayCancelling()
			job, err := c.CancelJob(ctx, id)
			if err == nil && job.Unreturned != "" {
				err = &unreturnedError{job}
			}
			return err
		},
	}
	if output == "json" { // stdout is for the result alone
		o.Stdout = o.Stderr
	}
	job, err := follow.JobToEnd(ctx, o)
	if err == nil && !v.heard {
		err = a.hearAfterwards(ctx, id, job, v)
	}
	v.closeScreen()
	var waiting *unreturnedError
	switch {
	case errors.As(err, &waiting):
		a.SayLine(cancelledText(&waiting.job))
		return term.ExitCode(term.ExitInterrupted)
	case errors.Is(err, follow.ErrOutput):
		a.SayLine("job " + id + " cancelled: nobody reads its output any more")
		return term.ExitCode(exitBrokenPipe)
	case err != nil:
		return fmt.Errorf("%w; job %s may still run, see godwit show %s", err, id, id)
	}
	return a.endOfRun(ctx, job, v, output)
}

// hearAfterwards shows what was decided for a job that was over, and forgotten by the loop of the broker, before it was
// followed.
func (a *app) hearAfterwards(ctx context.Context, id string, job *api.Job, v *liveView) error {
	return a.AskUntilAnswered(ctx, func(c *api.Client) error {
		list, err := c.ExplainJob(ctx, id)
		if err == nil {
			v.showState(&api.Live{Job: *job, News: list})
		}
		return err
	})
}

// unreturnedError says that a job is over whose results cannot be copied back at
// present: nobody who wants to leave waits for that.
type unreturnedError struct{ job api.Job }

func (e *unreturnedError) Error() string { return filesText(&e.job) }

// endOfRun says what there is to say about a job that was followed to its end.
func (a *app) endOfRun(ctx context.Context, job *api.Job, v *liveView, output string) error {
	if output == "json" {
		if err := term.WriteJSON(a.Stdout, job); err != nil {
			return err
		}
	}
	if text := v.endingText(job); text != "" {
		a.SayLine(text)
	}
	if ctx.Err() != nil {
		return term.ExitCode(term.ExitInterrupted)
	}
	return codeOf(job)
}

// codeOf is how godwit ends for a job that has ended.
func codeOf(job *api.Job) error {
	switch {
	case job.State == core.Done:
		return nil
	case job.ExitCode != nil && *job.ExitCode != 0:
		return term.ExitCode(*job.ExitCode)
	}
	return term.ExitCode(term.ExitFailed)
}

func (a *app) printSubmitted(ids []core.JobID, output string) error {
	if output == "json" {
		return term.WriteJSON(a.Stdout, map[string]any{"id": ids[0], "ids": ids})
	}
	if len(ids) > 1 {
		_, err := fmt.Fprintf(a.Stdout, "submitted array %d (%s)\n", ids[0], term.PluralNoun(int64(len(ids)), "job"))
		return err
	}
	_, err := fmt.Fprintln(a.Stdout, ids[0])
	return err
}
