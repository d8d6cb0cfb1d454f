package cli

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
)

// policyName names what decided in a run, as --compare takes it.
func (r *simReport) policyName() string {
	switch {
	case r.Malleable != runlog.None:
		return r.Approach + "/" + r.Malleable
	case r.Local != "none":
		return "local " + r.Local
	}
	return r.Malleable
}

// rows collects the lines of a two-column table.
type rows struct {
	names, values []string
	width         int // of the terminal; 0: it does not matter
}

func (t *rows) addRow(name, format string, args ...any) {
	t.names = append(t.names, name)
	t.values = append(t.values, fmt.Sprintf(format, args...))
}

func (t *rows) writeRows(b *strings.Builder) {
	width := 0
	for _, name := range t.names {
		width = max(width, len(name))
	}
	for i, name := range t.names {
		if room := t.width - width - 4; t.width > 0 && utf8.RuneCountInString(t.values[i]) > room {
			lines := term.WrapText(t.values[i], max(term.MinLast, room))
			fmt.Fprintf(b, "  %-*s  %s\n", width, name, strings.Join(lines, "\n"+strings.Repeat(" ", width+4)))
			continue
		}
		fmt.Fprintf(b, "  %-*s  %s\n", width, name, t.values[i])
	}
}

// summaryTable is the results of one run for people.
func summaryTable(b *strings.Builder, r *simReport) {
	fmt.Fprintf(b, "%s on %s (%s cores)\n", r.Title, r.Platform, progress.FormatThousands(int64(r.Procs)))
	var t rows
	t.addRow("policy", "%s, placement %s, seed %d", r.policyName(), r.Place, r.Seed)
	t.addRow("jobs", "%s", r.jobCounts())
	for _, s := range r.Skipped {
		t.addRow("left out", "%s: %s", term.PluralNoun(int64(s.Count), "record"), s.Reason)
	}
	t.addRow("makespan", "%s", term.FormatDuration(r.MakespanS))
	t.addRow("response time", "mean %s", term.FormatDuration(r.MeanResponseS))
	t.addRow("waiting time", "mean %s", term.FormatDuration(r.MeanWaitS))
	t.addRow("execution time", "mean %s", term.FormatDuration(r.MeanRunS))
	t.addRow("bounded slowdown", "mean %s", term.FormatDigits(r.MeanBoundedSlowdown))
	t.addRow("utilization", "%s", term.FormatPercent(r.Utilization))
	t.addRow("size of a job", "mean %s cores, mean of the maximum %s", term.FormatDigits(r.MeanSize),
		term.FormatDigits(r.MaxSizeMean))
	if r.Malleable != runlog.None {
		t.addRow("changes of size", "%s grown, %s shrunk", progress.FormatThousands(int64(r.GrowOps)),
			progress.FormatThousands(int64(r.ShrinkOps)))
	}
	did := "simulated"
	if r.Verified != nil {
		did = "replayed"
	}
	t.addRow(did, "%s in %s, %s jobs/s", term.PluralNoun(r.Events, "event"), term.FormatDuration(r.WallS),
		term.FormatRate(r.Jobs, r.WallS))
	if v := r.Verified; v != nil {
		t.addRow("verified", "%s, %s identical", term.PluralNoun(v.Steps, "step"), term.PluralNoun(v.Events, "event"))
	}
	t.writeRows(b)
}

// jobCounts says what became of the jobs.
func (r *simReport) jobCounts() string {
	text := progress.FormatThousands(int64(r.Completed)) + " completed"
	if r.Failed > 0 {
		text += ", " + progress.FormatThousands(int64(r.Failed)) + " failed"
	}
	if r.Unplaced > 0 {
		text += ", " + progress.FormatThousands(int64(r.Unplaced)) + " never placed"
	}
	return text
}

// column is one of a comparison. The sign says what is best: 1 the largest,
// -1 the smallest, 0 neither.
type column struct {
	title string
	best  int
	value func(r *simReport) float64
	show  func(float64) string
}

func compareColumns() []column {
	count := func(x float64) string { return progress.FormatThousands(int64(x)) }
	return []column{
		{"completed", 1, func(r *simReport) float64 { return float64(r.Completed) }, count},
		{"response", -1, func(r *simReport) float64 { return r.MeanResponseS }, term.FormatSeconds},
		{"wait", -1, func(r *simReport) float64 { return r.MeanWaitS }, term.FormatSeconds},
		{"execution", -1, func(r *simReport) float64 { return r.MeanRunS }, term.FormatSeconds},
		{"slowdown", -1, func(r *simReport) float64 { return r.MeanBoundedSlowdown }, term.FormatDigits},
		{"utilization", 1, func(r *simReport) float64 { return r.Utilization }, term.FormatPercent},
		{"makespan", -1, func(r *simReport) float64 { return r.MakespanS }, term.FormatSeconds},
		{"mean size", 0, func(r *simReport) float64 { return r.MeanSize }, term.FormatDigits},
		{"max size", 0, func(r *simReport) float64 { return r.MaxSizeMean }, term.FormatDigits},
		{"grown", 0, func(r *simReport) float64 { return float64(r.GrowOps) }, count},
		{"shrunk", 0, func(r *simReport) float64 { return float64(r.ShrinkOps) }, count},
	}
}

// compareTable is several runs side by side, the best of each column marked.
func compareTable(b *strings.Builder, reports []*simReport, width int) {
	first := reports[0]
	fmt.Fprintf(b, "%s on %s (%s cores), %s, placement %s, seed %d\n\n", first.Title, first.Platform,
		progress.FormatThousands(int64(first.Procs)), term.PluralNoun(int64(first.Jobs), "job"), first.Place, first.Seed)
	columns := compareColumns()
	if allCompleted(reports) {
		columns = columns[1:]
	}
	cells := [][]string{{"policy"}}
	for _, c := range columns {
		title := c.title
		if c.best != 0 {
			title += " " // below it stands the mark
		}
		cells[0] = append(cells[0], title)
	}
	for _, r := range reports {
		row := []string{r.policyName()}
		for _, c := range columns {
			row = append(row, c.show(c.value(r))+c.bestMark(r, reports))
		}
		cells = append(cells, row)
	}
	writeCells(b, cells, width)
	b.WriteString("\n* best\n")
}

func allCompleted(reports []*simReport) bool {
	for _, r := range reports {
		if r.Completed < r.Jobs {
			return false
		}
	}
	return true
}

// bestMark is a star for the best value of a column, in the digits shown; none if
// all are alike.
func (c column) bestMark(r *simReport, all []*simReport) string {
	if c.best == 0 {
		return ""
	}
	best, alike := math.Inf(-1), true
	for _, other := range all {
		best = max(best, float64(c.best)*c.value(other))
		alike = alike && c.show(c.value(other)) == c.show(c.value(r))
	}
	if !alike && c.show(c.value(r)) == c.show(float64(c.best)*best) {
		return "*"
	}
	return " "
}

// writeCells aligns the first column left and the others right. Columns that do not fit
// the width follow below, beside the first once more.
func writeCells(b *strings.Builder, cells [][]string, width int) {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for from := 1; ; {
		to, room := from, width-widths[0]
		for to < len(widths) && (to == from || widths[to]+2 <= room) {
			room -= widths[to] + 2
			to++
		}
		for _, row := range cells {
			line := fmt.Sprintf("%-*s", widths[0], row[0])
			for i := from; i < to; i++ {
				line += strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(row[i])) + row[i]
			}
			fmt.Fprintln(b, strings.TrimRight(line, " "))
		}
		if from = to; from >= len(widths) {
			return
		}
		b.WriteString("\n")
	}
}
