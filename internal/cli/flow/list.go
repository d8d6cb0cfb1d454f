package flow

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/decision"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// flowsHelp is the part of the help of commands that take workflows.
const flowsHelp = `

A workflow is named by its number, by its name (the newest of that name), or last.`

func (a *app) flowPsCommand() *cobra.Command {
	var output string
	var all, users bool
	cmd := &cobra.Command{
		Use:     "ps",
		Aliases: []string{"list", "ls"},
		Short:   "List the workflows",
		Long: `Lists the workflows that are not over and those that ended last; with --all every
workflow. Of a broker that several users share you see your own; root sees those of
all with --all-users. The jobs of a workflow are in godwit ps.`,
		Example: `  godwit flow ps
  godwit flow ps --all -o json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				flows, err := c.ListFlows(cmd.Context(), all, users)
				if err != nil {
					return err
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, term.OrEmpty(flows))
				}
				return a.printFlows(flows, users)
			})
		},
	}
	g := term.OutputGroup(&output)
	g.Flags.BoolVarP(&all, "all", "a", false, "also those that ended long ago")
	g.Flags.BoolVar(&users, "all-users", false, "those of all users, for root")
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) printFlows(flows []api.Flow, users bool) error {
	if len(flows) == 0 {
		a.SayLine("no workflows; godwit flow submit FILE submits one")
		return nil
	}
	t := term.NewTable("flow", "user", "name", "state", "tasks", "done", "running", "failed", "submitted",
		"ends").AlignRight(0, 4, 5, 6, 7)
	t.Sparse, t.Shrinks, t.Optional = true, 2, []string{"submitted", "ends"}
	if a.UsesColour() {
		t.Paint = term.PaintStates
	}
	for i := range flows {
		f := &flows[i]
		user, ends := "", f.PredictedEnd
		if users {
			user = f.User
		}
		if f.Ended != nil {
			ends = f.Ended
		}
		t.AddRow(fmt.Sprint(f.ID), user, f.Name, f.State, fmt.Sprint(f.Tasks), fmt.Sprint(f.Done), countOrDash(f.Running),
			countOrDash(f.Failed),
			a.MomentText(f.Submitted), a.MomentText(ends))
		t.AddNote(term.OneLine(f.Why))
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}

func countOrDash(n int) string {
	if n == 0 {
		return term.Unknown
	}
	return fmt.Sprint(n)
}

func (a *app) flowShowCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "show ID",
		Aliases: []string{"status"},
		Short:   "Show how far a workflow is, and its tasks",
		Long: `Shows how far a workflow is, when it should end, and what became of its tasks, each
of which is a job: godwit show, logs and explain tell more of that.` + flowsHelp,
		Example: `  godwit flow show 3
  godwit flow show last -o json`,
		Args:              func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow") },
		ValidArgsFunction: a.completeFlows,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error { return a.showFlow(cmd.Context(), c, args[0], output) })
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

// flowDetail is a workflow with its tasks, as flow show gives it in JSON.
type flowDetail struct {
	api.Flow
	Runs []api.FlowTask `json:"runs"`
}

func (a *app) showFlow(ctx context.Context, c *api.Client, ref, output string) error {
	f, err := c.GetFlow(ctx, ref)
	if err != nil {
		return err
	}
	tasks, err := c.ListFlowTasks(ctx, fmt.Sprint(f.ID))
	if err != nil {
		return err
	}
	if output == "json" {
		return term.WriteJSON(a.Stdout, flowDetail{f, term.OrEmpty(tasks)})
	}
	var t term.Rows
	t.Width = a.TerminalWidth()
	t.AddRow("state", "%s", a.InColour(term.JoinReason(f.State, term.OneLine(f.Why))))
	t.AddRow("tasks", "%d, %d done%s", f.Tasks, f.Done, moreCounts(&f))
	t.AddRow("submitted", "%s", a.MomentText(f.Submitted))
	if f.Ended != nil {
		t.AddRow("ended", "%s", a.MomentText(f.Ended))
	}
	if f.PredictedEnd != nil && f.Ended == nil {
		t.AddRow("expected end", "%s (90 %% interval %s to %s)", a.MomentText(f.PredictedEnd), a.MomentText(f.EndEarly),
			a.MomentText(f.EndLate))
	}
	if f.Heuristic != "" {
		t.AddRow("first plan", "makespan %s (%s)%s", term.FormatSeconds(f.PlannedS), heuristicName(f.Heuristic),
			replanText(f.Replans))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %d %s\n", f.ID, f.Name)
	t.WriteRows(&b)
	if _, err := fmt.Fprint(a.Stdout, b.String()+"\n"); err != nil {
		return err
	}
	return a.printFlowTasks(tasks)
}

// replanText is how often a workflow was planned again, after what else is said of its plan.
func replanText(times int) string {
	if times == 0 {
		return ""
	}
	return ", replanned " + term.PluralNoun(int64(times), "time")
}

func moreCounts(f *api.Flow) string {
	text := ""
	if f.Running > 0 {
		text += fmt.Sprintf(", %d running", f.Running)
	}
	if f.Failed > 0 {
		text += fmt.Sprintf(", %d failed", f.Failed)
	}
	return text
}

func (a *app) printFlowTasks(tasks []api.FlowTask) error {
	t := term.NewTable("task", "job", "state", "cluster", "try", "started", "ended").AlignRight(1, 4)
	t.Shrinks, t.Optional = 0, []string{"started", "try"}
	if a.UsesColour() {
		t.Paint = term.PaintStates
	}
	for i := range tasks {
		x := &tasks[i]
		job, state := term.Unknown, "waiting"
		if x.Job != 0 {
			job, state = fmt.Sprint(x.Job), term.StateText(x.State)
		}
		if x.Failed {
			state = "failed"
		}
		t.AddRow(x.Task, job, state, term.OrDash(x.Cluster), countOrDash(x.Try), a.MomentText(x.Started),
			a.MomentText(x.Ended))
		if !x.Done && (x.Failed || x.Job != 0) {
			t.AddNote(term.OneLine(x.Why))
		}
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}

func (a *app) flowCancelCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "cancel ID…",
		Short: "End workflows and the jobs of their tasks",
		Long: `Cancels workflows: nothing more of them is started, and the jobs that wait or run
are cancelled as godwit cancel does. Returns when none of them is left. What is done
stays done: godwit flow run goes on with a workflow that was cancelled.` + flowsHelp,
		Example: `  godwit flow cancel 3
  godwit flow cancel last -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &badinput.Error{Problem: cmd.CommandPath() + " needs a workflow"}
			}
			return nil
		},
		ValidArgsFunction: a.completeFlows,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				flows := []api.Flow{}
				for _, ref := range args {
					f, err := c.CancelFlow(cmd.Context(), ref)
					if err != nil {
						return err
					}
					flows = append(flows, f)
					if output == "json" {
						continue
					}
					if _, err := fmt.Fprintf(a.Stdout, "workflow %d %s, %d of %s done\n", f.ID, f.State, f.Done,
						term.PluralNoun(int64(f.Tasks), "task")); err != nil {
						return err
					}
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, flows)
				}
				return nil
			})
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func (a *app) flowExplainCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Say what was decided for a workflow, and why",
		Long: `Prints every decision taken for a workflow: each plan and why it was made, which
task was submitted as which job to which cluster, what ended, failed or was tried
again. Times count from submission. godwit explain does the same for the jobs.` + flowsHelp,
		Example: `  godwit flow explain 3
  godwit flow explain last -o json`,
		Args:              func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow") },
		ValidArgsFunction: a.completeFlows,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				list, err := c.ExplainFlow(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, term.OrEmpty(list))
				}
				f, err := c.GetFlow(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				var b strings.Builder
				decision.WriteHeadline(a.App, &b, fmt.Sprintf("workflow %d %s: %s", f.ID, f.Name,
					a.InColour(term.JoinReason(f.State, term.OneLine(f.Why)))))
				decision.WriteDecisions(a.App, &b, list)
				_, err = fmt.Fprint(a.Stdout, b.String())
				return err
			})
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}
