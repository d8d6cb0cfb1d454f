package plot

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// WriteCSV writes the numbers that the chart shows, one row a value: the series, what
// is on the x axis (for bars the category), and the value.
func (c Chart) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"series", "x", "y"}}
	names := c.categories()
	for _, s := range c.Series {
		for i, y := range s.Y {
			var x string
			switch {
			case s.Kind == Bar:
				x = names[i]
			case i < len(s.X):
				x = csvNumber(s.X[i])
			}
			rows = append(rows, []string{s.Name, x, csvNumber(y)})
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("writing the values of a chart: %w", err)
	}
	return nil
}

func csvNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
