package plot

import (
	"math"
	"slices"
)

// entry is one line of a legend: a small picture and a name.
type entry struct {
	name string
	// Two entries with the same name and picture are the same entry.
	picture picture
}

// picture is what stands before a name in a legend.
type picture struct {
	shape shape
	look  int // the look of a series
}

type shape int

const (
	lineShape shape = iota
	lineAndPointShape
	pointShape
	barShape
	areaShape
	bandShape
	referenceShape
)

// legendEntries lists what the chart shows. Where the series have no names there is
// none.
func (c Chart) legendEntries() []entry {
	var list []entry
	for i, s := range c.Series {
		if s.Name == "" {
			continue
		}
		e := entry{s.Name, picture{c.seriesShape(s), c.seriesStyle(i)}}
		if !c.hasData(s) {
			e.name += " (no data)"
		}
		list = append(list, e)
	}
	for _, b := range c.Bands {
		if b.Name != "" {
			list = append(list, entry{b.Name, picture{shape: bandShape}})
		}
	}
	for _, l := range c.Lines {
		if l.Name != "" {
			list = append(list, entry{l.Name, picture{shape: referenceShape}})
		}
	}
	return list
}

func (c Chart) seriesShape(s Series) shape {
	switch s.Kind {
	case Bar:
		return barShape
	case Scatter:
		return pointShape
	case Area:
		return areaShape
	case Line:
		if len(c.drawablePoints(s)) <= fewPoints && !s.NoMarkers {
			return lineAndPointShape
		}
	}
	return lineShape
}

func (c Chart) hasData(s Series) bool {
	if s.Kind == Area {
		lower, _ := c.areaEdges(s)
		return len(lower) > 0
	}
	if s.Kind == Bar {
		return slices.ContainsFunc(c.barHeights(s), func(h float64) bool { return !math.IsNaN(h) })
	}
	return len(c.drawablePoints(s)) > 0
}

const (
	pictureWidth = 24.0
	pictureGap   = 5.0
	entryGap     = 16.0
	legendLine   = 15.0
	legendMargin = 20.0 // left and right of a legend together
)

func (e entry) entryWidth() float64 { return pictureWidth + pictureGap + legendText.textWidth(e.name) }

// legendHeight is the room that the legend of a chart w wide takes.
func (f frame) legendHeight(w float64) float64 {
	return float64(len(legendRows(f.legend, w-legendMargin))) * legendLine
}

// legendRows breaks a legend into lines that are at most room wide.
func legendRows(list []entry, room float64) [][]entry {
	var rows [][]entry
	used := 0.0
	for _, e := range list {
		e.name = legendText.fitText(e.name, room-pictureWidth-pictureGap)
		if len(rows) == 0 || used+entryGap+e.entryWidth() > room {
			rows = append(rows, nil)
			used = -entryGap
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += entryGap + e.entryWidth()
	}
	return rows
}

// drawLegend draws rows downwards from top, centred around x where room
// between x0 and x1 allows.
func drawLegend(s *sheet, rows [][]entry, x, x0, x1, top float64) {
	for i, row := range rows {
		width := -entryGap
		for _, e := range row {
			width += entryGap + e.entryWidth()
		}
		left := centreWithin(x, width, x0, x1) - width/2
		middle := top - (float64(i)+0.5)*legendLine
		for _, e := range row {
			e.picture.drawPicture(s, rect{left, middle - 4, left + pictureWidth, middle + 4})
			s.drawText(legendText, e.name, left+pictureWidth+pictureGap, middle-legendText.baselineDrop(), start, 0)
			left += e.entryWidth() + entryGap
		}
	}
}

func (p picture) drawPicture(s *sheet, r rect) {
	l := lookOf(p.look)
	y := (r.y0 + r.y1) / 2
	block := rect{r.x0 + 8, r.y0, r.x1, r.y1}
	if p.shape == lineShape || p.shape == lineAndPointShape {
		s.drawLine(l.linePen(), xy{r.x0, y}, xy{r.x1, y})
	}
	switch p.shape {
	case lineAndPointShape:
		s.drawMarkers(l, []xy{{(r.x0 + r.x1) / 2, y}})
	case pointShape:
		s.drawMarkers(l, []xy{{r.x1 - 6, y}})
	case barShape:
		l.drawBar(s, block)
	case areaShape:
		s.fillOutline(l.color, areaOpacity,
			[]xy{{block.x0, block.y0}, {block.x1, block.y0}, {block.x1, block.y1}, {block.x0, block.y1}})
	case bandShape:
		s.fillRect(shade, block)
	case referenceShape:
		s.drawLine(referencePen, xy{r.x0, y}, xy{r.x1, y})
	}
}
