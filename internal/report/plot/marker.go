package plot

import "strings"

// marker is the shape of a point.
type marker int

const (
	disc marker = iota
	square
	pyramid
	cross
	ring
	frameBox
	funnel
	markerKinds // how many there are
)

// drawMarkers draws the same marker at many points as one path.
func (s *sheet) drawMarkers(l seriesLook, pts []xy) {
	var d strings.Builder
	for _, p := range pts {
		d.WriteString("M" + formatCoordinate(p.x) + " " + formatCoordinate(s.height-p.y) + outlines[l.marker])
	}
	// A thin white edge keeps markers apart that touch each other.
	fill, edge := l.color, pen{color: white, width: 0.3}
	switch l.marker {
	case ring, frameBox, funnel:
		fill, edge = white, pen{color: l.color, width: 1.1}
	case cross:
		fill, edge = "none", pen{color: l.color, width: 1.3}
	}
	s.drawShapes(d.String(), fill, edge)
}

// outlines draw each marker from its middle.
var outlines = [markerKinds]string{
	disc:     circle,
	square:   "m-2.3 -2.3h4.6v4.6h-4.6z",
	pyramid:  "m0 -2.8l2.8 4.9h-5.6z",
	cross:    "m-2.4 -2.4l4.8 4.8m0 -4.8l-4.8 4.8",
	ring:     circle,
	frameBox: "m-2.3 -2.3h4.6v4.6h-4.6z",
	funnel:   "m0 2.8l2.8 -4.9h-5.6z",
}

const circle = "m-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0z"
