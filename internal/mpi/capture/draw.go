package capture

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The drawing's measures in points.
const (
	drawMargin = 40.0
	drawSide   = 300.0 // of the matrix, and of the circle
	drawTitle  = 34.0
)

// DrawSVG is the pattern as SVG: the matrix of what each rank sends to each on the left,
// the pairs that talk much on a circle on the right.
func (p *Pattern) DrawSVG() []byte {
	var b strings.Builder
	width, height := 3*drawMargin+2*drawSide+20, drawTitle+drawSide+2*drawMargin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0fpt" height="%.0fpt" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" font-family="Arial, Liberation Sans, Helvetica, sans-serif" font-size="11" fill="#222222">`+"\n",
		width, height, width, height, escapeXML("who talks to whom in "+p.Program))
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%.0f" y="22" font-size="13" font-weight="bold">%s</text>`+"\n", drawMargin,
		escapeXML(p.Title()))
	p.drawMatrix(&b)
	p.drawCircle(&b)
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// Title is what was captured, in a line.
func (p *Pattern) Title() string {
	if p.Source == OfSockets {
		return fmt.Sprintf("%s, %d processes that talk over TCP: %.3g s", p.Program, p.Nodes, p.Seconds)
	}
	return fmt.Sprintf("%s on %d ranks: %.3g s, %.0f %% of it in calls of MPI", p.Program, p.Nodes, p.Seconds, 100*p.Share)
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(strings.ToValidUTF8(s, ""))) // a builder never fails
	return b.String()
}

// isLabelled reports whether a rank's number is written: not all, where there are many.
func (p *Pattern) isLabelled(i int) bool { return i%((p.Nodes+31)/32) == 0 }

func (p *Pattern) drawMatrix(b *strings.Builder) {
	n := p.Nodes
	x0, y0, cell := drawMargin, drawTitle+drawMargin, drawSide/float64(n)
	most := int64(1)
	for i := range n {
		for j := range n {
			most = max(most, p.Bytes[i][j]+p.Collective[i][j])
		}
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">sent to rank</text>`+"\n", x0+drawSide/2, y0-20)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" transform="rotate(-90 %.1f %.1f)">by rank</text>`+"\n",
		x0-24, y0+drawSide/2, x0-24, y0+drawSide/2)
	for i := range n {
		at := (float64(i) + 0.5) * cell
		if p.isLabelled(i) {
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d</text><text x="%.1f" y="%.1f" text-anchor="end">%d</text>`+"\n", x0+at, y0-6, i, x0-6, y0+at+4, i)
		}
		for j := range n {
			v := p.Bytes[i][j] + p.Collective[i][j]
			if v == 0 {
				continue
			}
			// From a tenth of the colour, so that little is not nothing.
			dark := 0.1 + 0.9*float64(v)/float64(most)
			x, y := x0+float64(j)*cell, y0+float64(i)*cell
			fmt.Fprintf(b, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="#0072b2" fill-opacity="%.3f"><title>%d to %d: %s</title></rect>`+"\n",
				x, y, cell, cell, dark, i, j, BytesText(v))
			if n <= 8 {
				ink := "#222222"
				if dark > 0.55 {
					ink = "#ffffff"
				}
				fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="%s">%s</text>`+"\n", x+cell/2, y+cell/2+4, ink,
					BytesText(v))
			}
		}
	}
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#888888"/>`+"\n", x0, y0,
		drawSide, drawSide)
}

func (p *Pattern) drawCircle(b *strings.Builder) {
	n := float64(p.Nodes)
	cx, cy, r := 2*drawMargin+20+1.5*drawSide, drawTitle+drawMargin+drawSide/2, drawSide/2-24
	place := func(i int, r float64) (x, y float64) {
		angle := 2*math.Pi*float64(i)/n - math.Pi/2
		return cx + r*math.Cos(angle), cy + r*math.Sin(angle)
	}
	for _, e := range p.Edges {
		ax, ay := place(e.A, r)
		bx, by := place(e.B, r)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#d55e00" stroke-opacity="0.8" stroke-width="%.2f"><title>%d and %d: weight %.3g</title></line>`+"\n",
			ax, ay, bx, by, 0.5+7*e.Weight, e.A, e.B, e.Weight)
	}
	for i := range p.Nodes {
		x, y := place(i, r)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="#222222"/>`+"\n", x, y, math.Max(2, math.Min(9, 200/n)))
		if p.isLabelled(i) {
			x, y = place(i, r+17)
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`+"\n", x, y+4, i)
		}
	}
}

// BytesText writes an amount in three digits: 4.92 MB.
func BytesText(n int64) string {
	x, unit := float64(n), ""
	for _, unit = range []string{"B", "kB", "MB", "GB", "TB"} {
		if x < 999.5 || unit == "TB" {
			break
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3g %s", x, unit)
}
