package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

const wantJob = "the number of a job; godwit ps lists them"

// jobArgument wants the number of one job.
func jobArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return &badinput.Error{Field: cmd.CommandPath(), Value: args[1], Want: "one job"}
	}
	return jobArguments(cmd, args)
}

// jobArguments wants the numbers of some.
func jobArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &badinput.Error{Field: cmd.CommandPath(), Want: wantJob}
	}
	return nil
}

// completeJobs offers the numbers of the jobs there are, if a broker runs.
func (a *app) completeJobs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c := runningBroker()
	if c == nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	jobs, err := c.Jobs(cmd.Context(), false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for i := range jobs {
		list = append(list, fmt.Sprintf("%d\t%s %s", jobs[i].ID, jobs[i].Name, strings.ToLower(jobs[i].State.String())))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) psCommand() *cobra.Command {
	var output string
	var all, users bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List the jobs",
		Long: `Lists the jobs that wait or run, and those that ended last; with --all every job
that is still remembered.

Of a broker that several users share you see your own jobs; root sees those of all
with --all-users.`,
		Example: `  godwit ps
  godwit ps --all -o json
  sudo godwit ps --all-users`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.askBroker(cmd.Context(), func(c *api.Client) error {
				list := c.Jobs
				if users {
					list = c.JobsOfAll
				}
				jobs, err := list(cmd.Context(), all)
				if err != nil {
					return err
				}
				if output == "json" {
					return writeJSON(a.stdout, orEmpty(jobs))
				}
				return a.printJobs(jobs, users)
			})
		},
	}
	g := outputGroup(&output)
	g.flags.BoolVarP(&all, "all", "a", false, "also those that ended long ago")
	g.flags.BoolVar(&users, "all-users", false, "those of all users, for root")
	groupFlags(cmd, g)
	return cmd
}

func (a *app) printJobs(jobs []api.Job, users bool) error {
	if len(jobs) == 0 {
		a.say("no jobs; godwit run -- COMMAND makes one")
		return nil
	}
	t := newTable("job", "name", "state", "cluster", "submitted", "ran", "done", "ends", "by", "in time", "code", "").right(0, 5, 6, 9, 10)
	if users {
		t = newTable("job", "user", "name", "state", "cluster", "submitted", "ran", "done", "ends", "by", "in time", "code", "").right(0, 6, 7, 10, 11)
	}
	for i := range jobs {
		j := &jobs[i]
		ends := j.PredictedEnd
		if j.Ended != nil {
			ends = j.Ended
		}
		row := []string{fmt.Sprint(j.ID)}
		if users {
			row = append(row, j.User)
		}
		t.add(append(row, nameText(j), strings.ToLower(j.State.String()), orDash(j.Cluster), a.momentText(j.Submitted), duration(j.WallS),
			partText(j.Progress), a.momentText(ends), a.momentText(j.Deadline), inTime(j), codeText(j.ExitCode), whyText(j))...)
	}
	return t.print(a.stdout, a.width())
}

func nameText(j *api.Job) string {
	if j.Index != nil {
		return fmt.Sprintf("%s[%d]", j.Name, *j.Index)
	}
	return j.Name
}

// inTime is whether the deadline was met, or the chance that it will be.
func inTime(j *api.Job) string {
	switch {
	case j.Deadline == nil:
		return unknown
	case j.DeadlineMet != nil && *j.DeadlineMet:
		return "yes"
	case j.DeadlineMet != nil:
		return "no"
	}
	return chanceText(j.PDeadline)
}

// whyText says why a job waits or failed; of others there is nothing to say.
func whyText(j *api.Job) string {
	if j.State.Waiting() || j.Over() && (j.ExitCode == nil || *j.ExitCode != 0) {
		return j.Why
	}
	return ""
}

func (a *app) showCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one job",
		Long:  "Shows how one job is doing, or how it ended.",
		Example: `  godwit show 7
  godwit show 7 -o json`,
		Args:              jobArgument,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askBroker(cmd.Context(), func(c *api.Client) error {
				job, err := c.Job(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if output == "json" {
					return writeJSON(a.stdout, job)
				}
				return a.printJob(&job)
			})
		},
	}
	groupFlags(cmd, outputGroup(&output))
	return cmd
}

func (a *app) printJob(j *api.Job) error {
	var t rows
	t.add("state", "%s", sentence(strings.ToLower(j.State.String()), j.Why))
	t.add("command", "%s", strings.Join(j.Command, " "))
	if j.Cluster != "" {
		t.add("cluster", "%s", strings.TrimSpace(j.Cluster+" "+strings.Join(j.Hosts, " ")))
	}
	t.add("submitted", "%s", a.momentText(j.Submitted))
	if j.Started != nil {
		t.add("started", "%s, %s", a.momentText(j.Started), plural(int64(j.Attempts), "attempt"))
	}
	if j.Ended != nil {
		t.add("ended", "%s with code %s", a.momentText(j.Ended), codeText(j.ExitCode))
	}
	if j.Progress != nil {
		t.add("progress", "%s", partText(j.Progress))
	}
	if j.PredictedEnd != nil && j.Ended == nil {
		text := a.momentText(j.PredictedEnd)
		if j.EndEarly != nil && j.EndLate != nil {
			text += ", in 9 of 10 cases between " + a.momentText(j.EndEarly) + " and " + a.momentText(j.EndLate)
		}
		t.add("expected end", "%s", text)
	}
	if j.Deadline != nil {
		text := "met: "
		if j.DeadlineMet == nil {
			text = "in time: "
		}
		t.add("deadline", "%s, %s%s", a.momentText(j.Deadline), text, inTime(j))
	}
	memory := bytesText(j.Peak) + " of memory at most"
	if j.Ended == nil {
		memory = bytesText(j.Memory) + " of memory now, " + memory
	}
	t.add("used", "%s of CPU in %s, %s", duration(j.CPUS), duration(j.WallS), memory)
	for _, w := range j.Warnings {
		t.add("warning", "%s", w)
	}
	t.add("checkpoints", "%d by %s", j.Checkpoints, orDash(j.Method))
	t.add("moves", "%d", j.Migrations)
	var b strings.Builder
	fmt.Fprintf(&b, "job %d %s (%s)\n", j.ID, nameText(j), j.UID)
	t.write(&b)
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}
