// Package plot draws the charts of our reports: lines, steps, distributions,
// points and grouped bars, alone or several to a figure, as SVG. The same
// input gives the same bytes, so a chart can be kept beside the text that
// speaks of it. What a value means is the caller's business: the package must
// not know of jobs, policies or experiments, and it hides the library that
// does the drawing.
package plot

import "io"

// Chart is one coordinate system with what is drawn in it. Values that cannot
// be drawn (not a number, infinite, zero or less on a logarithmic axis) are
// left out; a chart with nothing left says so.
type Chart struct {
	Title  string
	XLabel string
	YLabel string

	Series     []Series
	Categories []string // what the groups of bars stand for, from left to right
	Lines      []RefLine
	Bands      []Band

	XUnit, YUnit   Unit
	LogX, LogY     bool
	XRange, YRange Range // where not given, what the series need

	// Width and Height are in points of 1/72 inch, the legend not counted;
	// 0 means 480 by 280.
	Width, Height float64
}

// Range is the part of an axis to show. The zero Range means: decide yourself.
type Range struct{ Min, Max float64 }

// RefLine is a horizontal line for comparison.
type RefLine struct {
	Name string
	Y    float64
}

// Band is a horizontal band: the values from Min to Max.
type Band struct {
	Name     string
	Min, Max float64
}

// Unit is how the ticks of an axis are written.
type Unit int

// The units of an axis.
const (
	Plain   Unit = iota // 1,500
	Seconds             // values in seconds, written as s, min, h or d
	Percent             // fractions: 0.5 is written 50 %
	Count               // as Plain, with ticks at whole numbers only
)

// Kind is how a series is drawn.
type Kind int

// The kinds of series.
const (
	Line    Kind = iota // points joined in the order given
	Step                // a value that holds until the next one
	Scatter             // points
	Bar                 // one bar in each category; X is not used
	CDF                 // a distribution, as NewCDF makes it
	Area                // the values between Low and High, shaded; Y is not used
)

// Series is one named set of values. X and Y belong together by index.
type Series struct {
	Name string
	Kind Kind
	X, Y []float64
	// Low and High are the intervals of the values, drawn as error bars (of an Area: its
	// edges); nil: none.
	Low, High []float64
	// NoMarkers leaves out the points of a line that has few: it is no data.
	NoMarkers bool
	// Style chooses colour, dashes and marker, counted from 1; 0 takes the
	// position in the chart. It keeps a policy blue in every chart of a figure
	// although the first chart has more series than the second.
	Style int
}

// NewLine is a series of points joined in the order given.
func NewLine(name string, x, y []float64) Series {
	return Series{Name: name, Kind: Line, X: x, Y: y}
}

// NewStep is a series of values that each hold until the next one.
func NewStep(name string, x, y []float64) Series {
	return Series{Name: name, Kind: Step, X: x, Y: y}
}

// NewScatter is a series of points.
func NewScatter(name string, x, y []float64) Series {
	return Series{Name: name, Kind: Scatter, X: x, Y: y}
}

// NewArea is the shaded area between two curves: an interval that changes along x.
func NewArea(name string, x, low, high []float64) Series {
	return Series{Name: name, Kind: Area, X: x, Low: low, High: high}
}

// NewBars is a series with one bar in each category of the chart.
func NewBars(name string, y []float64) Series { return Series{Name: name, Kind: Bar, Y: y} }

// WriteSVG draws the chart to w.
func (c Chart) WriteSVG(w io.Writer) error { return c.asFigure().WriteSVG(w) }

// Save draws the chart into the file at path and writes its values beside it.
func (c Chart) Save(path string) error { return c.asFigure().Save(path) }

// asFigure is the figure that consists of this chart.
func (c Chart) asFigure() Figure {
	return Figure{Rows: 1, Cols: 1, Charts: []Chart{c}, CellWidth: c.Width, CellHeight: c.Height}
}
