package models

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// Write writes models.md with its figure into a folder, and says where.
func (r *Results) Write(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "models"), 0o755); err != nil {
		return "", err
	}
	if err := r.predictionFigure().Save(filepath.Join(dir, "models", "predicted.svg")); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "models.md")
	f, err := outfile.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Discard()
	if _, err := f.Write([]byte(r.reportText())); err != nil {
		return "", err
	}
	return path, f.Commit()
}

// predictionFigure shows predicted against measured time of all programs with the intervals of
// the predictions, and the line on which both are equal.
func (r *Results) predictionFigure() plot.Chart {
	c := plot.Chart{Title: "CPU time at 2, 5 and 10 times the largest fitted size",
		XLabel: "measured CPU time (s)", YLabel: "predicted CPU time (s), 90 % interval",
		LogX: true, LogY: true}
	low, high := 1e9, 0.0
	for i, k := range r.Cases {
		s := plot.NewScatter(k.Name, nil, nil)
		for _, p := range k.Checked {
			s.X, s.Y = append(s.X, p.Measured), append(s.Y, p.Predicted.Value)
			s.Low, s.High = append(s.Low, p.Predicted.Low), append(s.High, p.Predicted.High)
			low, high = min(low, p.Measured), max(high, p.Measured)
		}
		s.Style = 1 + i
		c.Series = append(c.Series, s)
	}
	equal := plot.NewLine("predicted = measured", []float64{low, high}, []float64{low, high})
	equal.Style, equal.NoMarkers = 1+len(r.Cases), true
	c.Series = append(c.Series, equal)
	return c
}

func (r *Results) reportText() string {
	var b strings.Builder
	b.WriteString(`# Performance models: predicted against measured

Written by ` + "`godwit-experiments models`" + `: a measurement of one machine, not a constant of nature.

Each program was fitted at small sizes, as ` + "`godwit model fit`" + ` does it, and then run at two, five and ten times the largest of them, three times
or more. Measured is the mean CPU time of these runs, spread their standard deviation. The interval is the one that nine of ten runs should fall
into.

This host is not equally fast all the time: while a neighbour uses the other half of a core, equal work needs up to half as much CPU time again. A small
fixed piece of work on the same processor tells how much, beside every run: 1 is what the calibration of the host promises. What is predicted, and its
error, is what a user sees: the host is looked at for half a second before the runs, as ` + "`godwit model predict`" + ` does, and half of what it is faster
or slower then than when the program was fitted is taken to last. The last column is the error of the prediction for a host as slow as it turned out to
be: that of the model alone.

Two kinds of programs: the examples (examples/apps), at which models were looked at while they were made, and those in examples/apps/heldout,
which serve for nothing but this table, but for one look at two of them. What was changed because of what the table showed: memory that is read in order is taken to overlap with
computing, as far as it was measured to on the host, and accesses in order and at random are told apart in one fit (matmul and fft were predicted far too
high); matmul and fft are fitted at larger sizes (their largest took less than 10 ms); what it costs to begin and end inner loops is a part of its own
(matmul); lines that were written to cost more, since they go back to memory, too (stencil, but also scan and gauss of the held out were predicted too
low). Programs may have been measured at different times and with different budgets.

| programs | times the largest fitted size | mean error | intervals that hold the mean | runs in the interval | mean error of the model alone |
| --- | ---: | ---: | ---: | ---: | ---: |
`)
	r.writeErrors(&b)
	b.WriteString("\n![predicted against measured CPU time](models/predicted.svg)\n\n")
	r.writeCases(&b)
	b.WriteString("\n## The formulas\n\n| program | counted by | instructions | error at sizes it was not fitted to | error of the CPU time |\n| --- | --- | --- | ---: | ---: |\n")
	for _, c := range r.Cases {
		best := c.Model.Work.BestFormula()
		fmt.Fprintf(&b, "| %s | %s | %s | %.2f %% | %.1f %% |\n", c.Name, c.Model.Counter, best, 100*best.Error, 100*c.Model.Pace.Error)
	}
	r.writeHost(&b)
	b.WriteString(`
## What the models rest on, and where they end

Instructions are counted exactly, so the formulas are good to a fraction of a per cent where the program's loops are what they seem. What an
instruction costs is learnt from CPU times of a few milliseconds, on a machine that may be half as fast a moment later; that is looked at beside each
run and taken out, as far as the program feels it as the small piece of work does. What is left of it is the spread of the runs, and part of the
interval. What a line costs is measured on the host for every distance at which it comes back; how much of it the processor hides is hardly seen at
sizes that fit into its caches. There it is what the host hides in a loop that computes, and for lines at random places what is known of processors in
general, and the interval is wide.
`)
	return b.String()
}

