package sim

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/sim/trial"
)

// decisionTable is what the rescheduler decided in several runs, with what came of the opposite where that was run.
func decisionTable(b *strings.Builder, reports []*simReport, width int) {
	first := reports[0]
	fmt.Fprintf(b, "%s on %s, seed %d\n\n", first.Title, first.Platform, first.Seed)
	head := "run"
	if first.SweepOver != "" {
		head = first.SweepOver
	}
	cells := [][]string{{head, "mode", "makespan", "moved", "ret_current", "ret_new", "cost", "gain", "threshold",
		"right"}}
	for _, r := range reports {
		value := r.Title
		if r.SweepOver != "" {
			value = fmt.Sprint(r.SweepValue)
		}
		row := []string{value, r.Mode, term.FormatSeconds(r.MakespanS), fmt.Sprint(r.Migrations)}
		if d := decisiveOf(r.Decisions); d != nil {
			row = append(row, term.FormatSeconds(d.Current), term.FormatSeconds(d.New),
				term.FormatSeconds(d.Cost.TotalSeconds()), term.FormatPercent(d.Gain.Gain), term.FormatPercent(d.Threshold))
		} else {
			row = append(row, "-", "-", "-", "-", "-")
		}
		cells = append(cells, append(row, rightMark(r, reports)))
	}
	term.WriteCells(b, cells, width)
	b.WriteString("\nright: not slower than the forced opposite by more than 5 %\n")
}

// decisiveOf is the decision that moved a job, or else the first; nil: there was none.
func decisiveOf(list []trial.Decision) *trial.Decision {
	for i := range list {
		if list[i].Moves {
			return &list[i]
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// rightMark says whether the decisions of a run were right, if the opposite ones were run too.
func rightMark(r *simReport, all []*simReport) string {
	for _, other := range all {
		if trial.AreOpposite(r.Mode, other.Mode) && r.SweepValue == other.SweepValue {
			if trial.IsRight(r.MakespanS, other.MakespanS) {
				return "yes"
			}
			return "no"
		}
	}
	return "-"
}
