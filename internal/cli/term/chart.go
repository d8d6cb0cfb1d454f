package term

import (
	"bytes"
	"os"

	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// ValuesBeside is the file for the values that a chart shows, beside that of the chart;
// "" if the chart goes to a device, or has this name itself.
func ValuesBeside(chart string) string {
	if info, err := os.Stat(chart); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	if path := plot.ValuesPath(chart); path != chart {
		return path
	}
	return ""
}

// SaveFigure draws a figure into a file, and writes its values to another unless that
// is "".
func SaveFigure(f *plot.Figure, chart, values string) error {
	if values != "" {
		return f.Save(chart)
	}
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	return outfile.WriteAll(chart, svg.Bytes())
}

// SayChart tells of a chart that was drawn, and where its values are.
func (a *App) SayChart(chart string) {
	text := "wrote " + chart
	if values := ValuesBeside(chart); values != "" {
		text += ", its values to " + values
	}
	a.SayLine(text)
}
