package net

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
)

func (a *app) printWeather(f *weatherFlags, r *weatherReport) error {
	switch f.output {
	case "json":
		if f.matrix {
			r.Matrices = r.quantityMatrices()
		}
		e := json.NewEncoder(a.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case "csv":
		return r.writeCSV(a.Stdout, cmp.Or(f.from, "the broker"))
	case "matrix":
		var b strings.Builder
		writeMatrices(&b, r.quantityMatrices(), a.TableWidth())
		_, err := io.WriteString(a.Stdout, b.String())
		return err
	}
	return r.seriesTable().PrintTable(a.Stdout, a.TableWidth())
}

// seriesTable has a line for each series.
func (r *weatherReport) seriesTable() *term.Table {
	if r.live {
		return r.liveTable()
	}
	t := term.NewTable("what", "between", "values", "last", "forecast", "90 % between", "by").AlignRight(2, 3, 4)
	t.Optional = []string{"by", "values"}
	for _, s := range r.Series {
		by := s.By
		if s.Part < 0.995 {
			by += fmt.Sprintf(", %.0f %% of the ensemble", 100*s.Part)
		}
		t.AddRow(string(s.What), s.name, intText(s.Values), term.FormatDigits(s.Last), term.FormatDigits(s.Forecast),
			term.FormatDigits(s.low)+" and "+term.FormatDigits(s.high), by)
	}
	return t
}

// pairValue is what is known from one host to another.
type pairValue struct {
	value     float64
	described bool // not measured
}

// hostPairs are the series of a quantity between two hosts, and the hosts. What is the
// same in both directions, as half a round trip is, is there for both.
func (r *weatherReport) hostPairs(what measured.Quantity) (of map[[2]string]pairValue, hosts []string) {
	of = map[[2]string]pairValue{}
	for i := range r.Series {
		if s := &r.Series[i]; s.What == what && s.To != "" {
			of[[2]string{s.From, s.To}] = pairValue{s.Forecast, s.Described}
			hosts = append(hosts, s.From, s.To)
		}
	}
	for i := range r.Series {
		s := &r.Series[i]
		back := [2]string{s.To, s.From}
		if _, there := of[back]; !there && s.What == what && s.To != "" && (what == measured.Ms || s.Described) {
			of[back] = pairValue{s.Forecast, s.Described}
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

	of map[[2]string]pairValue // nil: it is of each
}

// quantityMatrices are all quantities, those between hosts and those of each.
func (r *weatherReport) quantityMatrices() (list []matrixReport) {
	for _, what := range measured.AllQuantities() {
		if of, hosts := r.hostPairs(what); len(hosts) > 0 {
			list = append(list, pairMatrix(what, hosts, of))
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

func pairMatrix(what measured.Quantity, hosts []string, of map[[2]string]pairValue) matrixReport {
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
func writeMatrices(b *strings.Builder, list []matrixReport, width int) {
	for _, m := range list {
		if m.of != nil {
			m.writeMatrix(b, width)
			continue
		}
		beginParagraph(b, m.What.Title())
		var cells [][]string
		for i, host := range m.Hosts {
			cells = append(cells, []string{host, term.FormatDigits(*m.Values[0][i])})
		}
		term.WriteCells(b, cells, width)
	}
}

func (m *matrixReport) writeMatrix(b *strings.Builder, width int) {
	beginParagraph(b, m.What.Title()+", from row to column")
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
				row = append(row, "("+term.FormatDigits(x.value)+")")
			default:
				row = append(row, term.FormatDigits(x.value))
			}
		}
		cells = append(cells, row)
	}
	term.WriteCells(b, cells, width)
	if described {
		b.WriteString("in brackets: described in a file, not measured\n")
	}
}

// beginParagraph begins a part with its title.
func beginParagraph(b *strings.Builder, title string) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(title + "\n")
}

// writeCSV is the matrix of bandwidths that select reads: for each pair the worse of
// both directions, nothing where nothing gets through.
func (r *weatherReport) writeCSV(w io.Writer, file string) error {
	of, hosts := r.hostPairs(measured.Mbps)
	if len(hosts) == 0 {
		return &badinput.Error{File: file, Field: "-o", Value: "csv",
			Want: "bandwidths between hosts (from, to, mbps), there are none"}
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
