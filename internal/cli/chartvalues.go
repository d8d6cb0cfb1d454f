package cli

import (
	"bytes"
	"os"

	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// valuesBeside is the file for the values that a chart shows, beside that of the chart;
// "" if the chart goes to a device, or has this name itself.
func valuesBeside(chart string) string {
	if info, err := os.Stat(chart); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	if path := plot.ValuesPath(chart); path != chart {
		return path
	}
	return ""
}

// saveFigure draws a figure into a file, and writes its values to another unless that
// is "".
func saveFigure(f *plot.Figure, chart, values string) error {
	if values != "" {
		return f.Save(chart)
	}
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	return outfile.WriteAll(chart, svg.Bytes())
}

// sayChart tells of a chart that was drawn, and where its values are.
func (a *app) sayChart(chart string) {
	text := "wrote " + chart
	if values := valuesBeside(chart); values != "" {
		text += ", its values to " + values
	}
	a.SayLine(text)
}

// isSameFile tells whether two names are of one file that exists.
func isSameFile(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}
