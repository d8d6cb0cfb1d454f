package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) waitCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "wait ID…",
		Short: "Wait for jobs to end, exit with their code",
		Long: `Waits until the jobs have ended and exits with the code of the job: that of the
first that did not end with 0 if there are several. Ctrl-C ends the waiting, not
the jobs.`,
		Example: `  godwit wait 7; echo $?
  godwit wait 7 8 9 -o json`,
		Args:              jobArguments,
		ValidArgsFunction: a.completeJobs,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.wait(cmd.Context(), args, output) },
	}
	groupFlags(cmd, outputGroup(&output))
	return cmd
}

func (a *app) wait(ctx context.Context, ids []string, output string) error {
	var jobs []*api.Job
	var failed error
	for _, id := range ids {
		v := a.newLiveView(id)
		job, err := follow.Job(ctx, follow.Options{Connect: a.connect, Job: id, See: v.see, Again: v.again})
		v.close()
		if err != nil {
			return err
		}
		if text := v.ending(job); text != "" {
			a.say(text)
		}
		if failed == nil {
			failed = codeOf(job)
		}
		jobs = append(jobs, job)
	}
	if output == "json" {
		var err error
		if len(jobs) == 1 {
			err = writeJSON(a.stdout, jobs[0])
		} else {
			err = writeJSON(a.stdout, jobs)
		}
		if err != nil {
			return err
		}
	}
	return failed
}

func (a *app) logsCommand() *cobra.Command {
	var output string
	var following bool
	cmd := &cobra.Command{
		Use:   "logs ID [-f]",
		Short: "Print what a job wrote",
		Long: `Prints what a job wrote so far: to stdout what it wrote to its stdout, to stderr
what it wrote to its stderr. With -f what it writes from now on as well, until it
ends.`,
		Example: `  godwit logs 7
  godwit logs -f 7`,
		Args:              jobArgument,
		ValidArgsFunction: a.completeJobs,

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if following {
				return a.followLogs(cmd.Context(), args[0])
			}
			return a.askBroker(cmd.Context(), func(c *api.Client) error { return a.logs(cmd.Context(), c, args[0], output) })
		},
	}
	g := outputGroup(&output)
	g.flags.BoolVarP(&following, "follow", "f", false, "go on until the job ends")
	groupFlags(cmd, g)
	return cmd
}

// logs prints both streams as they are now.
func (a *app) logs(ctx context.Context, c *api.Client, id, output string) error {
	var text [2]bytes.Buffer
	for i, to := range []io.Writer{a.stdout, a.stderr} {
		if output == "json" {
			to = &text[i]
		}
		if _, err := c.Logs(ctx, id, i+1, 0, false, to); err != nil {
			return err
		}
	}
	if output == "json" {
		return writeJSON(a.stdout, map[string]string{"stdout": text[0].String(), "stderr": text[1].String()})
	}
	return nil
}

func (a *app) followLogs(ctx context.Context, id string) error {
	_, err := follow.Job(ctx, follow.Options{Connect: a.connect, Job: id, Stdout: a.stdout, Stderr: a.stderr})
	if errors.Is(err, follow.ErrOutput) {
		return fmt.Errorf("job %s: %w", id, err)
	}
	return err
}
