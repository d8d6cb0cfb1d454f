package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// samples are charts of every kind, small enough to be kept as golden files.
func samples() map[string]Figure {
	x := []float64{0, 1800, 3600, 5400, 7200}
	steps := Chart{
		Title: "Utilization", XLabel: "time", YLabel: "cores in use",
		XUnit: Seconds, YUnit: Percent,
		Series: []Series{
			NewStep("EGS", x, []float64{0, 0.8, 1, 0.6, 0.6}),
			NewStep("FPSMA", x, []float64{0, 0.5, 0.9, 0.9, 0.4}),
		},
		Lines: []RefLine{{Name: "mean", Y: 0.6}},
		Bands: []Band{{Name: "target", Min: 0.7, Max: 0.9}},
	}
	bars := Chart{
		Title: "Mean response time", YLabel: "mean", YUnit: Seconds,
		Categories: []string{"Wm", "Wmr", "W'm", "W'mr"},
		Series: []Series{
			NewBars("EGS", []float64{310, 420, 510, 700}),
			NewBars("FPSMA", []float64{290, 400, math.NaN(), 690}),
		},
	}
	cdf := Chart{
		Title: "Waiting", XLabel: "wait", YLabel: "jobs", XUnit: Seconds, YUnit: Percent, LogX: true,
		Series: []Series{NewCDF("EGS", []float64{0, 0, 3, 20, 90, 90, 4000}), NewCDF("FPSMA", []float64{5, 6, 7, 80, 8000})},
	}
	points := Chart{
		Title: "Size and cost", XLabel: "jobs", YLabel: "events", LogX: true, LogY: true,
		Series: []Series{
			NewScatter("measured", []float64{10, 100, 1000, 12000}, []float64{50, 420, 6000, 40000}),
			NewLine("linear", []float64{10, 12000}, []float64{40, 48000}),
		},
	}
	empty := Chart{Title: "Nothing", XLabel: "x", YLabel: "y",
		Series: []Series{NewLine("lost", []float64{math.NaN()}, []float64{1})}}
	return map[string]Figure{
		"steps": steps.asFigure(), "bars": bars.asFigure(), "cdf": cdf.asFigure(), "points": points.asFigure(),
		"empty": empty.asFigure(),
		"grid":  {Rows: 2, Cols: 2, Charts: []Chart{steps, bars, empty}, CellWidth: 240, CellHeight: 160},
	}
}

func render(t *testing.T, f Figure) string {
	t.Helper()
	var buf bytes.Buffer
	if err := f.WriteSVG(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestChartsLookAsTheyDidWhenWeLookedAtThem(t *testing.T) {
	for name, f := range samples() {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name+".svg")
			got := render(t, f)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the chart differs from %s; look at both, and if the new one is right run: go test "+
					"./internal/report/plot -update", golden)
			}
		})
	}
}

func TestTheSameChartGivesTheSameBytes(t *testing.T) {
	for name, f := range samples() {
		first := render(t, f)
		for range 20 {
			if render(t, f) != first {
				t.Fatalf("%s: two runs differ", name)
			}
		}
	}
}

// checkSVG fails unless svg is well-formed, holds only text in a generic font
// family, and has no coordinate that is not a number.
func checkSVG(t *testing.T, svg string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
	}
	if !strings.Contains(svg, "sans-serif") {
		t.Error("no generic font family")
	}
	for _, d := range regexp.MustCompile(` (?:d|x|y|width|height|viewBox|transform)="[^"]*"`).FindAllString(svg, -1) {
		if strings.Contains(d, "NaN") || strings.Contains(d, "Inf") {
			t.Fatalf("a coordinate that is none: %s", d)
		}
	}
}

func TestChartsAreWellFormedWhateverTheTextsSay(t *testing.T) {
	evil := "<b>&\"'\x00\x1b[31m\n\xff\ufffe]]>" + strings.Repeat("long ", 200)
	c := Chart{
		Title: evil, XLabel: evil, YLabel: evil, Categories: []string{evil, "b"},
		Series: []Series{NewBars(evil, []float64{1, 2})},
		Lines:  []RefLine{{evil, 1}}, Bands: []Band{{evil, 1, 2}},
	}
	checkSVG(t, render(t, c.asFigure()))
	for _, f := range samples() {
		checkSVG(t, render(t, f))
	}
}

