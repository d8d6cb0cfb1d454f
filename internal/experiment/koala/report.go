package koala

import (
	_ "embed" // the template of the report
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// Write writes koala.md and its figures into dir and returns the path of the
// report. The same results give the same bytes.
func (r *Results) Write(dir string) (string, error) {
	figures := filepath.Join(dir, "koala")
	if err := os.MkdirAll(figures, 0o777); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	for _, f := range r.namedFigures() {
		if err := f.figure.Save(filepath.Join(figures, f.name)); err != nil {
			return "", err
		}
	}
	text, err := r.reportMarkdown()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "koala.md")
	return path, outfile.WriteAll(path, []byte(text))
}

// namedFigure is a figure and its file.
type namedFigure struct {
	name   string
	figure plot.Figure
}

func (r *Results) namedFigures() []namedFigure {
	list := []namedFigure{
		{"figure-7.svg", r.paperFigure([]Workload{wm, wmr})},
		{"figure-8.svg", r.paperFigure([]Workload{fastM, fastMR})},
		{"policies.svg", r.policyFigure()},
	}
	if r.Lab != nil {
		list = append(list, namedFigure{"lab.svg", r.Lab.labFigure()})
	}
	return list
}

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for.
type reportData struct {
	HowOften                    string
	Verdicts                    []verdictTable
	Holding, Wanted             int // of the statements that must come out
	OtherHolding, OtherVerdicts int
	Metrics                     []string // titles of the columns of the tables
	Runs                        []reportRow
	Workloads                   []policyTable
	Live                        *liveSection // nil: nothing was made in the lab
}

type verdictTable struct {
	Title string
	Rows  []Verdict
}

// reportRow is a row of a table, a cell for each metric.
type reportRow struct {
	Name  string
	Cells []string
}

type policyTable struct {
	Workload, Approach string
	Rows               []reportRow
}

func (r *Results) reportMarkdown() (string, error) {
	d := reportData{HowOften: r.howOften(), Runs: r.paperRuns(), Workloads: r.policyTables(), Live: r.liveSection()}
	verdicts := r.CheckStatements()
	for _, part := range []struct {
		title  string
		wanted bool
	}{{"The statements that must come out:", true}, {"What the paper says besides:", false}} {
		table := verdictTable{Title: part.title}
		for _, v := range verdicts {
			if v.Wanted == part.wanted {
				table.Rows = append(table.Rows, v)
			}
		}
		d.Verdicts = append(d.Verdicts, table)
	}
	d.Holding, d.Wanted = CountHolding(verdicts, true)
	d.OtherHolding, d.OtherVerdicts = CountHolding(verdicts, false)
	for _, m := range tableMetrics() {
		d.Metrics = append(d.Metrics, m.title)
	}
	return measured.RenderReport(reportTemplate, d)
}

func (r *Results) howOften() string {
	if len(r.Seeds) == 1 {
		return fmt.Sprintf("Every run was made once, with seed %d.", r.Seeds[0])
	}
	return fmt.Sprintf("Every run was made %d times, with seeds %d to %d.", len(r.Seeds), r.Seeds[0],
		r.Seeds[len(r.Seeds)-1])
}

// VerdictText is the verdict in the report.
func (v *Verdict) VerdictText() string {
	if v.Holds {
		return "agrees"
	}
	return "**differs**"
}

// CountHolding is how many statements hold, of those that must come out or of the
// others.
func CountHolding(list []Verdict, wanted bool) (holds, all int) {
	for _, v := range list {
		if v.Wanted != wanted {
			continue
		}
		all++
		if v.Holds {
			holds++
		}
	}
	return holds, all
}

// metric is a column of the tables. The sign says what is best: 1 the largest,
// -1 the smallest, 0 neither.
type metric struct {
	title string
	of    func(*outcome.Summary) float64
	unit  string
	best  int
}

// formatValue is a value in the digits and the unit of the column, without naming
// the unit.
func (m metric) formatValue(x float64) string {
	if m.unit == "%" {
		return fmt.Sprintf("%.1f", 100*x)
	}
	return formatNumber(x)
}

func (m metric) formatWithUnit(x float64) string {
	return strings.TrimRight(m.formatValue(x)+" "+m.unit, " ")
}

func tableMetrics() []metric {
	return []metric{
		{"response", meanResponse, "s", -1}, {"waiting", meanWait, "s", -1}, {"execution", meanRunTime, "s", -1},
		{"utilization", meanUtilization, "%", 1}, {"mean size", meanSize, "", 0}, {"largest size", maxSize, "", 0},
		{"grown", growCount, "", 0}, {"shrunk", shrinkCount, "", 0},
	}
}

// paperRuns are the paper's eight runs.
func (r *Results) paperRuns() []reportRow {
	var rows []reportRow
	for _, w := range Workloads() {
		for _, policy := range []string{fpsma, egs} {
			row := reportRow{Name: fmt.Sprintf("%s, %s, %s", strings.ToUpper(w.Approach.String()), policyTitle(policy), w.Name)}
			for _, m := range tableMetrics() {
				mean, spread := r.meanAndSpread(w, policy, m.of)
				row.Cells = append(row.Cells, m.formatValue(mean)+" ± "+m.formatWithUnit(spread))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// policyTables are all policies on all workloads.
func (r *Results) policyTables() []policyTable {
	var tables []policyTable
	for _, w := range Workloads() {
		table := policyTable{Workload: w.Name, Approach: strings.ToUpper(w.Approach.String())}
		for _, policy := range Policies() {
			row := reportRow{Name: policy}
			for _, m := range tableMetrics() {
				row.Cells = append(row.Cells, r.emphasiseBest(w, policy, m))
			}
			table.Rows = append(table.Rows, row)
		}
		tables = append(tables, table)
	}
	return tables
}

// emphasiseBest is a value, in bold if no policy has a better one.
func (r *Results) emphasiseBest(w Workload, policy string, m metric) string {
	own := m.formatWithUnit(r.meanOf(w, policy, m.of))
	for _, other := range Policies() {
		if (r.meanOf(w, other, m.of)-r.meanOf(w, policy, m.of))*float64(m.best) > 0 &&
			m.formatWithUnit(r.meanOf(w, other, m.of)) != own {
			return own
		}
	}
	if m.best == 0 {
		return own
	}
	return "**" + own + "**"
}
