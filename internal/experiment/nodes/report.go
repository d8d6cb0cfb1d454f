package nodes

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// folder holds the figures of the report, beside it.
const folder = "node-selection"

// paper are the mean slowdowns that papers/002 gives, over all its programs.
var paper = map[string]float64{byChance: 0.40, byPairs: 0.276, byTrialRun: 0.202}

// byRound is the mean over programs (all, or one) in each round: rounds are
// independent of each other, the runs of a round are not, as they share a network.
func (r *Results) byRound(program, method string) []float64 {
	sum, n := make([]float64, r.RoundCount()), make([]float64, r.RoundCount())
	for _, run := range r.Runs {
		if run.Method == method && (program == "" || run.Program == program) {
			sum[run.Round-1] += run.Seconds/measured.Median(r.Alone[run.Program]) - 1
			n[run.Round-1]++
		}
	}
	for i := range sum {
		sum[i] /= n[i]
	}
	return sum
}

// RoundCount is how many were done.
func (r *Results) RoundCount() int {
	n := 0
	for _, run := range r.Runs {
		n = max(n, run.Round)
	}
	return n
}

// Statement is something that should come out, and what did.
type Statement struct {
	Says  string
	Saw   string
	Holds bool
}

// CheckStatements compares what was measured with what should be. Networks differ much from
// round to round, and all methods have the same: so methods are compared round by round,
// and how certain that is comes from drawing rounds again and again.
func (r *Results) CheckStatements() []Statement {
	if len(r.Runs) == 0 {
		return nil
	}
	chance, pairs, trial := r.byRound("", byChance), r.byRound("", byPairs), r.byRound("", byTrialRun)
	c, p, t := measured.SpreadOf(chance), measured.SpreadOf(pairs), measured.SpreadOf(trial)
	toChance, toPairs := measured.RatioOfMeans(trial, chance), measured.RatioOfMeans(trial, pairs)
	list := []Statement{
		{"pattern + skeleton has less than half of random's slowdown", ratioText(t, c, toChance), toChance.High < 0.5},
		{"pattern + skeleton has less than three quarters of all-all's slowdown", ratioText(t, p, toPairs),
			toPairs.High < 0.75},
		{"the intervals of the means do not overlap",
			fmt.Sprintf("random %s, all-all %s, pattern + skeleton %s", formatInterval(c), formatInterval(p), formatInterval(t)),
			t.Mean+t.HalfWidth() < p.Mean-p.HalfWidth() && p.Mean+p.HalfWidth() < c.Mean-c.HalfWidth()},
	}
	return append(list,
		r.checkBetter(byChance, 0, "pattern + skeleton is better than random for every program"),
		r.checkBetter(byPairs, 0, "pattern + skeleton is better than all-all for every program"),
		// Where all ranks send each other as much, all-all chooses by the program's pattern.
		r.checkBetter(byPairs, -0.05, "pattern + skeleton is at most 5 points behind all-all for every program"),
		// The first of the groups that are tried is pattern's, and often the best.
		r.checkBetter(byPattern, -0.05, "pattern + skeleton is at most 5 points behind pattern for every program"))
}

// checkBetter says whether pattern + skeleton gains more than so much over a method, for
// every program.
func (r *Results) checkBetter(method string, least float64, says string) Statement {
	s := Statement{Says: says, Holds: true}
	var saw []string
	for _, p := range r.Plan.Programs {
		d := measured.DifferenceOfMeans(r.byRound(p.Name, method), r.byRound(p.Name, byTrialRun))
		s.Holds = s.Holds && d.Low > least
		saw = append(saw, fmt.Sprintf("%s: by %.0f (%.0f to %.0f) points", p.Name, 100*d.Mean, 100*d.Low, 100*d.High))
	}
	s.Saw = strings.Join(saw, "; ")
	return s
}

func ratioText(a, b measured.Spread, ratio measured.Paired) string {
	return fmt.Sprintf("%s of %s: %.2f, in pairs %.2f to %.2f", formatInterval(a), formatInterval(b), ratio.Mean,
		ratio.Low, ratio.High)
}

