package koala

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	for _, f := range []struct {
		name   string
		figure plot.Figure
	}{
		{"figure-7.svg", r.paperFigure([]Workload{wm, wmr})},
		{"figure-8.svg", r.paperFigure([]Workload{fastM, fastMR})},
		{"policies.svg", r.policyFigure()},
	} {
		if err := f.figure.Save(filepath.Join(figures, f.name)); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, "koala.md")
	return path, outfile.WriteAll(path, []byte(r.reportMarkdown()))
}

const head = `# The KOALA experiment

What the KOALA paper (papers/001, sections VI and VII) did on the DAS-3, done in
the simulator: 300 jobs, half of them GADGET 2 and half FT, on five clusters of
272 nodes. Wm and W'm are all malleable, in Wmr and W'mr half of the jobs are
rigid of size 2; jobs come every two minutes (Wm, Wmr, under the approach PRA)
or every 30 s (W'm, W'mr, under PWA). Worst-fit placement.

This file is written by ` + "`godwit-experiments koala`" + ` from ` + "`scenarios/koala/*.yaml`" + `;
every verdict is computed from the runs. %s

The seconds are not the paper's: it does not say how its applications scale
between the smallest and the best size, nor how much of the DAS-3 was free. The
scenario files say what we assume. What must agree is the shape.
`

func (r *Results) reportMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, head, r.howOften())
	r.writeVerdicts(&b)
	b.WriteString("\n## Precedence to running applications: figure 7\n\n")
	b.WriteString("![Figure 7: FPSMA and EGS under PRA](koala/figure-7.svg)\n")
	b.WriteString("\n## Precedence to waiting applications: figure 8\n\n")
	b.WriteString("![Figure 8: FPSMA and EGS under PWA](koala/figure-8.svg)\n")
	b.WriteString("\nDistributions are over the jobs of all seeds; (e) and (f) show the first.\n")
	r.writeRuns(&b)
	r.writePolicies(&b)
	return b.String()
}

func (r *Results) howOften() string {
	if len(r.Seeds) == 1 {
		return fmt.Sprintf("Every run was made once, with seed %d.", r.Seeds[0])
	}
	return fmt.Sprintf("Every run was made %d times, with seeds %d to %d.", len(r.Seeds), r.Seeds[0], r.Seeds[len(r.Seeds)-1])
}

func (r *Results) writeVerdicts(b *strings.Builder) {
	verdicts := r.CheckStatements()
	b.WriteString("\n## What the paper says, what we see\n")
	for _, part := range []struct {
		text   string
		wanted bool
	}{{"The statements that must come out:", true}, {"What the paper says besides:", false}} {
		fmt.Fprintf(b, "\n%s\n\n| figure | the paper says | checked as | we see | |\n| --- | --- | --- | --- | --- |\n", part.text)
		for _, v := range verdicts {
			if v.Wanted == part.wanted {
				fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", v.Where, v.Says, v.Rule, v.Saw, v.VerdictText())
			}
		}
	}
	n, all := CountHolding(verdicts, true)
	m, others := CountHolding(verdicts, false)
	fmt.Fprintf(b, "\n%d of the %d statements that must come out do; of the %d others %d.\n", n, all, others, m)
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

// writeRuns is the table of the paper's eight runs.
func (r *Results) writeRuns(b *strings.Builder) {
	b.WriteString("\n## The eight runs\n\nMean ± standard deviation over the seeds.\n\n| run |")
	for _, m := range tableMetrics() {
		fmt.Fprintf(b, " %s |", m.title)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(tableMetrics())) + "\n")
	for _, w := range Workloads() {
		for _, policy := range []string{fpsma, egs} {
			fmt.Fprintf(b, "| %s, %s, %s |", strings.ToUpper(w.Approach.String()), policyTitle(policy), w.Name)
			for _, m := range tableMetrics() {
				mean, spread := r.meanAndSpread(w, policy, m.of)
				fmt.Fprintf(b, " %s ± %s |", m.formatValue(mean), m.formatWithUnit(spread))
			}
			b.WriteString("\n")
		}
	}
}

// writePolicies is the table of all policies on all workloads.
func (r *Results) writePolicies(b *strings.Builder) {
	b.WriteString("\n## All policies\n\n![Response time and utilization of all policies](koala/policies.svg)\n")
	b.WriteString("\nMeans over the seeds, the best in bold.\n")
	for _, w := range Workloads() {
		fmt.Fprintf(b, "\n%s under %s:\n\n| policy |", w.Name, strings.ToUpper(w.Approach.String()))
		for _, m := range tableMetrics() {
			fmt.Fprintf(b, " %s |", m.title)
		}
		b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(tableMetrics())) + "\n")
		for _, policy := range Policies() {
			fmt.Fprintf(b, "| %s |", policy)
			for _, m := range tableMetrics() {
				fmt.Fprintf(b, " %s |", r.emphasiseBest(w, policy, m))
			}
			b.WriteString("\n")
		}
	}
}

// emphasiseBest is a value, in bold if no policy has a better one.
func (r *Results) emphasiseBest(w Workload, policy string, m metric) string {
	own := m.formatWithUnit(r.meanOf(w, policy, m.of))
	for _, other := range Policies() {
		if (r.meanOf(w, other, m.of)-r.meanOf(w, policy, m.of))*float64(m.best) > 0 && m.formatWithUnit(r.meanOf(w, other, m.of)) != own {
			return own
		}
	}
	if m.best == 0 {
		return own
	}
	return "**" + own + "**"
}
