package plot

import "math"

// rect is a part of the sheet: its lower left and upper right corner.
type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) width() float64  { return r.x1 - r.x0 }
func (r rect) height() float64 { return r.y1 - r.y0 }

// containsPoint allows for rounding: a point on the edge is inside.
func (r rect) containsPoint(p xy) bool {
	const slack = 0.01
	return p.x >= r.x0-slack && p.x <= r.x1+slack && p.y >= r.y0-slack && p.y <= r.y1+slack
}

// clipLine cuts a line at the edges of r into the pieces that lie inside.
func (r rect) clipLine(line []xy) [][]xy {
	var pieces [][]xy
	var open []xy
	for i := 1; i < len(line); i++ {
		a, b, ok := r.cutLine(line[i-1], line[i])
		if !ok {
			continue
		}
		if len(open) == 0 || open[len(open)-1] != a {
			if len(open) > 1 {
				pieces = append(pieces, open)
			}
			open = []xy{a}
		}
		open = append(open, b)
	}
	if len(open) > 1 {
		pieces = append(pieces, open)
	}
	return pieces
}

// cutLine shortens the line from a to b to its part inside r (Liang and Barsky):
// each edge allows a part of the way from 0 to 1, and what all four allow is
// left.
func (r rect) cutLine(a, b xy) (from, to xy, ok bool) {
	dx, dy := b.x-a.x, b.y-a.y
	enter, leave := 0.0, 1.0
	for _, edge := range [...]struct{ slope, room float64 }{
		{-dx, a.x - r.x0}, {dx, r.x1 - a.x}, {-dy, a.y - r.y0}, {dy, r.y1 - a.y},
	} {
		switch t := edge.room / edge.slope; {
		case edge.slope == 0:
			if edge.room < 0 {
				return a, b, false
			}
		case edge.slope < 0:
			enter = math.Max(enter, t)
		default:
			leave = math.Min(leave, t)
		}
	}
	if enter > leave {
		return a, b, false
	}
	from, to = a, b
	if leave < 1 {
		to = xy{a.x + leave*dx, a.y + leave*dy}
	}
	if enter > 0 {
		from = xy{a.x + enter*dx, a.y + enter*dy}
	}
	return from, to, true
}
