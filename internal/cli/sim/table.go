package sim

import (
	"fmt"
	"math"
	"strings"

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

// summaryTable is the results of one run for people.
func summaryTable(b *strings.Builder, r *simReport) {
	fmt.Fprintf(b, "%s on %s (%s cores)\n", r.Title, r.Platform, progress.FormatThousands(int64(r.Procs)))
	var t term.Rows
	t.AddRow("policy", "%s, placement %s, seed %d", r.policyName(), r.Place, r.Seed)
	t.AddRow("jobs", "%s", r.jobCounts())
	for _, s := range r.Skipped {
		t.AddRow("left out", "%s: %s", term.PluralNoun(int64(s.Count), "record"), s.Reason)
	}
	t.AddRow("makespan", "%s", term.FormatDuration(r.MakespanS))
	t.AddRow("response time", "mean %s", term.FormatDuration(r.MeanResponseS))
	t.AddRow("waiting time", "mean %s", term.FormatDuration(r.MeanWaitS))
	t.AddRow("execution time", "mean %s", term.FormatDuration(r.MeanRunS))
	t.AddRow("bounded slowdown", "mean %s", term.FormatDigits(r.MeanBoundedSlowdown))
	t.AddRow("utilization", "%s", term.FormatPercent(r.Utilization))
	t.AddRow("size of a job", "mean %s cores, mean of the maximum %s", term.FormatDigits(r.MeanSize),
		term.FormatDigits(r.MaxSizeMean))
	if r.Malleable != runlog.None {
		t.AddRow("changes of size", "%s grown, %s shrunk", progress.FormatThousands(int64(r.GrowOps)),
			progress.FormatThousands(int64(r.ShrinkOps)))
	}
	did := "simulated"
	if r.Verified != nil {
		did = "replayed"
	}
	t.AddRow(did, "%s in %s, %s jobs/s", term.PluralNoun(r.Events, "event"), term.FormatDuration(r.WallS),
		term.FormatRate(r.Jobs, r.WallS))
	if v := r.Verified; v != nil {
		t.AddRow("verified", "%s, %s identical", term.PluralNoun(v.Steps, "step"), term.PluralNoun(v.Events, "event"))
	}
	t.WriteRows(b)
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
	term.WriteCells(b, cells, width)
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
