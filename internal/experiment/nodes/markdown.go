package nodes

import (
	_ "embed" // the template of the report
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for; a row of a table is its cells
// with bars between them.
type reportData struct {
	Folder string
	Runs   *runsData  // nil if there are none
	Costs  *costsData // likewise
}

type runsData struct {
	StreamSeconds, Tolerance, SkeletonSeconds, ProbeError string
	Rounds, Candidates, Alone                             int
	TrialSeconds, ProbeSeconds, Day                       string
	Machine                                               *measured.Machine
	Statements                                            []Statement
	Methods, Slowdowns, Differing                         []string
}

type costsData struct {
	Budget         string
	Patterns, Rows []string
}

func (r *Results) reportMarkdown() (string, error) {
	d := reportData{Folder: folder}
	if len(r.Runs) > 0 {
		d.Runs = r.runsData()
	}
	if len(r.Costs) > 0 {
		d.Costs = r.costsData()
	}
	return measured.RenderReport(reportTemplate, d)
}

// runsData is what the report says of the runs.
func (r *Results) runsData() *runsData {
	return &runsData{
		StreamSeconds:   fmt.Sprintf("%.0f", r.Plan.Every.Seconds()),
		Tolerance:       fmt.Sprintf("%.0f", 100*bandwidthTolerance),
		SkeletonSeconds: fmt.Sprintf("%.1f", r.Plan.Trial.Seconds()),
		ProbeError:      fmt.Sprintf("%.0f", 100*measured.Median(absoluteValues(r.Probe.Error))),
		Rounds:          r.RoundCount(), Candidates: candidates, Alone: r.Plan.Alone,
		TrialSeconds: formatSeconds(measured.Median(r.trialSeconds())),
		ProbeSeconds: formatSeconds(measured.Median(r.Probe.Seconds)),
		Day:          r.Machine.At.Format("2006-01-02"), Machine: &r.Machine,
		Statements: r.CheckStatements(), Methods: methods, Slowdowns: r.slowdownRows(), Differing: r.differingRows(),
	}
}

// trialSeconds are the seconds of all skeletons of one choice.
func (r *Results) trialSeconds() []float64 {
	var list []float64
	for _, run := range r.Runs {
		sum := 0.0
		for _, t := range run.Trials {
			sum += t.Seconds * float64(t.Runs)
		}
		if sum > 0 {
			list = append(list, sum)
		}
	}
	return list
}

func absoluteValues(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = math.Abs(x)
	}
	return out
}

func formatSeconds(s float64) string { return fmt.Sprintf("%.1f s", s) }

// slowdownRows are the programs with the slowdown by each method, all together, and the paper.
func (r *Results) slowdownRows() (rows []string) {
	var all, published []string
	for _, m := range methods {
		all = append(all, formatInterval(measured.SpreadOf(r.byRound("", m))))
		if x, ok := paper[m]; ok {
			published = append(published, fmt.Sprintf("%.1f %%", 100*x))
		} else {
			published = append(published, "–")
		}
	}
	for _, p := range r.Plan.Programs {
		cells := []string{strings.ToUpper(p.Name),
			fmt.Sprintf("%.2f ± %.2f s", measured.Median(r.Alone[p.Name]), measured.SpreadOf(r.Alone[p.Name]).Sd)}
		for _, m := range methods {
			cells = append(cells, formatInterval(measured.SpreadOf(r.byRound(p.Name, m))))
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	return append(rows, "mean of a round | | "+strings.Join(all, " | "), "the paper | | "+strings.Join(published, " | "))
}

// differingRows say how often the methods disagree at all.
func (r *Results) differingRows() (rows []string) {
	for _, p := range r.Plan.Programs {
		same, other, gain := r.countDiffering(p.Name)
		text := "–"
		if other > 0 {
			text = fmt.Sprintf("%.0f points", 100*gain)
		}
		rows = append(rows, fmt.Sprintf("%s | %d of %d | %d | %s", strings.ToUpper(p.Name), same, r.RoundCount(), other,
			text))
	}
	return rows
}

// countDiffering counts the rounds in which pattern chose the hosts that all-all did, and
// those in which trial runs chose others than pattern, with the mean of what the
// slowdown was less there.
func (r *Results) countDiffering(program string) (same, other int, gain float64) {
	alone := measured.Median(r.Alone[program])
	for round := 1; round <= r.RoundCount(); round++ {
		pairs, pattern, trial := r.findRun(round, program, byPairs), r.findRun(round, program, byPattern),
			r.findRun(round, program, byTrialRun)
		if slices.Equal(slices.Sorted(slices.Values(pairs.Hosts)), slices.Sorted(slices.Values(pattern.Hosts))) {
			same++
		}
		if !slices.Equal(pattern.Hosts, trial.Hosts) {
			other++
			gain += (pattern.Seconds - trial.Seconds) / alone
		}
	}
	return same, other, gain / float64(max(1, other))
}

func (r *Results) findRun(round int, program, method string) *Run {
	return &r.Runs[slices.IndexFunc(r.Runs,
		func(run Run) bool { return run.Round == round && run.Program == program && run.Method == method })]
}

// costsData is what the report says of the time that choosing takes.
func (r *Results) costsData() *costsData {
	d := &costsData{Budget: fmt.Sprintf("%.0f", budget)}
	for _, p := range sized {
		d.Patterns = append(d.Patterns, fmt.Sprintf("%s of %d", p.name, p.nodes))
	}
	for _, n := range r.networkSizes() {
		cells := []string{strconv.Itoa(n)}
		for _, p := range sized {
			cells = append(cells, r.costCell(p.name, n))
		}
		d.Rows = append(d.Rows, strings.Join(cells, " | "))
	}
	return d
}

func (r *Results) costCell(pattern string, hosts int) string {
	s, proven := slowestCost(r.Costs, pattern, hosts)
	switch {
	case math.IsNaN(s):
		return "–"
	case proven:
		return fmt.Sprintf("%.2g s", s)
	}
	gap := 0.0
	for _, c := range r.Costs {
		if c.Pattern == pattern && c.Hosts == hosts {
			gap = max(gap, c.Gap)
		}
	}
	return fmt.Sprintf("(%.1f %%)", 100*gap)
}
