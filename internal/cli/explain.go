package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) explainCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Say what was decided for a job, and why",
		Long: `Tells the story of a job: every decision that was taken for it, when, why, and with
which numbers; of a job that waits, why it waits. Times count from submission.`,
		Example: `  godwit explain 7
  godwit explain 7 -o json`,
		Args:              jobArgument,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askBroker(cmd.Context(), func(c *api.Client) error {
				list, err := c.Explain(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if output == "json" {
					return writeJSON(a.stdout, orEmpty(list))
				}
				job, err := c.Job(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.printStory(&job, list)
			})
		},
	}
	groupFlags(cmd, outputGroup(&output))
	return cmd
}

// storyWidth keeps lines readable on wide terminals.
const storyWidth = 100

// printStory writes one paragraph a decision: what, why, and the numbers.
func (a *app) printStory(j *api.Job, list []api.Decision) error {
	var b strings.Builder
	fmt.Fprintf(&b, "job %d %s: %s\n", j.ID, nameText(j), a.standing(j))
	width := min(a.width(), storyWidth)
	for i := range list {
		d := &list[i]
		at := fmt.Sprintf("%12s  ", "+"+duration(d.SinceS))
		indent := strings.Repeat(" ", len(at))
		room := max(minLast, width-len(at))
		for n, line := range wrap(headline(d), room) {
			if n == 0 {
				line = at + line
			} else {
				line = indent + line
			}
			b.WriteString(line + "\n")
		}
		if d.Why != "" {
			for _, line := range wrap(d.Why, room-2) {
				b.WriteString(indent + "  " + line + "\n")
			}
		}
		if numbers := numbersText(d.Inputs); numbers != "" {
			for _, line := range wrap("with "+numbers, room-2) {
				b.WriteString(indent + "  " + line + "\n")
			}
		}
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

// verbs put the kinds of decisions into words.
var verbs = map[string]string{
	"submit": "submitted", "wait": "waiting", "place": "placed", "method": "way of saving", "start": "started", "predict": "prediction",
	"ask": "asked for help", "decide": "decision", "checkpoint": "checkpoint", "move": "moved", "stay": "stays", "lost": "lost",
	"end": "ended", "results": "results", "quote": "quote",
}

func headline(d *api.Decision) string {
	verb, ok := verbs[d.Kind]
	if !ok {
		verb = d.Kind
	}
	if d.Choice == "" {
		return verb
	}
	return verb + ": " + d.Choice
}

// standing says in one line how a job is, or how it ended.
func (a *app) standing(j *api.Job) string {
	text := strings.ToLower(j.State.String())
	if j.Cluster != "" {
		text += " on " + j.Cluster
	}
	if j.ExitCode != nil {
		text += ", exit code " + codeText(j.ExitCode)
	}
	switch {
	case j.Deadline == nil:
	case j.DeadlineMet == nil:
		text += ", deadline " + a.momentText(j.Deadline)
		if j.PDeadline != nil {
			text += ", chance of meeting it " + chanceText(j.PDeadline)
		}
	case j.Ended == nil:
		text += ", deadline missed"
	case late(j):
		text += ", " + duration(j.Ended.Sub(j.Deadline.Time).Seconds()) + " after its deadline"
	default:
		text += ", " + duration(j.Deadline.Sub(j.Ended.Time).Seconds()) + " before its deadline"
	}
	if j.State.Waiting() && j.Why != "" {
		text += ": " + j.Why
	}
	return text
}
