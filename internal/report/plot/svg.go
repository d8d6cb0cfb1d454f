package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// family is what the text of a chart asks for. The first three have the same
// widths, the last one exists everywhere.
const family = "Arial, Liberation Sans, Helvetica, sans-serif"

// sheet is the SVG document under the pen. Its coordinates are points of 1/72
// inch from the lower left corner, upwards, as in a chart. Text stays text, so
// that it can be searched, copied and shown by any browser, and is anchored
// where it must not move: at its middle or its end if need be, because the
// reader's font may be wider than ours.
type sheet struct {
	buf    bytes.Buffer
	height float64
}

func newSheet(width, height float64, name string) *sheet {
	s := &sheet{height: height}
	fmt.Fprintf(&s.buf, `<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%spt" viewBox="0 0 %s %s" role="img" aria-label="%s" font-family="%s">`+"\n",
		formatCoordinate(width), formatCoordinate(height), formatCoordinate(width), formatCoordinate(height), escapeXML(name),
		family)
	return s
}

// closeDocument closes the document.
func (s *sheet) closeDocument() []byte {
	s.buf.WriteString("</svg>\n")
	return s.buf.Bytes()
}

// pen is how a line is drawn.
type pen struct {
	color  string
	width  float64
	dashes string // lengths of dashes and gaps; empty: a whole line
}

// drawLine draws a line through points.
func (s *sheet) drawLine(p pen, pts ...xy) {
	if len(pts) < 2 {
		return
	}
	fmt.Fprintf(&s.buf, `<path d="%s" fill="none" stroke="%s" stroke-width="%s" stroke-linejoin="round"`, s.pathData(pts),
		p.color, formatCoordinate(p.width))
	if p.dashes != "" {
		fmt.Fprintf(&s.buf, ` stroke-dasharray="%s"`, p.dashes)
	}
	s.buf.WriteString("/>\n")
}

// drawStrokes draws many separate lines as one path, each from (x0, y0) to
// (x1, y1).
func (s *sheet) drawStrokes(p pen, lines []rect) {
	var d strings.Builder
	for _, l := range lines {
		d.WriteString(s.pathData([]xy{{l.x0, l.y0}, {l.x1, l.y1}}))
	}
	s.drawShapes(d.String(), "none", p)
}

// fillRect fills a rectangle.
func (s *sheet) fillRect(color string, r rect) {
	fmt.Fprintf(&s.buf, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n",
		formatCoordinate(r.x0), formatCoordinate(s.height-r.y1), formatCoordinate(r.width()), formatCoordinate(r.height()),
		color)
}

// fillOutline fills a closed outline, so that what lies below can be seen.
func (s *sheet) fillOutline(color string, opacity float64, outline []xy) {
	if len(outline) < 3 {
		return
	}
	fmt.Fprintf(&s.buf, `<path d="%sz" fill="%s" fill-opacity="%s"/>`+"\n", s.pathData(outline), color,
		formatCoordinate(opacity))
}

// drawShapes draws one path made of many marks.
func (s *sheet) drawShapes(d, fill string, p pen) {
	if d == "" {
		return
	}
	fmt.Fprintf(&s.buf, `<path d="%s" fill="%s" stroke="%s" stroke-width="%s"/>`+"\n", d, fill, p.color,
		formatCoordinate(p.width))
}

// drawText writes at a point: the part of the text that anchor names lies there,
// and the baseline runs through it, turned by degrees against the clock.
func (s *sheet) drawText(l lettering, text string, x, y float64, anchor anchor, degrees float64) {
	if text == "" {
		return
	}
	fmt.Fprintf(&s.buf, `<text x="%s" y="%s" font-size="%s" fill="%s"`, formatCoordinate(x), formatCoordinate(s.height-y),
		formatCoordinate(l.size), l.ink)
	if l.bold {
		s.buf.WriteString(` font-weight="bold"`)
	}
	if anchor != start {
		fmt.Fprintf(&s.buf, ` text-anchor="%s"`, anchor)
	}
	if degrees != 0 {
		fmt.Fprintf(&s.buf, ` transform="rotate(%s %s %s)"`, formatCoordinate(-degrees), formatCoordinate(x),
			formatCoordinate(s.height-y))
	}
	fmt.Fprintf(&s.buf, ">%s</text>\n", escapeXML(text))
}

// pathData writes a line as path data, level and upright pieces in short form:
// staircases consist of nothing else.
func (s *sheet) pathData(pts []xy) string {
	var b strings.Builder
	var lastX, lastY string
	for i, p := range pts {
		x, y := formatCoordinate(p.x), formatCoordinate(s.height-p.y)
		switch {
		case i == 0:
			b.WriteString("M" + x + " " + y)
		case x == lastX && y == lastY:
		case y == lastY:
			b.WriteString("H" + x)
		case x == lastX:
			b.WriteString("V" + y)
		default:
			b.WriteString("L" + x + " " + y)
		}
		lastX, lastY = x, y
	}
	return b.String()
}

// formatCoordinate writes a coordinate to a hundredth of a point, as short as possible.
func formatCoordinate(v float64) string {
	v = math.Round(v*100) / 100
	if v == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// escapeXML makes text safe inside XML. What XML cannot hold at all, such as
// control characters, becomes nothing, a line break a space.
func escapeXML(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	var b strings.Builder
	// The builder never fails.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
