package plot

import "math"

// margins are the room around the drawing area of a chart.
type margins struct{ left, right, bottom, top float64 }

// insideMargins is what the margins leave of r, in a small cell at least something.
func (r rect) insideMargins(m margins) rect {
	const least = 20
	in := rect{r.x0 + m.left, r.y0 + m.bottom, r.x1 - m.right, r.y1 - m.top}
	in.x1, in.y1 = math.Max(in.x1, in.x0+least), math.Max(in.y1, in.y0+least)
	return in
}

// frame is a chart with its axes, ready to be drawn into a cell.
type frame struct {
	chart  Chart
	x, y   axis
	legend []entry
	empty  bool
	slant  bool    // the names of the categories do not fit side by side
	room   margins // what the frame itself needs, its legend not counted
}

// newFrame decides about the axes for a cell of w by h points.
func newFrame(c Chart, w, h float64) frame {
	f := frame{chart: c, legend: c.legendEntries()}
	// About the size of the drawing area; the ticks are needed to know it.
	w, h = w-70, h-75
	f.x, f.y, f.empty = c.makeAxes(w, h)
	if c.hasBars() {
		for _, t := range f.x.ticks {
			f.slant = f.slant || tickText.textWidth(t.label) > w/float64(len(f.x.ticks))-4
		}
	} else {
		f.x.dropCrowdedLabels(w)
	}
	f.room = f.neededMargins(w)
	return f
}

// dropCrowdedLabels takes away labels that would run into the one before.
func (a *axis) dropCrowdedLabels(w float64) {
	const gap = 6
	edge := math.Inf(-1)
	for i, t := range a.ticks {
		if t.label == "" {
			continue
		}
		half := tickText.textWidth(t.label) / 2
		at := a.positionOf(t.value) * w
		if at-half < edge+gap {
			a.ticks[i].label = ""
			continue
		}
		edge = at + half
	}
}

// slantDegrees is the angle of names that do not fit side by side.
const slantDegrees = 30

// neededMargins is the room needed around a drawing area that is about w wide.
func (f frame) neededMargins(w float64) margins {
	m := margins{left: 8 + widestLabel(f.y.ticks) + 5, right: 10, bottom: 10, top: 10}
	if f.chart.Title != "" {
		m.top += titleText.size + 7
	}
	if f.chart.YLabel != "" {
		m.left += labelText.size + 6
	}
	if f.chart.XLabel != "" {
		m.bottom += labelText.size + 6
	}
	switch {
	case f.slant:
		sin, cos := math.Sincos(slantDegrees * math.Pi / 180)
		m.bottom += sin*widestLabel(f.x.ticks) + tickText.size + 4
		half := w / float64(2*len(f.x.ticks))
		m.left = math.Max(m.left, cos*widestLabel(f.x.ticks)-half+4)
	case len(f.x.ticks) > 0:
		m.bottom += tickLength + 3 + tickText.size
		last := f.x.ticks[len(f.x.ticks)-1]
		m.right = math.Max(m.right, tickText.textWidth(last.label)/2-(1-f.x.positionOf(last.value))*w+4)
	}
	return m
}

func widestLabel(ticks []tick) float64 {
	w := 0.0
	for _, t := range ticks {
		w = math.Max(w, tickText.textWidth(t.label))
	}
	return w
}

// drawChart draws the chart: cell is all of its room, area where the data go.
func (f frame) drawChart(s *sheet, cell, area rect) {
	centre := (area.x0 + area.x1) / 2
	title := titleText.fitText(f.chart.Title, cell.width()-8)
	s.drawText(titleText, title, centreWithin(centre, titleText.textWidth(title), cell.x0, cell.x1),
		cell.y1-titleText.size-3, middle, 0)

	p := plane{s: s, area: area, x: f.x, y: f.y}
	if f.empty {
		f.drawAxes(p)
		s.drawText(labelText, "no data", centre, (area.y0+area.y1)/2-labelText.baselineDrop(), middle, 0)
		return
	}
	p.drawBands(f.chart.Bands)
	p.drawGrid(!f.chart.hasBars())
	f.drawAxes(p)
	p.drawSeries(f.chart)
	p.drawReferences(f.chart.Lines)
}

// centreWithin is the middle of something that is w wide: x, or as near to it as
// keeps it between x0 and x1.
func centreWithin(x, w, x0, x1 float64) float64 {
	half := w/2 + 4
	return math.Max(x0+half, math.Min(x, x1-half))
}

// drawAxes draws the two axes with their ticks and labels.
func (f frame) drawAxes(p plane) {
	area := p.area
	p.s.drawLine(axisPen, xy{area.x0, area.y1}, xy{area.x0, area.y0}, xy{area.x1, area.y0})
	for _, t := range f.y.ticks {
		p.s.drawText(tickText, t.label, area.x0-6, p.pixelY(t.value)-tickText.baselineDrop(), end, 0)
	}
	for _, t := range f.x.ticks {
		f.drawXTick(p, t)
	}
	xlabel := labelText.fitText(f.chart.XLabel, area.width()+40)
	p.s.drawText(labelText, xlabel, (area.x0+area.x1)/2, area.y0-f.room.bottom+10, middle, 0)
	ylabel := labelText.fitText(f.chart.YLabel, area.height()+40)
	left := area.x0 - widestLabel(f.y.ticks) - 5 - 9
	p.s.drawText(labelText, ylabel, left, (area.y0+area.y1)/2, middle, 90)
}

func (f frame) drawXTick(p plane, t tick) {
	x, y := p.pixelX(t.value), p.area.y0
	base := y - tickLength - 3 - 0.75*tickText.size
	switch {
	case f.slant:
		p.s.drawText(tickText, t.label, x+4, y-4-0.75*tickText.size, end, slantDegrees)
	case f.chart.hasBars():
		p.s.drawText(tickText, t.label, x, base, middle, 0)
	case t.label == "":
		p.s.drawLine(axisPen, xy{x, y}, xy{x, y - tickLength/2})
	default:
		p.s.drawLine(axisPen, xy{x, y}, xy{x, y - tickLength})
		p.s.drawText(tickText, t.label, x, base, middle, 0)
	}
}
