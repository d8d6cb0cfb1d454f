// Package measured reads what others have measured of a network and its hosts:
// series of bandwidth, latency, CPU share and free memory, from CSV and JSON
// files. It tells mistakes with the line where they are. What a series will be
// next is not its business.
package measured

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/forecast"
)

// Quantity is what is measured, as columns and fields are called.
type Quantity string

// The quantities.
const (
	Mbps Quantity = "mbps" // throughput from one host to another
	Ms   Quantity = "ms"   // latency, half of a round trip
	CPU  Quantity = "cpu"  // share of a CPU that a program would get, 0 to 1
	MB   Quantity = "mb"   // free memory
)

// AllQuantities are all there are.
func AllQuantities() []Quantity { return []Quantity{Mbps, Ms, CPU, MB} }

// Title is what people call it, with its unit.
func (q Quantity) Title() string {
	switch q {
	case Mbps:
		return "bandwidth, Mbit/s"
	case Ms:
		return "latency, ms"
	case CPU:
		return "CPU share"
	}
	return "free memory, MB"
}

// maxValue is what a value cannot exceed.
func (q Quantity) maxValue() float64 {
	if q == CPU {
		return 1
	}
	return 0
}

// ForecastConfig is what is known about such a series beforehand.
func (q Quantity) ForecastConfig() forecast.Config {
	switch q {
	case Mbps:
		return forecast.Config{Prior: forecast.BandwidthPrior()}
	case CPU:
		return forecast.Config{Prior: forecast.LoadPrior(), Most: q.maxValue()}
	}
	return forecast.Config{}
}

// Reading is one value.
type Reading struct {
	At    core.Time
	Value float64
}

// Series is one quantity between two hosts, or of one: then To is empty. Both
// are empty where a file does not say what it is about.
type Series struct {
	What     Quantity
	From, To string
	Readings []Reading
}

// SeriesName is what the series is about.
func (s *Series) SeriesName() string {
	switch {
	case s.To != "":
		return s.From + " to " + s.To
	case s.From != "":
		return s.From
	}
	return "-"
}

const maxFileBytes = 256 << 20

// Read reads all series of a file, by quantity and name.
func Read(path string) ([]*Series, error) {
	data, err := yamlfile.ReadFile(path, "a file of measurements", maxFileBytes)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads measurements from text: JSON if it begins with a brace, lines of
// "seconds Mbit/s" if it begins with two numbers, CSV otherwise. name is the
// file as the user knows it.
func Parse(name string, data []byte) ([]*Series, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	f := &file{name: name, series: map[key]*Series{}}
	var err error
	switch text := bytes.TrimSpace(data); {
	case len(text) == 0:
		return nil, &badinput.Error{File: name,
			Want: "measurements: CSV with a header, JSON, or lines of seconds and Mbit/s; the file is empty"}
	case text[0] == '{':
		err = f.readJSON(data)
	case twoNumbers(text):
		err = f.readPlain(data)
	default:
		err = f.readCSV(data)
	}
	if err != nil {
		return nil, err
	}
	return f.allSeries()
}

// file is one being read.
type file struct {
	name   string
	series map[key]*Series
}

type key struct {
	what     Quantity
	from, to string
}

// row is one line or element: when, of what, and the values that it has.
type row struct {
	line     int
	time     string
	from, to string
	values   [4]string // in the order of Quantities; empty: not measured
}

func (f *file) badField(line int, field, value, want string) error {
	return &badinput.Error{File: f.name, Line: line, Field: field, Value: value, Want: want}
}

// addRow checks one row and takes its values.
func (f *file) addRow(r row) error {
	at, ok := parseTime(r.time)
	if !ok {
		return f.badField(r.line, "time", r.time, "seconds, or a date and time like 2026-05-01T12:00:00Z")
	}
	if r.to != "" && r.from == "" {
		return f.badField(r.line, "from", "", "a host, as there is one in to")
	}
	if r.to != "" && r.to == r.from {
		return f.badField(r.line, "to", r.to, "another host than from")
	}
	for i, what := range AllQuantities() {
		text := r.values[i]
		if text == "" {
			continue
		}
		x, ok := yamlfile.ParseNumber(text)
		if !ok || x < 0 || x > forecast.Largest {
			return f.badField(r.line, string(what), text, "a number of at least 0")
		}
		if most := what.maxValue(); most > 0 && x > most {
			return f.badField(r.line, string(what), text, fmt.Sprintf("a number from 0 to %g", most))
		}
		if err := f.putReading(r, what, Reading{at, x}); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) putReading(r row, what Quantity, x Reading) error {
	k := key{what, r.from, r.to}
	s := f.series[k]
	if s == nil {
		s = &Series{What: what, From: r.from, To: r.to}
		f.series[k] = s
	}
	if n := len(s.Readings); n > 0 && x.At <= s.Readings[n-1].At {
		return f.badField(r.line, "time", r.time,
			fmt.Sprintf("later than the measurement of %s (%s) before", what, s.SeriesName()))
	}
	s.Readings = append(s.Readings, x)
	return nil
}

// parseTime reads seconds since any moment, or a date and time.
func parseTime(text string) (core.Time, bool) {
	const limit = 9e9 // seconds that nanoseconds can count
	if s, ok := yamlfile.ParseNumber(text); ok {
		return core.AtSecond(s), s > -limit && s < limit
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1700 || t.Year() > 2200 {
		return 0, false
	}
	return core.Time(t.UnixNano()), true
}

// allSeries are the series in order.
func (f *file) allSeries() ([]*Series, error) {
	var list []*Series
	for _, s := range f.series {
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, &badinput.Error{File: f.name, Want: "at least one measurement"}
	}
	order := AllQuantities()
	slices.SortFunc(list, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.What), slices.Index(order, b.What)),
			strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return list, nil
}
