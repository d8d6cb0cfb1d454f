package nodes

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/outfile"
	"github.com/godwit-hpc/godwit/internal/plot"
)

// folder holds the figures of the report, beside it.
const folder = "node-selection"

// paper are the mean slowdowns that papers/002 gives, over all its programs.
var paper = map[string]float64{byChance: 0.40, byPairs: 0.276, byTrialRun: 0.202}

// slowdowns are those of a method, of one program or of all if it is "": how much
// longer than alone.
func (r *Results) slowdowns(program, method string) []float64 {
	var list []float64
	for _, run := range r.Runs {
		if run.Method == method && (program == "" || run.Program == program) {
			list = append(list, run.Seconds/measured.Median(r.Alone[run.Program])-1)
		}
	}
	return list
}

// byRound is the mean over all programs in each round: rounds are independent of
// each other, the runs of a round are not, as they share a network.
func (r *Results) byRound(method string) []float64 {
	var list []float64
	for round := 1; round <= r.Plan.Rounds; round++ {
		var of []float64
		for _, run := range r.Runs {
			if run.Method == method && run.Round == round {
				of = append(of, run.Seconds/measured.Median(r.Alone[run.Program])-1)
			}
		}
		if len(of) > 0 {
			list = append(list, measured.Of(of).Mean)
		}
	}
	return list
}

// Statement is something that should come out, and what did.
type Statement struct {
	Says  string
	Saw   string
	Holds bool
}

// Check compares what was measured with what should be.
func (r *Results) Check() []Statement {
	if len(r.Runs) == 0 {
		return nil
	}
	chance, pairs, trial := measured.Of(r.byRound(byChance)), measured.Of(r.byRound(byPairs)), measured.Of(r.byRound(byTrialRun))
	list := []Statement{
		{"pattern + skeleton has less than half of random's slowdown", ratioText(trial, chance), trial.Mean < chance.Mean/2},
		{"pattern + skeleton has less than three quarters of all-all's slowdown", ratioText(trial, pairs), trial.Mean < 0.75*pairs.Mean},
		{"their intervals do not overlap", fmt.Sprintf("%s, %s, %s", interval(chance), interval(pairs), interval(trial)),
			trial.Mean+trial.Half() < pairs.Mean-pairs.Half() && pairs.Mean+pairs.Half() < chance.Mean-chance.Half()},
	}
	best := Statement{Says: "pattern + skeleton is best for every program", Holds: true}
	var saw []string
	for _, p := range r.Plan.Programs {
		mine := measured.Of(r.slowdowns(p.Name, byTrialRun)).Mean
		var beaten []string
		for _, m := range methods[:len(methods)-1] {
			if measured.Of(r.slowdowns(p.Name, m)).Mean < mine {
				beaten = append(beaten, m)
			}
		}
		if best.Holds = best.Holds && beaten == nil; beaten != nil {
			saw = append(saw, p.Name+": "+strings.Join(beaten, ", ")+" is better")
		} else {
			saw = append(saw, p.Name+": it is")
		}
	}
	best.Saw = strings.Join(saw, "; ")
	return append(list, best)
}

func ratioText(a, b measured.Spread) string {
	return fmt.Sprintf("%s of %s: %.2f", interval(a), interval(b), a.Mean/b.Mean)
}

func interval(s measured.Spread) string {
	return fmt.Sprintf("%.0f ± %.0f %%", 100*s.Mean, 100*s.Half())
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
		if err := c.SaveSVG(filepath.Join(dir, folder, name)); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, folder+".md")
	return path, outfile.WriteAll(path, []byte(r.markdown()))
}

// slowdownChart is the paper's Figure 3 with ours.
func (r *Results) slowdownChart() plot.Chart {
	c := plot.Chart{Title: "Slowdown by programs of others on the network", YLabel: "longer than alone", YUnit: plot.Percent, Width: 560}
	for _, p := range r.Plan.Programs {
		c.Categories = append(c.Categories, strings.ToUpper(p.Name))
	}
	c.Categories = append(c.Categories, "mean", "paper's mean")
	for _, m := range methods {
		var y []float64
		for _, p := range r.Plan.Programs {
			y = append(y, measured.Of(r.slowdowns(p.Name, m)).Mean)
		}
		mean, ok := paper[m]
		if !ok {
			mean = math.NaN()
		}
		c.Series = append(c.Series, plot.NewBars(m, append(y, measured.Of(r.byRound(m)).Mean, mean)))
	}
	return c
}

// costChart is how long choosing takes as networks grow.
func (r *Results) costChart() plot.Chart {
	c := plot.Chart{Title: "Time until the best choice is proven", XLabel: "hosts, all connected", YLabel: "seconds", LogX: true, LogY: true,
		Lines: []plot.RefLine{{Name: "2 s", Y: 2}}}
	for _, p := range sized {
		var x, y []float64
		for _, n := range r.sizes() {
			if s, _ := slowest(r.Costs, p.name, n); !math.IsNaN(s) {
				x, y = append(x, float64(n)), append(y, s)
			}
		}
		c.Series = append(c.Series, plot.NewLine(fmt.Sprintf("%s of %d", p.name, p.nodes), x, y))
	}
	return c
}

func (r *Results) sizes() []int {
	var list []int
	for _, c := range r.Costs {
		if !slices.Contains(list, c.Hosts) {
			list = append(list, c.Hosts)
		}
	}
	return list
}
