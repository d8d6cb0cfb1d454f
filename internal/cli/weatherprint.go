package cli

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/badinput"
	"github.com/godwit-hpc/godwit/internal/weather/measured"
)

func (a *app) printWeather(f *weatherFlags, r *weatherReport) error {
	switch f.output {
	case "json":
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case "csv":
		return r.csv(a.stdout, cmp.Or(f.from, "the broker"))
	case "matrix":
		var b strings.Builder
		r.matrices(&b)
		_, err := io.WriteString(a.stdout, b.String())
		return err
	}
	return r.table().print(a.stdout, a.width())
}

// table has a line for each series.
func (r *weatherReport) table() *table {
	if len(r.Series) > 0 && r.Series[0].AgeS != nil {
		return r.liveTable()
	}
	t := newTable("what", "between", "values", "last", "forecast", "90 % between", "by").right(2, 3, 4)
	for _, s := range r.Series {
		by := s.By
		if s.Part < 0.995 {
			by += fmt.Sprintf(" (%.0f %%) and others", 100*s.Part)
		}
		t.add(string(s.What), s.name, intText(s.Values), digits(s.Last), digits(s.Forecast), digits(s.low)+" and "+digits(s.high), by)
	}
	return t
}

// pairs are the series of a quantity between two hosts, and the hosts.
func (r *weatherReport) pairs(what measured.Quantity) (of map[[2]string]float64, hosts []string) {
	of = map[[2]string]float64{}
	for _, s := range r.Series {
		if s.What == what && s.To != "" {
			of[[2]string{s.From, s.To}] = s.Forecast
			hosts = append(hosts, s.From, s.To)
		}
	}
	slices.Sort(hosts)
	return of, slices.Compact(hosts)
}

// matrices shows each quantity between all hosts, and what is of one host alone
// in a list.
func (r *weatherReport) matrices(b *strings.Builder) {
	for _, what := range measured.Quantities() {
		of, hosts := r.pairs(what)
		if len(hosts) > 0 {
			paragraph(b, what.Title()+", from row to column")
			cells := [][]string{append([]string{""}, hosts...)}
			for _, from := range hosts {
				row := []string{from}
				for _, to := range hosts {
					cell := "-"
					if x, ok := of[[2]string{from, to}]; ok {
						cell = digits(x)
					}
					row = append(row, cell)
				}
				cells = append(cells, row)
			}
			writeCells(b, cells)
		}
		var cells [][]string
		for _, s := range r.Series {
			if s.What == what && s.To == "" {
				cells = append(cells, []string{s.name, digits(s.Forecast)})
			}
		}
		if len(cells) > 0 {
			paragraph(b, what.Title())
			writeCells(b, cells)
		}
	}
}

// paragraph begins a part with its title.
func paragraph(b *strings.Builder, title string) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(title + "\n")
}

// csv is the matrix of bandwidths that select reads: for each pair the worse of
// both directions, nothing where nothing gets through.
func (r *weatherReport) csv(w io.Writer, file string) error {
	of, hosts := r.pairs(measured.Mbps)
	if len(hosts) == 0 {
		return &badinput.Error{File: file, Field: "-o", Value: "csv", Want: "bandwidths between hosts (from, to, mbps), there are none"}
	}
	c := csv.NewWriter(w)
	rows := [][]string{append([]string{"host"}, hosts...)}
	for _, from := range hosts {
		row := []string{from}
		for _, to := range hosts {
			x, there := of[[2]string{from, to}]
			back, andBack := of[[2]string{to, from}]
			if andBack && (!there || back < x) {
				x = back
			}
			cell := ""
			if x > 0 {
				cell = strconv.FormatFloat(x, 'g', 6, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if err := c.WriteAll(rows); err != nil {
		return err
	}
	return c.Error()
}
