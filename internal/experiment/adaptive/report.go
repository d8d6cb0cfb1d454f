package adaptive

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// folder holds the figures of the report, beside it.
const folder = "adaptive-broker"

// Write writes adaptive-broker.md and its figures into dir and returns the path
// of the report. The same results give the same bytes.
func (r *Results) Write(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	for _, f := range r.measuredFigures() {
		if err := f.figure.Save(filepath.Join(dir, folder, f.name)); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, folder+".md")
	return path, outfile.WriteAll(path, []byte(r.reportMarkdown()))
}

type namedFigure struct {
	name   string
	figure plot.Figure
}

// measuredFigures are those for which something was measured.
func (r *Results) measuredFigures() []namedFigure {
	var list []namedFigure
	grid := func(name string, of func(t *Trial) []*Course) {
		var charts []plot.Chart
		for i := range r.Trials {
			if runs := of(&r.Trials[i]); len(runs) > 0 {
				charts = append(charts, runs[len(runs)-1].leftChart())
			}
		}
		if len(charts) > 0 {
			f := plot.NewGrid(1, len(charts), charts...)
			f.CellWidth, f.CellHeight = 320, 230
			list = append(list, namedFigure{name, f})
		}
	}
	grid("alone.svg", func(t *Trial) []*Course { return t.Alone })
	grid("without.svg", func(t *Trial) []*Course { return t.Without })
	grid("with.svg", func(t *Trial) []*Course { return t.With })
	if len(r.Costs) > 0 {
		list = append(list, namedFigure{"overhead.svg", r.overheadFigure()})
	}
	if r.Live != nil && len(r.Live.Runs) > 0 {
		list = append(list, namedFigure{"live.svg", r.Live.liveFigure()})
	}
	return list
}

// overheadFigure is figure 5.20 of the paper: normalised completion times by
// interval, and the share of a processor that watching takes.
func (r *Results) overheadFigure() plot.Figure {
	times := plot.Chart{Title: "Completion time against plain exec", XLabel: "sampling interval",
		YLabel: "completion time / plain exec", XUnit: plot.Seconds, LogX: true,
		Lines:  []plot.RefLine{{Name: "plain exec", Y: 1}},
		Bands:  []plot.Band{{Name: "the paper's 95 % interval", Min: 1 - paperNoise, Max: 1 + paperNoise}},
		YRange: plot.Range{Min: 0.94, Max: 1.06}}
	shares := plot.Chart{Title: "CPU time of the agent", XLabel: "sampling interval", YLabel: "share of one core",
		XUnit: plot.Seconds, LogX: true, LogY: true, YUnit: plot.Percent,
		Lines: []plot.RefLine{{Name: "limit at 2 s", Y: mostWatching}}}
	plain := map[int]float64{}
	var x, y, sx, sy []float64
	for _, c := range r.Costs {
		switch {
		case c.Every == 0:
			plain[c.Round] = c.Wall
		case !c.Sandbox && plain[c.Round] > 0:
			relative := c.Wall / plain[c.Round]
			x, y = append(x, c.Every.Seconds()), append(y, relative)
			times.YRange = plot.Range{Min: min(times.YRange.Min, relative-0.01), Max: max(times.YRange.Max, relative+0.01)}
			sx, sy = append(sx, c.Every.Seconds()), append(sy, c.Watch)
		}
	}
	times.Series = []plot.Series{testbed.WithStyle(plot.NewScatter("one run", x, y), testbed.StylePredicted)}
	shares.Series = []plot.Series{testbed.WithStyle(plot.NewScatter("one run", sx, sy), testbed.StylePredicted)}
	f := plot.NewGrid(1, 2, times, shares)
	f.CellWidth, f.CellHeight = 400, 240
	return f
}

func (r *Results) reportMarkdown() string {
	var b strings.Builder
	r.writeHead(&b)
	r.writeVerdicts(&b)
	if len(r.Trials) > 0 {
		r.writeAlone(&b)
		r.writeDisturbed(&b)
	}
	if len(r.Costs) > 0 {
		r.writeOverhead(&b)
	}
	r.writeCalibration(&b)
	return b.String()
}

