package plot

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// WriteCSV writes the numbers that the charts show, one row a value: the chart, the
// series, what is on the x axis (for bars the category), the value and its interval.
// The cell of a value that there is not is empty.
func (f Figure) WriteCSV(w io.Writer) error {
	rows := [][]string{{"chart", "series", "x", "y", "low", "high"}}
	for _, c := range f.Charts {
		rows = append(rows, c.csvRows()...)
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("writing the values of a chart: %w", err)
	}
	return nil
}

// WriteCSV writes the numbers that the chart shows, as those of a figure.
func (c Chart) WriteCSV(w io.Writer) error { return c.asFigure().WriteCSV(w) }

func (c Chart) csvRows() [][]string {
	names := c.categoryNames()
	var rows [][]string
	for _, s := range c.Series {
		for i := range max(len(s.Y), len(s.Low)) {
			x := csvNumber(s.X, i)
			if s.Kind == Bar {
				x = names[i]
			}
			rows = append(rows, []string{c.Title, s.Name, x, csvNumber(s.Y, i), csvNumber(s.Low, i), csvNumber(s.High, i)})
		}
	}
	return rows
}

// csvNumber is the cell of a value, to the digits that a reader can use.
func csvNumber(list []float64, i int) string {
	if i >= len(list) || !isDrawable(list[i], false) {
		return ""
	}
	return strconv.FormatFloat(list[i], 'g', 8, 64)
}
