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

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
)

func (a *app) printWeather(f *weatherFlags, r *weatherReport) error {
	switch f.output {
	case "json":
		if f.matrix {
			r.Matrices = r.matrices()
		}
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case "csv":
		return r.csv(a.stdout, cmp.Or(f.from, "the broker"))
	case "matrix":
		var b strings.Builder
		writeMatrices(&b, r.matrices())
		_, err := io.WriteString(a.stdout, b.String())
		return err
	}
	return r.table().print(a.stdout, a.width())
}

// table has a line for each series.
func (r *weatherReport) table() *table {
	if r.live {
		return r.liveTable()
	}
	t := newTable("what", "between", "values", "last", "forecast", "90 % between", "by").right(2, 3, 4)
	for _, s := range r.Series {
		by := s.By
		if s.Part < 0.995 {
			by += fmt.Sprintf(", %.0f %% of the ensemble", 100*s.Part)
		}
		t.add(string(s.What), s.name, intText(s.Values), digits(s.Last), digits(s.Forecast), digits(s.low)+" and "+digits(s.high), by)
	}
	return t
}

// known is what is known from one host to another.
type known struct {
	value     float64
	described bool // not measured
}

// pairs are the series of a quantity between two hosts, and the hosts. What is the
// same in both directions, as half a round trip is, is there for both.
func (r *weatherReport) pairs(what measured.Quantity) (of map[[2]string]known, hosts []string) {
	of = map[[2]string]known{}
	for i := range r.Series {
		if s := &r.Series[i]; s.What == what && s.To != "" {
			of[[2]string{s.From, s.To}] = known{s.Forecast, s.Described}
			hosts = append(hosts, s.From, s.To)
		}
	}
	for i := range r.Series {
		s := &r.Series[i]
		back := [2]string{s.To, s.From}
		if _, there := of[back]; !there && s.What == what && s.To != "" && (what == measured.Ms || s.Described) {
			of[back] = known{s.Forecast, s.Described}
		}
	}
	slices.Sort(hosts)
	return of, slices.Compact(hosts)
}

// matrixReport is a quantity from host to host, or of each host.
type matrixReport struct {
	What   measured.Quantity `json:"what"`
	Hosts  []string          `json:"hosts"`
	Values [][]*float64      `json:"values"` // a row for each host it is from, or one if it is of each; null: not known

	of map[[2]string]known // nil: it is of each
}

// matrices are all quantities, those between hosts and those of each.
func (r *weatherReport) matrices() (list []matrixReport) {
	for _, what := range measured.Quantities() {
		if of, hosts := r.pairs(what); len(hosts) > 0 {
			list = append(list, between(what, hosts, of))
		}
		each := matrixReport{What: what, Values: [][]*float64{nil}}
		for i := range r.Series {
			if s := &r.Series[i]; s.What == what && s.To == "" {
				each.Hosts, each.Values[0] = append(each.Hosts, s.name), append(each.Values[0], &s.Forecast)
			}
		}
		if len(each.Hosts) > 0 {
			list = append(list, each)
		}
	}
	return list
}

func between(what measured.Quantity, hosts []string, of map[[2]string]known) matrixReport {
	m := matrixReport{What: what, Hosts: hosts, of: of}
	for _, from := range hosts {
		row := make([]*float64, len(hosts))
		for i, to := range hosts {
			if x, ok := of[[2]string{from, to}]; ok {
				row[i] = &x.value
			}
		}
		m.Values = append(m.Values, row)
	}
	return m
}

// writeMatrices shows what is between hosts as a matrix, and what is of one host
// alone in a list.
func writeMatrices(b *strings.Builder, list []matrixReport) {
	for _, m := range list {
		if m.of != nil {
			m.write(b)
			continue
		}
		paragraph(b, m.What.Title())
		var cells [][]string
		for i, host := range m.Hosts {
			cells = append(cells, []string{host, digits(*m.Values[0][i])})
		}
		writeCells(b, cells)
	}
}

func (m *matrixReport) write(b *strings.Builder) {
	paragraph(b, m.What.Title()+", from row to column")
	cells, described := [][]string{append([]string{""}, m.Hosts...)}, false
	for _, from := range m.Hosts {
		row := []string{from}
		for _, to := range m.Hosts {
			x, ok := m.of[[2]string{from, to}]
			switch {
			case !ok:
				row = append(row, "-")
			case x.described:
				described = true
				row = append(row, "("+digits(x.value)+")")
			default:
				row = append(row, digits(x.value))
			}
		}
		cells = append(cells, row)
	}
	writeCells(b, cells)
	if described {
		b.WriteString("in brackets: described in a file, not measured\n")
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
			if andBack && (!there || back.value < x.value) {
				x = back
			}
			cell := ""
			if x.value > 0 {
				cell = strconv.FormatFloat(x.value, 'g', 6, 64)
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