func formatInterval(s measured.Spread) string {
	return fmt.Sprintf("%.0f ± %.0f %%", 100*s.Mean, 100*s.HalfWidth())
}

// Write writes node-selection.md and its figures into dir and returns the path of
// the report.
func (r *Results) Write(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	figures := map[string]plot.Chart{}
	if len(r.Runs) > 0 {
		figures["slowdown.svg"] = r.slowdownChart()
	}
	if len(r.Costs) > 0 {
		figures["cost.svg"] = r.costChart()
	}
	for name, c := range figures { // order-free: each is a file of its own
		if err := c.Save(filepath.Join(dir, folder, name)); err != nil {
			return "", err
		}
	}
	text, err := r.reportMarkdown()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, folder+".md")
	return path, outfile.WriteAll(path, []byte(text))
}

// slowdownChart is the paper's Figure 3 with ours.
func (r *Results) slowdownChart() plot.Chart {
	c := plot.Chart{Title: "Slowdown of the programs by traffic of others, 95 % intervals",
		YLabel: "slowdown over an unloaded run", YUnit: plot.Percent, Width: 560}
	for _, p := range r.Plan.Programs {
		c.Categories = append(c.Categories, strings.ToUpper(p.Name))
	}
	c.Categories = append(c.Categories, "mean", "paper's mean")
	for _, m := range methods {
		s := plot.NewBars(m, nil)
		add := func(mean, half float64) {
			s.Y, s.Low, s.High = append(s.Y, mean), append(s.Low, mean-half), append(s.High, mean+half)
		}
		for _, p := range r.Plan.Programs {
			spread := measured.SpreadOf(r.byRound(p.Name, m))
			add(spread.Mean, spread.HalfWidth())
		}
		spread := measured.SpreadOf(r.byRound("", m))
		add(spread.Mean, spread.HalfWidth())
		mean, ok := paper[m]
		if !ok {
			mean = math.NaN()
		}
		add(mean, math.NaN()) // the paper gives no interval
		c.Series = append(c.Series, s)
	}
	return c
}

// costChart is how long choosing takes as networks grow.
func (r *Results) costChart() plot.Chart {
	c := plot.Chart{Title: "Time until the best choice is proven", XLabel: "hosts of a complete graph",
		YLabel: "time to proof, slowest graph (s)", LogX: true, LogY: true,
		Lines: []plot.RefLine{{Name: "goal: 2 s", Y: 2}}}
	for _, p := range sized {
		var x, y []float64
		for _, n := range r.networkSizes() {
			if s, _ := slowestCost(r.Costs, p.name, n); !math.IsNaN(s) {
				x, y = append(x, float64(n)), append(y, s)
			}
		}
		c.Series = append(c.Series, plot.NewLine(fmt.Sprintf("%s of %d", p.name, p.nodes), x, y))
	}
	return c
}

func (r *Results) networkSizes() []int {
	var list []int
	for _, c := range r.Costs {
		if !slices.Contains(list, c.Hosts) {
			list = append(list, c.Hosts)
		}
	}
	return list
}

// CheckComplete reports what is wrong with results that were read: every round must have a run
// of each program by each method, and each program runs alone.
func (r *Results) CheckComplete() error {
	seen := map[string]bool{}
	for i, run := range r.Runs {
		known := slices.ContainsFunc(r.Plan.Programs, func(p Program) bool { return p.Name == run.Program })
		if !known || !slices.Contains(methods, run.Method) || run.Round < 1 || run.Round > len(r.Runs) || !(run.Seconds > 0) {
			return fmt.Errorf("run %d is none of one of its programs by one of the methods", i)
		}
		seen[fmt.Sprint(run.Round, run.Program, run.Method)] = true
	}
	if len(seen) != r.RoundCount()*len(r.Plan.Programs)*len(methods) {
		return fmt.Errorf("%d different runs in %d rounds", len(seen), r.RoundCount())
	}
	for _, p := range r.Plan.Programs {
		if !(measured.Median(r.Alone[p.Name]) > 0) {
			return fmt.Errorf("%s did not run alone", p.Name)
		}
	}
	return nil
}
