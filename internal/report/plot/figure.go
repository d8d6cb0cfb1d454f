package plot

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

// Figure is several charts in rows and columns, as the parts (a) to (f) of a
// figure in a paper. Charts of one column have their axes below each other.
// If all charts show the same series, one legend stands above them all.
type Figure struct {
	Rows, Cols int
	Charts     []Chart // row by row; missing ones leave their place empty

	// CellWidth and CellHeight are the room of one chart in points, its legend
	// not counted. Where 0 they are 480 by 280 for one chart and 300 by 200 for
	// several.
	CellWidth, CellHeight float64
}

// The sizes where none are given, alone and among others.
const (
	defaultWidth, defaultHeight = 480, 280
	smallWidth, smallHeight     = 300, 200
)

// NewGrid puts charts into rows and columns.
func NewGrid(rows, cols int, charts ...Chart) Figure {
	return Figure{Rows: rows, Cols: cols, Charts: charts}
}

// Save draws the figure into the file at path and writes the values that it shows to
// ValuesPath(path), replacing both.
func (f Figure) Save(path string) error {
	var svg, values bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	if err := f.WriteCSV(&values); err != nil {
		return err
	}
	if err := outfile.WriteAll(path, svg.Bytes()); err != nil {
		return err
	}
	return outfile.WriteAll(ValuesPath(path), values.Bytes())
}

// ValuesPath is the file of the values of a figure: its name, ending in .csv.
func ValuesPath(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".csv" }

// WriteSVG draws the figure to w.
func (f Figure) WriteSVG(w io.Writer) error {
	if f.Rows < 1 || f.Cols < 1 || len(f.Charts) > f.Rows*f.Cols {
		return fmt.Errorf("drawing a figure: %d charts do not fit into %d rows and %d columns", len(f.Charts), f.Rows, f.Cols)
	}
	svg := f.drawSVG()
	if _, err := w.Write(svg); err != nil {
		return fmt.Errorf("writing a chart: %w", err)
	}
	return nil
}

// cellSize is the size of one chart, its legend not counted.
func (f Figure) cellSize() (w, h float64) {
	w, h = defaultWidth, defaultHeight
	if f.Rows*f.Cols > 1 {
		w, h = smallWidth, smallHeight
	}
	const least, most = 120, 10000
	if f.CellWidth > 0 {
		w = math.Max(least, math.Min(most, f.CellWidth))
	}
	if f.CellHeight > 0 {
		h = math.Max(least, math.Min(most, f.CellHeight))
	}
	return w, h
}

func (f Figure) drawSVG() []byte {
	w, h := f.cellSize()
	frames := make([]frame, len(f.Charts))
	for i, c := range f.Charts {
		frames[i] = newFrame(c, w, h)
	}
	width := w * float64(f.Cols)
	shared := sharedLegend(frames, width)
	head := 0.0
	if shared != nil {
		head = float64(len(shared))*legendLine + 6
		for i := range frames {
			frames[i].legend = nil
		}
	}
	rows := f.rowHeights(frames, w, h)
	height := head
	for _, row := range rows {
		height += row
	}

	s := newSheet(width, height, f.accessibleName())
	s.fillRect(white, rect{0, 0, width, height})
	drawLegend(s, shared, width/2, 0, width, height-5)
	f.drawCells(s, frames, w, rows, height-head)
	return s.closeDocument()
}

// rowHeights are the heights of the rows: that of a chart and, so that a long
// legend does not squeeze the chart below it, that of the longest legend.
func (f Figure) rowHeights(frames []frame, w, h float64) []float64 {
	rows := make([]float64, f.Rows)
	for i := range rows {
		rows[i] = h
	}
	for i, fr := range frames {
		rows[i/f.Cols] = math.Max(rows[i/f.Cols], h+fr.legendHeight(w))
	}
	return rows
}

// accessibleName is what a screen reader says: the titles of the charts.
func (f Figure) accessibleName() string {
	var titles []string
	for _, c := range f.Charts {
		if c.Title != "" {
			titles = append(titles, c.Title)
		}
	}
	return strings.Join(titles, "; ")
}

// sharedLegend is the legend of all charts together, broken into lines, or
// nil if they show different things or there is only one.
func sharedLegend(frames []frame, width float64) [][]entry {
	if len(frames) < 2 {
		return nil
	}
	for _, fr := range frames[1:] {
		if !slices.Equal(fr.legend, frames[0].legend) {
			return nil
		}
	}
	return legendRows(frames[0].legend, width-legendMargin)
}

// drawCells draws each chart in its place, from top downwards, the axes of a
// column and of a row in line.
func (f Figure) drawCells(s *sheet, frames []frame, w float64, rows []float64, top float64) {
	room := f.alignFrames(frames, w)
	for i, fr := range frames {
		row, col := i/f.Cols, i%f.Cols
		if i > 0 && col == 0 {
			top -= rows[row-1]
		}
		cell := rect{float64(col) * w, top - rows[row], float64(col+1) * w, top}
		area := cell.insideMargins(room[i])
		fr.drawChart(s, cell, area)
		legend := legendRows(fr.legend, w-legendMargin)
		drawLegend(s, legend, (area.x0+area.x1)/2, cell.x0, cell.x1, area.y1+7+fr.legendHeight(w))
	}
}

// alignFrames gives the frames of a column the same room to the left and right and
// those of a row the same above and below.
func (f Figure) alignFrames(frames []frame, w float64) []margins {
	own := make([]margins, len(frames))
	for i, fr := range frames {
		own[i] = fr.room
		own[i].top += fr.legendHeight(w)
	}
	room := slices.Clone(own)
	for i := range room {
		for j, m := range own {
			if i%f.Cols == j%f.Cols {
				room[i].left, room[i].right = math.Max(room[i].left, m.left), math.Max(room[i].right, m.right)
			}
			if i/f.Cols == j/f.Cols {
				room[i].top, room[i].bottom = math.Max(room[i].top, m.top), math.Max(room[i].bottom, m.bottom)
			}
		}
	}
	return room
}
