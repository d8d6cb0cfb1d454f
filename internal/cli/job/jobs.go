package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/decision"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobref"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// jobArguments wants some jobs, or --all.
func jobArguments(cmd *cobra.Command, args []string) error {
	if all := cmd.Flags().Lookup("all"); len(args) == 0 && (all == nil || all.Value.String() != "true") {
		return &badinput.Error{Problem: cmd.CommandPath() + " needs " + jobref.WantedForms}
	}
	return nil
}

// jobsHelp is the part of the help of commands that take jobs.
const jobsHelp = `

A job is named by its number (83), a range (80-83), a list (80,81), its name, or
last. The number of an array means all of its jobs, 83_3 one of them, 83_[1-4]
several. all are those that have not ended.`

// selectJobs finds the jobs that the arguments name; all stands for --all.
func selectJobs(ctx context.Context, c *api.Client, args []string, all, newest bool) ([]api.Job, error) {
	if all {
		args = append(slices.Clone(args), "all")
	}
	return c.SelectJobs(ctx, args, newest)
}

// jobRef is the number of a job as a request names it.
func jobRef(j *api.Job) string { return fmt.Sprint(j.ID) }

// jobLabel is a job as people name it: 7, or 83_3 for one of an array.
func jobLabel(j *api.Job) string {
	if j.Array != 0 && j.Index != nil {
		return fmt.Sprintf("%d_%d", j.Array, *j.Index)
	}
	return fmt.Sprint(j.ID)
}

// completeJobs offers the numbers of the jobs there are, if a broker runs.
func (a *app) completeJobs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c := connect.RunningBroker()
	if c == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	jobs, err := c.ListJobs(cmd.Context(), false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for i := range jobs {
		list = append(list, fmt.Sprintf("%s\t%s %s", jobLabel(&jobs[i]), jobs[i].Name, stateWord(&jobs[i])))
	}
	list = append(list, "last\tthe job submitted last", "all\tall that have not ended")
	return list, cobra.ShellCompDirectiveNoFileComp
}

type psFlags struct {
	output     string
	all, users bool
	states     []string
	labels     []string
	columns    []string
	sort       string
}

func (a *app) psCommand() *cobra.Command {
	var f psFlags
	cmd := &cobra.Command{
		Use:   "ps [STATE|ID…]",
		Short: "List the jobs",
		Long: `Lists the jobs that wait or run, and those that ended last; with --all every job
that is still remembered. A state as argument, or with --state, lists all jobs in
that state; jobs as arguments list those.

Of a broker that several users share you see your own jobs; root sees those of all
with --all-users.` + jobsHelp,
		Example: `  godwit ps
  godwit ps failed
  godwit ps --state pending,running
  godwit ps 80-83
  godwit ps --label sweep=3 --columns id,name,why
  godwit ps --all --sort -cpu
  godwit ps --all -o json
  sudo godwit ps --all-users`,
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			jobs, how := a.completeJobs(cmd, args, word)
			return append(allStates(), jobs...), how
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.listJobs(cmd.Context(), &f, args) },
	}
	g := term.OutputGroup(&f.output)
	g.Flags.BoolVarP(&f.all, "all", "a", false, "also those that ended long ago")
	g.Flags.StringSliceVar(&f.states, "state", nil, "only jobs in these `STATES`: pending, running, completed, failed, …")
	g.Flags.StringArrayVar(&f.labels, "label", nil, "only jobs with this label, `NAME=VALUE`; several: with all of them")
	g.Flags.StringSliceVar(&f.columns, "columns", nil, "print these `COLUMNS`: "+strings.Join(columnNames(), ", "))
	g.Flags.StringVar(&f.sort, "sort", "", "order by a `COLUMN`; -COLUMN: the largest first (newest first)")
	g.Flags.BoolVar(&f.users, "all-users", false, "those of all users, for root")
	term.GroupFlags(cmd, g)
	term.CompleteNames(cmd, "state", allStates())
	term.CompleteNames(cmd, "columns", columnNames())
	term.CompleteNames(cmd, "sort", columnNames())
	return cmd
}

