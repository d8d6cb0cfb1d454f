package adaptive

import (
	_ "embed" // the template of the report
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
	text, err := r.reportMarkdown()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, folder+".md")
	return path, outfile.WriteAll(path, []byte(text))
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

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for. Parts are in per cent, times in
// seconds, unless their names say otherwise.
type reportData struct {
	*measured.Machine
	Date, File, Folder  string
	Home, Away          string
	Others              int // programs that come
	Length, OthersAfter float64
	Slack               float64
	AloneRuns           int
	OverheadRepeat      int
	Free                *freeCore // nil: nothing was run in (a) to (c)

	Verdicts            []Verdict
	Holding, Statements int

	Trials     []trialRow
	Paper      []paperRow
	Costs      []costRow
	PaperNoise float64
	Simulated  []simulatedRow
	Live       *liveTable // nil: nothing was run
	Together   []bandsRow
}

// freeCore is how much of a core a new process would have got before the runs.
type freeCore struct {
	Median, Least float64
	Busy          bool // with other work, so that the figures are not what the service can do
}

// paperRow is what the paper measured of one program.
type paperRow struct {
	Name, Alone, Without, Slowdown string
	Deadline, With                 float64
	Met                            bool
}

// trialRow is what was measured of one program, alone and disturbed.
type trialRow struct {
	*Trial
	Command                             string
	CPUShare                            float64
	CPU, Alone                          measured.Spread
	MedianError, AloneBands             string
	Without, WithoutMet, With, WithMet  string
	MovedAfter, Slowdown                string
	ThreeDeviations                     float64
	AloneShown, WithoutShown, WithShown string // bands that held, of all that were shown
}

func (r *Results) reportMarkdown() (string, error) {
	d := reportData{Machine: &r.Machine, Date: r.Machine.At.Format("2 January 2006"), File: r.Plan.File, Folder: folder,
		Home: Home, Away: Away, Others: r.Plan.Others.N, Length: r.Plan.Length.Seconds(),
		OthersAfter: r.Plan.Others.After.Seconds(), Slack: 100 * r.Plan.Slack, AloneRuns: r.Plan.Repeat + 1,
		OverheadRepeat: r.Plan.OverheadRepeat, Free: r.freeBefore(), Verdicts: r.CheckStatements(), Paper: paperRows(),
		Costs: r.costRows(), PaperNoise: 100 * paperNoise, Simulated: r.simulatedRows(), Live: r.Live.reportTable(),
		Together: r.togetherRows()}
	d.Holding, d.Statements = CountHolding(d.Verdicts)
	for i := range r.Trials {
		d.Trials = append(d.Trials, r.Trials[i].reportRow())
	}
	return measured.RenderReport(reportTemplate, d)
}

// VerdictText is the verdict in the report.
func (v *Verdict) VerdictText() string {
	if v.Holds {
		return "holds"
	}
	return "**does not hold**"
}

// freeBefore is what newcomers would have got before the runs of (a) to (c).
func (r *Results) freeBefore() *freeCore {
	free := r.freeShares()
	if len(free) == 0 {
		return nil
	}
	least := slices.Min(free)
	return &freeCore{Median: 100 * measured.Median(free), Least: 100 * least, Busy: least < idleShare}
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

// paperRows are the paper's programs beside which ours stand.
func paperRows() []paperRow {
	var rows []paperRow
	for _, f := range paperFigures() {
		row := paperRow{Name: f.name, Alone: fmt.Sprintf("%.1f", f.alone), Without: f.without,
			Slowdown: formatSlowdown(f.with, f.alone), Deadline: f.deadline, With: f.with, Met: f.met}
		if f.sd > 0 {
			row.Alone += fmt.Sprintf(" ± %.2f", f.sd)
		}
		rows = append(rows, row)
	}
	return rows
}

func (t *Trial) reportRow() trialRow {
	alone, cpu := t.aloneSpread(), t.cpuSpread()
	row := trialRow{Trial: t, Command: formatCommand(t.Argv), CPUShare: 100 * cpu.Mean / alone.Mean, CPU: cpu,
		Alone: alone, MedianError: formatPercent(measured.Median(errorsOf(t.Alone))),
		AloneBands: formatRatio(bandsOf(t.Alone)),
		Without:    formatTook(t.Without), WithoutMet: formatRatio(countMet(t.Without), len(t.Without)),
		With: formatTook(t.With), WithMet: formatRatio(countMet(t.With), len(t.With)), MovedAfter: "–",
		Slowdown: formatSlowdown(tookOf(t.With).Mean, alone.Mean), ThreeDeviations: 3 * alone.Sd,
		AloneShown: formatShare(bandsOf(t.Alone)), WithoutShown: formatShare(bandsOf(t.Without)),
		WithShown: formatShare(bandsOf(t.With))}
	if waits := measured.SpreadOf(reactionTimes(t.With)); waits.N > 0 {
		row.MovedAfter = fmt.Sprintf("%.1f s", waits.Mean)
	}
	return row
}

func formatTook(list []*Course) string {
	if len(list) == 0 {
		return "–"
	}
	s := tookOf(list)
	return fmt.Sprintf("%.1f ± %.1f s", s.Mean, s.Sd)
}

func formatSlowdown(with, alone float64) string {
	if with == 0 || alone == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*(with/alone-1))
}
