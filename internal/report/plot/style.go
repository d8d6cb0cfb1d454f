package plot

// The colours of Okabe and Ito, which people with any kind of colour
// blindness can tell apart, without the yellow that cannot be seen on white.
var palette = [...]string{
	"#0072b2", // blue
	"#d55e00", // vermilion
	"#009e73", // green
	"#cc79a7", // purple
	"#e69f00", // orange
	"#56b4e9", // sky blue
	"#333333", // almost black
}

// dashes tell the lines apart where there is no colour.
var dashes = [...]string{"", "6 2.5", "1.5 1.8", "7 2 1.5 2", "11 2.5", "4 1.5 1 1.5 1 1.5", "2.5 4"}

const (
	ink     = "#222222" // titles and names
	softInk = "#555555" // tick labels and reference lines
	rule    = "#888888" // axes
	faint   = "#e4e4e4" // grid
	shade   = "#eaeaea" // bands
	white   = "#ffffff"
)

const (
	tickLength = 3.0
	// fewPoints is the number of points up to which a line shows its points.
	fewPoints = 30
)

var (
	axisPen      = pen{color: rule, width: 0.7}
	gridPen      = pen{color: faint, width: 0.6}
	referencePen = pen{color: softInk, width: 0.9, dashes: "9 3"}
	hatchPen     = pen{color: white, width: 0.8}
)

// seriesLook is how one series is drawn.
type seriesLook struct {
	color  string
	dashes string
	marker marker
	hatch  hatch
}

// lookOf is the look number n, counted from 0. After the last colour the
// colours begin again with other dashes, markers and hatches.
func lookOf(n int) seriesLook {
	turn := n + n/len(palette)
	return seriesLook{
		color:  palette[n%len(palette)],
		dashes: dashes[turn%len(dashes)],
		marker: marker(turn % int(markerKinds)),
		hatch:  hatch(turn % int(hatchKinds)),
	}
}

// seriesStyle is the number of the look of the series at position i.
func (c Chart) seriesStyle(i int) int {
	if s := c.Series[i].Style; s > 0 {
		return s - 1
	}
	return i
}

func (l seriesLook) linePen() pen { return pen{color: l.color, width: 1.6, dashes: l.dashes} }