const head = `# The adaptive broker

What chapter 5 of papers/004 did on its test-bed and on the White Rose Grid, done
live on one machine with the real broker, agents and checkpoints: a program with a
deadline runs alone (a); %d other programs begin to compute on its core and
nothing is done about it (b); the same with the adaptive service (c); what the
service costs (d); and how far its predictions can be trusted, in many short runs
under changing load (e). Two clusters, %s and %s, are one core each; the program
begins in the first. Times are scaled down: about %.0f s alone where the paper's
programs took 8 minutes to over an hour.

This file is written by ` + "`godwit-experiments adaptive`" + ` from ` + "`%s`" + `;
every number and verdict is computed from the runs.

Measured on %s, on %d cores (%s), %s, %s, %s. Load averages (1, 5, 15 minutes)
before the experiment %s, after it %s.
`

func (r *Results) writeHead(b *strings.Builder) {
	m := &r.Machine
	who := "as an ordinary user"
	if m.Root {
		who = "as root"
	}
	fmt.Fprintf(b, head, r.Plan.Others.N, Home, Away, r.Plan.Length.Seconds(), r.Plan.File, m.At.Format("2 January 2006"),
		m.CPUs, m.Model, m.Kernel, who,
		"everything in `/tmp` on its disk", m.LoadBefore, m.LoadAfter)
	if free := r.freeShares(); len(free) > 0 {
		fmt.Fprintf(b, "Before the runs of (a) to (c) a new process would have got %.0f %% of the core of the "+
			"busier\ncluster in the median, %.0f %% at least.", 100*measured.Median(free), 100*slices.Min(free))
		if slices.Min(free) < idleShare {
			b.WriteString(" **The machine was busy with other work**: what\nfollows is what comes out under such a load, not " +
				"what the service can do at best.")
		}
		b.WriteString("\n")
	}
}

// freeShares lists what newcomers would have got before each run of (a) to (c).
func (r *Results) freeShares() []float64 {
	var list []float64
	for i := range r.Trials {
		t := &r.Trials[i]
		for _, c := range slices.Concat(t.Alone, t.With, t.Without) {
			list = append(list, c.Free)
		}
	}
	return list
}

func (r *Results) writeVerdicts(b *strings.Builder) {
	verdicts := r.CheckStatements()
	b.WriteString("\n## What the paper says, what we see\n\n| part | statement | checked as | we see | |\n| --- | --- | " +
		"--- | --- | --- |\n")
	for _, v := range verdicts {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", v.Where, v.Says, v.Rule, v.Saw, v.VerdictText())
	}
	holds, all := CountHolding(verdicts)
	fmt.Fprintf(b, "\n%d of the %d statements hold.\n", holds, all)
}

// VerdictText is the verdict in the report.
func (v *Verdict) VerdictText() string {
	if v.Holds {
		return "holds"
	}
	return "**does not hold**"
}

func (r *Results) writeAlone(b *strings.Builder) {
	b.WriteString("\n## (a) Alone: predicted against actual remaining time\n\n")
	fmt.Fprintf(b, "Every program runs %d times in the sandbox. What it needs (the paper's T100) is known\nfrom the "+
		"runs before, so of the first nothing is predicted unless it reports progress.\n"+
		"The figure is the paper's 5.8, 5.9, 5.14 and 5.15, with the band that nine ends of ten are to lie in.\n",
		r.Plan.Repeat+1)
	b.WriteString("\n![Predicted and actual remaining time, alone](" + folder + "/alone.svg)\n")
	b.WriteString("\n| program | stands for | predicted from | CPU share | CPU time | completion | median error | ends " +
		"inside the 90 % band |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range r.Trials {
		t := &r.Trials[i]
		from := "CPU time"
		if t.Steps {
			from = "reported steps"
		}
		cpu := t.cpuSpread()
		s := t.aloneSpread()
		held, all := bandsOf(t.Alone)
		fmt.Fprintf(b, "| %s | %s | %s | %.0f %% | %.1f ± %.2f s | %.1f ± %.2f s | %s | %s |\n", formatCommand(t.Argv),
			t.Like, from,
			100*cpu.Mean/s.Mean, cpu.Mean, cpu.Sd, s.Mean, s.Sd, formatPercent(measured.Median(errorsOf(t.Alone))),
			formatRatio(held, all))
	}
	b.WriteString("\nMean ± standard deviation. The error is that of the remaining time, as a part of it, from\none " +
		"third of the run on and before its last twentieth; bands are counted from one tenth on.\n")
}

