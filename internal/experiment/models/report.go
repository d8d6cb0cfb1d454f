package models

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/outfile"
	"github.com/godwit-hpc/godwit/internal/plot"
)

// Write writes models.md with its figure into a folder, and says where.
func (r *Results) Write(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "models"), 0o755); err != nil {
		return "", err
	}
	if err := r.figure().SaveSVG(filepath.Join(dir, "models", "predicted.svg")); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "models.md")
	f, err := outfile.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Discard()
	if _, err := f.Write([]byte(r.text())); err != nil {
		return "", err
	}
	return path, f.Commit()
}

// figure shows predicted against measured time of all programs, and the line on
// which both are equal.
func (r *Results) figure() plot.Chart {
	c := plot.Chart{Title: "CPU time at 2, 5 and 10 times the largest fitted size", XLabel: "measured, s", YLabel: "predicted, s",
		LogX: true, LogY: true}
	low, high := 1e9, 0.0
	for i, k := range r.Cases {
		var x, y []float64
		for _, p := range k.Checked {
			x, y = append(x, p.Measured), append(y, p.Predicted.Value)
			low, high = min(low, p.Measured), max(high, p.Measured)
		}
		s := plot.NewScatter(k.Name, x, y)
		s.Style = 1 + i
		c.Series = append(c.Series, s)
	}
	equal := plot.NewLine("equal", []float64{low, high}, []float64{low, high})
	equal.Style = 1 + len(r.Cases)
	c.Series = append(c.Series, equal)
	return c
}

func (r *Results) text() string {
	var b strings.Builder
	b.WriteString(`# Performance models: predicted against measured

Written by ` + "`godwit experiment models`" + `: a measurement of one machine, not a constant of nature.

Each of the example programs (examples/apps) was fitted at small sizes, as ` + "`godwit model fit`" + ` does it, and then run at two, five and ten
times the largest of them. What was measured is the median CPU time of three runs or more; noise is how far the least of them was below it.
The interval is the one that nine of ten runs should fall into.

`)
	for _, f := range factors {
		mean, hold, all := r.At(f)
		fmt.Fprintf(&b, "- at %g times the largest fitted size: mean error %.1f %%, %d of %d intervals hold\n", f, 100*mean, hold, all)
	}
	b.WriteString("\n![predicted against measured CPU time](models/predicted.svg)\n\n")
	b.WriteString("| program | fitted at | size | predicted | interval | of it memory | measured | noise | error |\n| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |\n")
	for _, c := range r.Cases {
		var sizes []string
		for _, run := range c.Model.Runs {
			sizes = append(sizes, fmt.Sprintf("%g", run.Size))
		}
		for i, k := range c.Checked {
			name, at := c.Name, strings.Join(sizes, ", ")
			if i > 0 {
				name, at = "", ""
			}
			in := ""
			if !k.Holds() {
				in = " **missed**"
			}
			fmt.Fprintf(&b, "| %s | %s | %g | %.3f s | %.3f to %.3f s%s | %.0f %% | %.3f s | %.0f %% | %+.1f %% |\n", name, at, k.Size,
				k.Predicted.Value, k.Predicted.Low, k.Predicted.High, in, 100*k.Waiting/k.Predicted.Value, k.Measured, 100*k.Noise, 100*k.Error())
		}
	}
	b.WriteString("\n## The formulas\n\n| program | counted by | instructions | error at sizes it was not fitted to | error of the CPU time |\n| --- | --- | --- | ---: | ---: |\n")
	for _, c := range r.Cases {
		best := c.Model.Work.Best()
		fmt.Fprintf(&b, "| %s | %s | %s | %.2f %% | %.1f %% |\n", c.Name, c.Model.Counter, best, 100*best.Error, 100*c.Model.Pace.Error)
	}
	h := r.Cases[0].Model.Host
	fmt.Fprintf(&b, "\n## The host\n\n%.2f G operations/s, %.2f GFlop/s, first touch of a page %.2f µs.\n\n| level | size | random line | line in order |\n| --- | ---: | ---: | ---: |\n",
		h.Operations/1e9, h.Flops/1e9, 1e6*h.Fault)
	for i, l := range h.Levels {
		name, size := fmt.Sprintf("cache %d", i+1), fmt.Sprintf("%.0f KiB", l.Bytes/1024)
		if l.Bytes == 0 {
			name, size = "memory", ""
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f ns | %.2f ns |\n", name, size, 1e9*l.Latency, 1e9*l.InOrder)
	}
	b.WriteString(`
## What the models rest on, and where they end

Instructions are counted exactly, so the formulas are good to a fraction of a per cent where the program's loops are what they seem. What an
instruction costs is learnt from CPU times of a few milliseconds, which other load on the machine disturbs; what a miss costs is measured on the
host, but how much of it the processor hides is not seen at sizes that fit into its caches: half of it is assumed, give or take a quarter, and the
interval says so.
`)
	return b.String()
}
