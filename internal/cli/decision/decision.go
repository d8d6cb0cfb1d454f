// Package decision prints what was decided for a job or a workflow, and why: a headline, and a
// paragraph for each decision with its numbers. It must not know who decided.
package decision

import (
	"fmt"
	"maps"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// storyWidth keeps lines readable on wide terminals.
const storyWidth = 100

// WriteHeadline writes the line above the decisions, in several where the terminal is narrow.
func WriteHeadline(a *term.App, b *strings.Builder, text string) {
	const indent = "  "
	b.WriteString(strings.Join(term.WrapText(text, a.TableWidth()-len(indent)), "\n"+indent) + "\n")
}

// WriteDecisions writes one paragraph a decision.
func WriteDecisions(a *term.App, b *strings.Builder, list []api.Decision) {
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
		choice = MethodText(choice)
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
		return term.StateText(core.Done)
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

// MethodText is a checkpoint method in words.
func MethodText(method string) string {
	switch method {
	case "":
		return term.Unknown
	case "restart":
		return "none (restart from scratch)"
	}
	return method
}