func (a *app) listJobs(ctx context.Context, f *psFlags, args []string) error {
	states, refs := f.states, []string(nil)
	for _, arg := range args {
		if isState(arg) {
			states = append(states, arg)
		} else {
			refs = append(refs, arg)
		}
	}
	wanted, err := parseLabels(f.labels, false)
	if err = cmp.Or(checkStates(states), err, checkColumns(f)); err != nil {
		return err
	}
	return a.AskBroker(ctx, func(c *api.Client) error {
		var jobs []api.Job
		var err error
		isOfLive := func(state string) bool { return state == heldWord || state == suspendedWord }
		all := f.all || slices.ContainsFunc(states, func(state string) bool { return !isOfLive(state) })
		switch {
		case len(refs) > 0:
			jobs, err = c.SelectJobs(ctx, refs, false)
		case f.users:
			jobs, err = c.JobsOfAll(ctx, all)
		default:
			jobs, err = c.ListJobs(ctx, all)
		}
		if err != nil {
			return err
		}
		if len(states) > 0 {
			jobs = slices.DeleteFunc(jobs, func(j api.Job) bool { return !inState(&j, states) })
		}
		if len(wanted) > 0 {
			jobs = slices.DeleteFunc(jobs, func(j api.Job) bool { return !hasLabels(&j, wanted) })
		}
		sortJobs(jobs, f.sort)
		if f.output == "json" {
			return term.WriteJSON(a.Stdout, term.OrEmpty(jobs))
		}
		if len(f.columns) > 0 {
			return a.printColumns(jobs, f.columns)
		}
		if len(jobs) == 0 && len(states) > 0 {
			a.SayLine("no jobs are " + term.JoinWords(states))
			return nil
		}
		return a.printJobs(jobs, f.users)
	})
}

func (a *app) printJobs(jobs []api.Job, users bool) error {
	if len(jobs) == 0 {
		a.SayLine("no jobs; godwit run -- COMMAND submits one")
		return nil
	}
	return jobTable(a, jobs, users).PrintTable(a.Stdout, a.TerminalWidth())
}

// jobTable lists jobs, a line each and below it why a job waits or failed.
func jobTable(a *app, jobs []api.Job, users bool) *term.Table {
	t := term.NewTable("job", "user", "name", "state", "cluster", "submitted", "ran", "done", "ends", "deadline",
		"in time", "code").AlignRight(0, 6, 7, 10, 11)
	t.Sparse, t.Shrinks, t.Optional = true, 2, []string{"submitted", "ran", "ends"}
	if a.UsesColour() {
		t.Paint = term.PaintStates
	}
	for i := range jobs {
		j := &jobs[i]
		ends, user := j.PredictedEnd, ""
		if j.Ended != nil {
			ends = j.Ended
		}
		if users {
			user = j.User
		}
		t.AddRow(jobLabel(j), user, j.Name, stateWord(j), term.OrDash(clusterText(j)), a.MomentText(j.Submitted),
			ranText(j), term.PartText(j.Progress), a.MomentText(ends), a.MomentText(j.Deadline), inTime(j),
			term.CodeText(j.ExitCode))
		t.AddNote(whyText(j))
	}
	return t
}

// ranText is how long a job ran; nothing of one that did not.
func ranText(j *api.Job) string {
	if j.WallS == 0 {
		return term.Unknown
	}
	return term.FormatDuration(j.WallS)
}

// inTime is whether the deadline was met, or the chance that it will be.
func inTime(j *api.Job) string {
	switch {
	case j.Deadline == nil:
		return term.Unknown
	case j.DeadlineMet != nil && *j.DeadlineMet:
		return "yes"
	case j.DeadlineMet != nil:
		return "no"
	}
	return term.ChanceText(j.PDeadline)
}

// whyText says why a job waits or failed; of others there is nothing to say.
func whyText(j *api.Job) string {
	if j.State.IsWaiting() || j.IsOver() && (j.ExitCode == nil || *j.ExitCode != 0) {
		return j.Why
	}
	return ""
}