// cpuSpread is the CPU time of the undisturbed runs.
func (t *Trial) cpuSpread() measured.Spread {
	var list []float64
	for _, c := range t.Alone {
		list = append(list, c.Final.CPUS)
	}
	return measured.SpreadOf(list)
}

// idleShare is the part of a processor that a newcomer gets on a machine that counts as
// idle.
const idleShare = 0.8

// formatCommand is a command without folders, as code.
func formatCommand(argv []string) string { return "`" + strings.Join(shortCommand(argv), " ") + "`" }

func formatRatio(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", n, of)
}

func formatPercent(x float64) string {
	if x != x { // not a number: nothing was predicted
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*x)
}

func (r *Results) writeDisturbed(b *strings.Builder) {
	b.WriteString("\n## (b) and (c) Others begin to compute on the same core\n\n")
	fmt.Fprintf(b, "%d programs that only compute begin %.0f s after submission. The deadline is the mean\ncompletion "+
		"time of (a) and three standard deviations, but at least %.1f %% more than the mean:\n"+
		"three deviations of a machine that does nothing else are less than a move can take. (The\npaper's first deadline "+
		"is the time the job takes with 90 %% of the core, as this least one.)\n",
		r.Plan.Others.N, r.Plan.Others.After.Seconds(), 100*r.Plan.Slack)
	b.WriteString("\n| program | alone | deadline | without the service | met | with it | met | moved after | slowed " +
		"down by |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, f := range paperFigures() {
		alone := fmt.Sprintf("%.1f", f.alone)
		if f.sd > 0 {
			alone += fmt.Sprintf(" ± %.2f", f.sd)
		}
		fmt.Fprintf(b, "| paper: %s | %s s | %.1f s | %s s | no | %.1f s | %s | – | %s |\n", f.name, alone, f.deadline,
			f.without, f.with, yesOrNo(f.met), formatSlowdown(f.with, f.alone))
	}
	for i := range r.Trials {
		r.writeTrial(b, &r.Trials[i])
	}
	b.WriteString("\nThe paper's single runs; ours mean ± standard deviation, deadlines met of how many. Moved\nafter: " +
		"seconds from the arrival of the others to the decision, the mean. Slowed down: with the\nservice against alone.\n")
	for _, t := range r.Trials {
		if t.Floored {
			fmt.Fprintf(b, "For `%s` the least slack counts: three deviations would be %.2f s.\n", t.Name, 3*t.aloneSpread().Sd)
		}
	}
	b.WriteString("\nWithout the service (the paper's 5.10, 5.11, 5.16, 5.17), the last run of each:\n\n![Predicted and " +
		"actual remaining time, disturbed, without the service](" + folder + "/without.svg)\n")
	b.WriteString("\nWith it (5.12, 5.13, 5.18, 5.19):\n\n![Predicted and actual remaining time, disturbed, with the " +
		"service](" + folder + "/with.svg)\n")
}

func (r *Results) writeTrial(b *strings.Builder, t *Trial) {
	took := func(list []*Course) string {
		if len(list) == 0 {
			return "–"
		}
		s := tookOf(list)
		return fmt.Sprintf("%.1f ± %.1f s", s.Mean, s.Sd)
	}
	waits := measured.SpreadOf(reactionTimes(t.With))
	after := "–"
	if waits.N > 0 {
		after = fmt.Sprintf("%.1f s", waits.Mean)
	}
	s := t.aloneSpread()
	fmt.Fprintf(b, "| %s | %.1f ± %.2f s | %.1f s | %s | %s | %s | %s | %s | %s |\n", formatCommand(t.Argv), s.Mean, s.Sd,
		t.Deadline,
		took(t.Without), formatRatio(countMet(t.Without), len(t.Without)), took(t.With),
		formatRatio(countMet(t.With), len(t.With)), after, formatSlowdown(tookOf(t.With).Mean, s.Mean))
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func formatSlowdown(with, alone float64) string {
	if with == 0 || alone == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*(with/alone-1))
}
