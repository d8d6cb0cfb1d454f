package job

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (a *app) cancelCommand() *cobra.Command {
	var output string
	var now bool
	var f choice
	cmd := &cobra.Command{
		Use:   "cancel ID…|--all|--label NAME=VALUE [--now]",
		Short: "End jobs and everything they started",
		Long: `Ends jobs, waiting or running, with every process they started. A running program
gets SIGTERM first, and SIGKILL after a grace time: 30 s, or what the job says
(--grace, resources.grace) or the settings (intervals.grace). What it wrote until
then is copied back to its working directory, as partial results. The command
returns when nothing of the jobs is left and their files are back.

With --now programs are killed at once; their files are copied back all the same.
Given for a job that is being cancelled, and whose program was killed already,
--now gives its files up, for a cluster that cannot be reached.

A name cancels all jobs of that name.` + chooseHelp,
		Example: `  godwit cancel 7
  godwit cancel 7-9 83_[1-4]
  godwit cancel --label sweep=3
  godwit cancel --now --all`,
		Args:                  f.jobsOrFilter,
		ValidArgsFunction:     a.completeJobs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				jobs, err := f.chooseJobs(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				if len(jobs) == 0 {
					a.SayLine("no jobs to cancel")
				} else if goes, err := a.mayGoOn(&f, "cancel", jobs); err != nil || !goes {
					return err
				}
				return a.cancelAll(cmd.Context(), c, jobs, now, output)
			})
		},
	}
	how := term.NewGroup("How")
	how.Flags.BoolVar(&now, "now", false, "kill at once, without a grace time")
	term.GroupFlags(cmd, how, f.choiceGroup(), term.OutputGroup(&output))
	term.CompleteNames(cmd, "state", allStates())
	return cmd
}

// maxCancelledLines is the most jobs of which each gets a line.
const maxCancelledLines = 10

// maxCancelsAtOnce is how many jobs that wait are cancelled at once: an array may have
// a hundred thousand, and a user may not have as many connections.
const maxCancelsAtOnce = 200

// cancelAll cancels jobs all at once, so that their times of grace pass together.
func (a *app) cancelAll(ctx context.Context, c *api.Client, named []api.Job, now bool, output string) error {
	end := c.CancelJob
	if now {
		end = c.CancelNow
	}
	slow := time.AfterFunc(2*time.Second, func() {
		a.SayLine("waiting for the programs to end (SIGTERM sent) and for their files; --now ends them at once")
	})
	defer slow.Stop()
	type result struct {
		job api.Job
		err error
	}
	results := make([]chan result, len(named))
	queued := make(chan struct{}, maxCancelsAtOnce)
	for i := range named {
		results[i] = make(chan result, 1)
		go func() {
			if named[i].State == core.Submitted { // it has no program that takes its time to end
				queued <- struct{}{}
				defer func() { <-queued }()
			}
			job, err := end(ctx, jobRef(&named[i]))
			results[i] <- result{job, err}
		}()
	}
	jobs := make([]api.Job, 0, len(named))
	var failed error
	for i := range named {
		r := <-results[i]
		if r.err != nil {
			if failed == nil {
				failed = r.err
			}
			continue
		}
		jobs = append(jobs, r.job)
	}
	if output == "json" {
		if err := term.WriteJSON(a.Stdout, jobs); err != nil {
			return err
		}
		return failed
	}
	if len(jobs) > maxCancelledLines {
		if _, err := fmt.Fprintf(a.Stdout, "%s cancelled\n", term.PluralNoun(int64(len(jobs)), "job")); err != nil {
			return err
		}
		return failed
	}
	for i := range jobs {
		if _, err := fmt.Fprintln(a.Stdout, cancelledText(&jobs[i])); err != nil {
			return err
		}
	}
	return failed
}

// cancelledText says what became of a job that was cancelled.
func cancelledText(j *api.Job) string {
	text := fmt.Sprintf("job %s %s", jobLabel(j), stateWord(j))
	if more := filesText(j); more != "" {
		text += "; " + more
	}
	return text
}

// filesText says what became of the files of a job that did not run to its end, and
// of results that are not back; "": there is nothing to say.
func filesText(j *api.Job) string {
	switch {
	case j.Unreturned != "":
		return "results not copied back: " + j.Unreturned
	case j.FilesLost:
		return "what it wrote is lost"
	case j.Partial && j.State == core.Cancelled:
		return "partial results copied back"
	}
	return ""
}