func (a *app) showCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "show ID…",
		Short: "Show jobs in detail",
		Long:  "Shows how jobs are doing, or how they ended. Of several jobs of one name it is the newest." + jobsHelp,
		Example: `  godwit show 7
  godwit show last
  godwit show 7 -o json`,
		Args:              jobArguments,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error { return a.showJobs(cmd.Context(), c, args, output) })
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func (a *app) showJobs(ctx context.Context, c *api.Client, args []string, output string) error {
	jobs, err := selectJobs(ctx, c, args, false, true)
	if err != nil {
		return err
	}
	if len(jobs) == 1 { // asked once more: of a job that runs this tells how it is now
		if jobs[0], err = c.GetJob(ctx, jobRef(&jobs[0])); err != nil {
			return err
		}
	}
	if output == "json" {
		if len(jobs) == 1 {
			return term.WriteJSON(a.Stdout, jobs[0])
		}
		return term.WriteJSON(a.Stdout, term.OrEmpty(jobs))
	}
	const detailed = 10 // more are a list
	if len(jobs) > detailed {
		return a.printJobs(jobs, false)
	}
	for i := range jobs {
		if err := a.printJob(&jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printJob(j *api.Job) error {
	var t term.Rows
	t.Width = a.TerminalWidth()
	t.AddRow("state", "%s", a.InColour(term.JoinReason(stateWord(j), j.Why)))
	t.AddRow("command", "%s", quoteCommand(j.Command))
	for i := range j.Parts {
		p := &j.Parts[i]
		text := strings.TrimSpace(p.Cluster + " " + strings.Join(p.Hosts, " "))
		if p.ExitCode != nil {
			text += fmt.Sprintf(", exit code %d", *p.ExitCode)
		}
		t.AddRow(fmt.Sprintf("part %d", i), "%s", text)
	}
	if j.Cluster != "" && len(j.Parts) == 0 {
		t.AddRow("cluster", "%s", strings.TrimSpace(j.Cluster+" "+strings.Join(j.Hosts, " ")))
	}
	for i := range j.HostUsage {
		t.AddRow("on "+j.HostUsage[i].Host, "%s", hostText(&j.HostUsage[i]))
	}
	if len(j.Labels) > 0 {
		t.AddRow("labels", "%s", labelsText(j.Labels))
	}
	t.AddRow("submitted", "%s", a.MomentText(j.Submitted))
	if j.Started != nil {
		t.AddRow("started", "%s, %s", a.MomentText(j.Started), term.PluralNoun(int64(j.Attempts), "attempt"))
	}
	if j.Ended != nil {
		t.AddRow("ended", "%s with code %s", a.MomentText(j.Ended), term.CodeText(j.ExitCode))
	}
	if j.Progress != nil {
		t.AddRow("progress", "%s", term.PartText(j.Progress))
	}
	if j.PredictedEnd != nil && j.Ended == nil {
		text := a.MomentText(j.PredictedEnd)
		if j.EndEarly != nil && j.EndLate != nil {
			text += " (90 % interval " + a.MomentText(j.EndEarly) + " to " + a.MomentText(j.EndLate) + ")"
		}
		t.AddRow("expected end", "%s", text)
	}
	if j.Deadline != nil {
		text := "met: "
		if j.DeadlineMet == nil {
			text = "in time: "
		}
		t.AddRow("deadline", "%s, %s%s", a.MomentText(j.Deadline), text, inTime(j))
	}
	memory := term.BytesText(j.Peak) + " of memory at most"
	if j.Ended == nil {
		memory = term.BytesText(j.Memory) + " of memory now, " + memory
	}
	t.AddRow("used", "%s CPU in %s, %s", term.FormatDuration(j.CPUS), term.FormatDuration(j.WallS), memory)
	for _, w := range j.Warnings {
		t.AddRow("warning", "%s", w)
	}
	t.AddRow("checkpoints", "%d, method: %s", j.Checkpoints, decision.MethodText(j.Method))
	t.AddRow("migrations", "%d", j.Migrations)
	var b strings.Builder
	fmt.Fprintf(&b, "job %s %s (%s)\n", jobLabel(j), j.Name, j.UID)
	t.WriteRows(&b)
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// hostText is how a job does on one of its hosts.
func hostText(h *api.HostUsage) string {
	text := term.FormatDuration(h.CPUS) + " CPU, " + term.BytesText(h.Memory) + " of memory"
	if h.Share != nil {
		text += ", CPU share " + term.PartText(h.Share)
	}
	if h.Ranks != "" {
		text += ", ranks " + h.Ranks
	}
	if h.Away != "" {
		text += "; not heard any more: " + h.Away
	}
	return text
}

// clusterText is where a job is: of one of several parts all clusters, each once.
func clusterText(j *api.Job) string {
	if j.Cluster == "" || len(j.Parts) == 0 {
		return j.Cluster
	}
	var names []string
	for i := range j.Parts {
		if name := j.Parts[i].Cluster; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}
