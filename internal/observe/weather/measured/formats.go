package measured

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// columns are the names that a CSV file may have in its header, and the fields
// of a JSON one.
var columns = []string{"time", "from", "to", "mbps", "ms", "cpu", "mb"}

// setCell puts a cell where it belongs.
func (r *row) setCell(column, text string) {
	switch i := slices.Index(columns, column); i {
	case 0:
		r.time = text
	case 1:
		r.from = text
	case 2:
		r.to = text
	default:
		r.values[i-3] = text
	}
}

// readCSV reads a header with names of columns and a row for each measurement.
func (f *file) readCSV(data []byte) error {
	r := csv.NewReader(bytes.NewReader(data))
	r.TrimLeadingSpace = true
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return f.badCSV(err)
	}
	header = slices.Clone(header)
	for i, name := range header {
		header[i] = strings.ToLower(strings.TrimSpace(name))
	}
	if err := f.checkHeader(header); err != nil {
		return err
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return f.badCSV(err)
		}
		var x row
		x.line, _ = r.FieldPos(0)
		for i, cell := range cells {
			x.setCell(header[i], strings.TrimSpace(cell))
		}
		if err := f.addRow(x); err != nil {
			return err
		}
	}
}

// checkHeader checks the names of the columns.
func (f *file) checkHeader(names []string) error {
	known := "columns " + strings.Join(columns, ", ")
	measured := false
	for i, name := range names {
		if !slices.Contains(columns, name) {
			want := "one of the " + known
			if near := badinput.NearestName(name, columns); near != "" {
				want += "; did you mean " + near + "?"
			}
			return f.badField(1, "column", name, want)
		}
		if slices.Contains(names[:i], name) {
			return f.badField(1, "column", name, "each column once")
		}
		measured = measured || slices.Index(columns, name) >= 3
	}
	if !slices.Contains(names, "time") || !measured {
		return f.badField(1, "", "", "a header with time and at least one of mbps, ms, cpu, mb")
	}
	return nil
}

func (f *file) badCSV(err error) error {
	e := &badinput.Error{File: f.name, Want: "valid CSV with as many cells as the header has", Err: err}
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		e.Line, e.Err = bad.Line, bad.Err
	}
	return e
}

// twoNumbers reports whether the first line is a time and a bandwidth.
func twoNumbers(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) != 2 {
		return false
	}
	_, a := yamlfile.ParseNumber(fields[0])
	_, b := yamlfile.ParseNumber(fields[1])
	return a && b
}

// readPlain reads lines of seconds and Mbit/s, as recordings of one path often are.
func (f *file) readPlain(data []byte) error {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		fields := strings.Fields(line)
		switch len(fields) {
		case 0:
			continue
		case 2:
		default:
			return f.badField(n, "", strings.TrimSpace(line), "two numbers: seconds and Mbit/s")
		}
		x := row{line: n, time: fields[0]}
		x.setCell(string(Mbps), fields[1])
		if err := f.addRow(x); err != nil {
			return err
		}
	}
	return nil
}

// readJSON reads {"measurements": [{"time": 0, "from": "a", "to": "b", "mbps": 94.1}, …]}.
func (f *file) readJSON(data []byte) error {
	var top struct {
		Measurements *[]json.RawMessage `json:"measurements"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&top); err != nil {
		return f.badJSON(data, 0, err)
	}
	if rest := bytes.TrimSpace(data[d.InputOffset():]); len(rest) > 0 {
		return f.badField(lineAt(data, d.InputOffset()+1), "", "", "nothing after the end of the JSON")
	}
	if top.Measurements == nil {
		return f.badField(0, "measurements", "", "a list, it is missing")
	}
	at := 0 // elements are found again in order
	for _, element := range *top.Measurements {
		at += max(bytes.Index(data[at:], element), 0)
		if err := f.readElement(data, at, element); err != nil {
			return err
		}
		at += len(element)
	}
	return nil
}

// readElement reads one measurement that begins at an offset of the file.
func (f *file) readElement(data []byte, at int, element json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(element, &fields); err != nil {
		return f.badJSON(data, int64(at), err)
	}
	x := row{line: lineAt(data, int64(at))}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(columns, name) {
			want := "one of " + strings.Join(columns, ", ")
			if near := badinput.NearestName(name, columns); near != "" {
				want += "; did you mean " + near + "?"
			}
			return f.badField(x.line, "field", name, want)
		}
		text, ok := plainText(fields[name], name == "time" || name == "from" || name == "to")
		if !ok {
			return f.badField(x.line, name, string(fields[name]), "a number")
		}
		x.setCell(name, text)
	}
	return f.addRow(x)
}

// plainText is a JSON number as it is written, or a text where one may stand.
func plainText(raw json.RawMessage, mayBeText bool) (string, bool) {
	if raw[0] == '"' && mayBeText {
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	}
	if string(raw) == "null" {
		return "", true
	}
	return string(raw), raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}

func (f *file) badJSON(data []byte, at int64, err error) error {
	e := &badinput.Error{File: f.name, Line: lineAt(data, at), Want: "valid JSON", Err: err}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		e.Line = lineAt(data, at+syntax.Offset)
	case errors.As(err, &kind):
		e.Line, e.Err = lineAt(data, at+kind.Offset), nil
		e.Field, e.Want = kind.Field, "a list of measurements like {\"time\": 0, \"mbps\": 94.1}, not a JSON "+kind.Value
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Line = lineAt(data, int64(len(data)))
	}
	return e
}

// lineAt is the line of an offset, counted from 1.
func lineAt(data []byte, at int64) int {
	return 1 + bytes.Count(data[:min(max(at, 0), int64(len(data)))], []byte("\n"))
}
