package job

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/decision"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) explainCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain ID…",
		Short: "Say what was decided for a job, and why",
		Long: `Prints every decision taken for a job: when, what, why, and the numbers behind it;
for a waiting job, why it waits. Times count from submission.` + jobsHelp,
		Example: `  godwit explain 7
  godwit explain last
  godwit explain 7 -o json`,
		Args:              jobArguments,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error { return a.explainJobs(cmd.Context(), c, args, output) })
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func (a *app) explainJobs(ctx context.Context, c *api.Client, args []string, output string) error {
	jobs, err := selectJobs(ctx, c, args, false, true)
	if err != nil {
		return err
	}
	var all []api.Decision
	for i := range jobs {
		list, err := c.ExplainJob(ctx, jobRef(&jobs[i]))
		if err != nil {
			return err
		}
		if output == "json" {
			all = append(all, list...)
			continue
		}
		job, err := c.GetJob(ctx, jobRef(&jobs[i]))
		if err != nil {
			return err
		}
		if err := a.printStory(&job, list); err != nil {
			return err
		}
	}
	if output == "json" {
		return term.WriteJSON(a.Stdout, term.OrEmpty(all))
	}
	return nil
}

// printStory writes how a job is and one paragraph a decision: what, why, and the numbers.
func (a *app) printStory(j *api.Job, list []api.Decision) error {
	var b strings.Builder
	decision.WriteHeadline(a.App, &b, fmt.Sprintf("job %s %s: %s", jobLabel(j), j.Name, a.jobStanding(j)))
	decision.WriteDecisions(a.App, &b, list)
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// jobStanding says in one line how a job is, or how it ended.
func (a *app) jobStanding(j *api.Job) string {
	text := a.InColour(stateWord(j))
	if j.Cluster != "" {
		text += " on " + j.Cluster
	}
	if j.ExitCode != nil {
		text += ", exit code " + term.CodeText(j.ExitCode)
	}
	switch {
	case j.Deadline == nil:
	case j.DeadlineMet == nil:
		text += ", deadline " + a.MomentText(j.Deadline)
		if j.PDeadline != nil {
			text += " (chance " + term.ChanceText(j.PDeadline) + ")"
		}
	case j.Ended == nil:
		text += ", deadline missed"
	case isLate(j):
		text += ", " + term.FormatDuration(j.Ended.Sub(j.Deadline.Time).Seconds()) + " after its deadline"
	default:
		text += ", " + term.FormatDuration(j.Deadline.Sub(j.Ended.Time).Seconds()) + " before its deadline"
	}
	if j.State.IsWaiting() && j.Why != "" {
		text += ": " + j.Why
	}
	return text
}