func TestAChartWithoutDrawableValuesSaysSo(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]Chart{
		"no series":     {},
		"empty series":  {Series: []Series{NewLine("a", nil, nil)}},
		"not a number":  {Series: []Series{NewStep("a", []float64{nan, 1}, []float64{1, nan})}},
		"infinite":      {Series: []Series{NewScatter("a", []float64{inf, 1}, []float64{1, -inf})}},
		"absurd":        {Series: []Series{NewLine("a", []float64{1e308, -1e308}, []float64{1e308, 1})}},
		"log of zero":   {LogX: true, Series: []Series{NewLine("a", []float64{0, -1}, []float64{1, 1})}},
		"no samples":    {Series: []Series{NewCDF("a", []float64{nan})}},
		"no bars":       {Categories: []string{"a"}, Series: []Series{NewBars("b", []float64{nan})}},
		"only x":        {Series: []Series{{Kind: Line, X: []float64{1, 2}}}},
		"reference":     {Lines: []RefLine{{Y: 1}}},
		"unknown kind":  {Series: []Series{{Kind: 99}}},
		"log bars of 0": {LogY: true, Categories: []string{"a"}, Series: []Series{NewBars("b", []float64{0})}},
	} {
		t.Run(name, func(t *testing.T) {
			svg := render(t, c.asFigure())
			checkSVG(t, svg)
			if !strings.Contains(svg, ">no data<") {
				t.Error("the chart does not say that it has no data")
			}
		})
	}
}

func TestASeriesWithoutDataIsNamedInTheLegend(t *testing.T) {
	c := Chart{Series: []Series{NewLine("full", []float64{1, 2}, []float64{1, 2}), NewLine("empty", nil, nil)}}
	svg := render(t, c.asFigure())
	if !strings.Contains(svg, "empty (no data)") || strings.Contains(svg, "full (no data)") {
		t.Error("the legend does not say which series has no data")
	}
}

func TestChartsOfTheSameSeriesShareOneLegend(t *testing.T) {
	c := Chart{Series: []Series{NewLine("marginal", []float64{1, 2}, []float64{1, 2})}}
	if n := strings.Count(render(t, NewGrid(2, 2, c, c, c, c)), "marginal"); n != 1 {
		t.Errorf("the name stands %d times in the figure, want once", n)
	}
	other := Chart{Series: []Series{NewLine("folding", []float64{1, 2}, []float64{1, 2})}}
	if n := strings.Count(render(t, NewGrid(1, 2, c, other)), "marginal"); n != 1 {
		t.Errorf("the name stands %d times in the figure, want once", n)
	}
}

func TestSeriesDifferWithoutColour(t *testing.T) {
	seen := map[string]bool{}
	for i := range 7 {
		l := lookOf(i)
		key := fmt.Sprint(l.dashes, l.marker)
		if seen[key] {
			t.Errorf("look %d has the dashes and marker of another", i)
		}
		seen[key] = true
	}
	// The eighth has the colour of the first, and must differ otherwise.
	if a, b := lookOf(0), lookOf(7); a.color != b.color || a.dashes == b.dashes || a.marker == b.marker ||
		a.hatch == b.hatch {
		t.Errorf("looks %v and %v", a, b)
	}
}

func TestAStyleKeepsItsLookAtAnyPosition(t *testing.T) {
	s := NewLine("marginal", []float64{1, 2}, []float64{1, 2})
	s.Style = 5
	svg := render(t, Chart{Series: []Series{s}}.asFigure())
	if !strings.Contains(svg, palette[4]) || strings.Contains(svg, palette[0]) {
		t.Error("the series does not have the colour that its style names")
	}
}

func TestAFigureThatDoesNotFitIsAnError(t *testing.T) {
	for _, f := range []Figure{NewGrid(1, 1, Chart{}, Chart{}), NewGrid(0, 3), NewGrid(2, -1)} {
		if err := f.WriteSVG(io.Discard); err == nil {
			t.Errorf("%d charts in %d rows and %d columns: no error", len(f.Charts), f.Rows, f.Cols)
		}
	}
}

func TestSavingSaysWhichFileFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "chart.svg")
	if err := (Chart{}).Save(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names %s", err, path)
	}
	path = filepath.Join(t.TempDir(), "chart.svg")
	if err := (Chart{}).Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "chart.csv")); err != nil {
		t.Errorf("no values beside the chart: %v", err)
	}
}

func TestAYearOfEventsMakesASmallFile(t *testing.T) {
	var x, y []float64
	for i := range 500_000 {
		x, y = append(x, float64(i)), append(y, math.Sin(float64(i)/1e4)+float64(i%7))
	}
	for _, s := range []Series{NewStep("s", x, y), NewLine("l", x, y), NewScatter("p", x, y), NewCDF("c", y)} {
		svg := render(t, Chart{Series: []Series{s}}.asFigure())
		if len(svg) > 1_000_000 {
			t.Errorf("series %q makes a file of %s bytes", s.Name, strconv.Itoa(len(svg)))
		}
	}
}

func BenchmarkDistributionOfAMillion(b *testing.B) {
	samples := make([]float64, 1_000_000)
	for i := range samples {
		samples[i] = math.Mod(float64(i)*7919.17, 86400)
	}
	for b.Loop() {
		c := Chart{Series: []Series{NewCDF("waits", samples)}, XUnit: Seconds}
		if err := c.WriteSVG(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