// writeErrors sums up by kind of program and by how far beyond the fitted sizes.
func (r *Results) writeErrors(b *strings.Builder) {
	for _, kind := range []struct {
		name    string
		heldOut bool
	}{{"examples", false}, {"held out", true}} {
		for _, f := range append(slices.Clone(factors), 0) {
			s, at := r.SummaryAt(f, kind.heldOut), fmt.Sprintf("%g", f)
			if f == 0 {
				at = "all"
			}
			if s.All > 0 {
				fmt.Fprintf(b, "| %s | %s | %.1f %% | %d of %d | %.0f %% | %.1f %% |\n", kind.name, at, 100*s.Error, s.Hold, s.All, 100*float64(s.Runs)/float64(s.Seen), 100*s.Known)
			}
		}
	}
}

// writeCases tells of every size that was run.
func (r *Results) writeCases(b *strings.Builder) {
	b.WriteString("| program | fitted at | size | predicted | interval | of it memory | measured | spread | error | slowness of the host | error of the model alone |\n| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range r.Cases {
		title := c.Name
		if c.HeldOut {
			title += " (held out)"
		}
		var sizes []string
		for _, run := range c.Model.Runs {
			sizes = append(sizes, fmt.Sprintf("%g", run.Size))
		}
		for i, k := range c.Checked {
			name, at := title, strings.Join(sizes, ", ")
			if i > 0 {
				name, at = "", ""
			}
			in := ""
			if !k.IsWithin() {
				in = " **missed**"
			}
			fmt.Fprintf(b, "| %s | %s | %g | %.3f s | %.3f to %.3f s%s | %.0f %% | %.3f s | %.0f %% | %+.1f %% | %.2f | %+.1f %% |\n", name, at, k.Size,
				k.Predicted.Value, k.Predicted.Low, k.Predicted.High, in, 100*k.Waiting/k.Predicted.Value, k.Measured, 100*k.Noise, 100*k.Error(), k.Slow, 100*k.KnownError())
		}
	}
}

// writeHost tells the rates of the machine.
func (r *Results) writeHost(b *strings.Builder) {
	h := r.Cases[0].Model.Host
	fmt.Fprintf(b, "\n## The host\n\n%.2f G operations/s, %.2f GFlop/s, first touch of a page %.2f µs. The same work takes longer or shorter by %.0f %% from one time to the next.\n\n| comes back within | random line | line in order | of it beside computing | line in order, written to | of it beside computing |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n",
		h.Operations/1e9, h.Flops/1e9, 1e6*h.Fault, 100*h.Spread)
	for _, l := range h.Levels {
		size := fmt.Sprintf("%.0f KiB", l.Bytes/1024)
		if l.Bytes == 0 {
			size = "more"
		}
		fmt.Fprintf(b, "| %s | %.1f ns | %.2f ns | %.0f %% | %.2f ns | %.0f %% |\n", size, 1e9*l.Latency, 1e9*l.InOrder, 100*l.Beside, 1e9*l.Written, 100*l.BesideWritten)
	}
}
