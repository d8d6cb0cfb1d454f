package cli

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
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

// storyWidth keeps lines readable on wide terminals.
const storyWidth = 100

// printStory writes how a job is and one paragraph a decision: what, why, and the numbers.
func (a *app) printStory(j *api.Job, list []api.Decision) error {
	var b strings.Builder
	a.writeHeadline(&b, fmt.Sprintf("job %s %s: %s", jobLabel(j), j.Name, a.jobStanding(j)))
	a.writeDecisions(&b, list)
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// writeHeadline writes the line above the decisions, in several where the terminal is narrow.
func (a *app) writeHeadline(b *strings.Builder, text string) {
	const indent = "  "
	b.WriteString(strings.Join(term.WrapText(text, a.TableWidth()-len(indent)), "\n"+indent) + "\n")
}

// writeDecisions writes one paragraph a decision.
func (a *app) writeDecisions(b *strings.Builder, list []api.Decision) {
	width := min(a.TerminalWidth(), storyWidth)
	for i := range list {
		d := &list[i]
		at := fmt.Sprintf("%12s  ", "+"+term.FormatDuration(d.SinceS))
		indent := strings.Repeat(" ", len(at))
		room := max(term.MinLast, width-len(at))
		for n, line := range term.WrapText(decisionHeadline(d), room) {
			if n == 0 {
				line = at + line
			} else {
				line = indent + line
			}
			b.WriteString(line + "\n")
		}
		// The next entry has the checkpoint method with its reason.
		if repeated := d.Kind == "start" && i+1 < len(list) && list[i+1].Kind == "method"; d.Why != "" && !repeated {
			for _, line := range term.WrapText(d.Why, room-2) {
				b.WriteString(indent + "  " + line + "\n")
			}
		}
		if numbers := term.NumbersText(shownInputs(d)); numbers != "" {
			for _, line := range term.WrapText("with "+numbers, room-2) {
				b.WriteString(indent + "  " + line + "\n")
			}
		}
	}
}

// verbs put the kinds of decisions into words.
var verbs = map[string]string{
	"submit": "submitted", "wait": "waiting", "place": "placed", "method": "checkpoint method", "start": "started",
	"predict": "prediction",
	"ask":     "asked for help", "decide": "decision", "checkpoint": "checkpoint", "move": "migration", "stay": "stays",
	"lost": "attempt lost",
	"end":  "ended", "results": "results", "quote": "quote", "plan": "plan", "done": "task ended", "failed": "task failed",
	"retry":   "retry",
	"restart": "broker restarted", "resume": "resumed", "cancel": "cancelled",
}

func decisionHeadline(d *api.Decision) string {
	verb, ok := verbs[d.Kind]
	if !ok {
		verb = d.Kind
	}
	choice := d.Choice
	switch d.Kind {
	case "method":
		choice = methodText(choice)
	case "end":
		choice = endWord(choice)
	}
	if choice == "" {
		return verb
	}
	return verb + ": " + choice
}

// endWord is how a job ended, in the words of tables.
func endWord(state string) string {
	if state == core.Done.String() {
		return stateText(core.Done)
	}
	return strings.ToLower(state)
}

// shownInputs leaves out what says nothing: numbers of an estimate that there is not.
func shownInputs(d *api.Decision) map[string]any {
	if d.Kind != "submit" || d.Inputs["estimate_s"] != 0.0 {
		return d.Inputs
	}
	rest := maps.Clone(d.Inputs)
	delete(rest, "estimate_s")
	delete(rest, "spread")
	return rest
}

// jobStanding says in one line how a job is, or how it ended.
func (a *app) jobStanding(j *api.Job) string {
	text := a.InColour(stateText(j.State))
	if j.Cluster != "" {
		text += " on " + j.Cluster
	}
	if j.ExitCode != nil {
		text += ", exit code " + term.CodeText(j.ExitCode)
	}
	switch {
	case j.Deadline == nil:
	case j.DeadlineMet == nil:
		text += ", deadline " + a.momentText(j.Deadline)
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
