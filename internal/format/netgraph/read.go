package netgraph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

const (
	maxFileBytes = 256 << 20
	// maxHosts bounds the table of pairs, which grows with the square.
	maxHosts = 5000
)

// ReadNetwork reads a network from a JSON, CSV or SimGrid XML file.
func ReadNetwork(path string) (*nodesel.Network, error) {
	data, err := yamlfile.ReadFile(path, "a network file", maxFileBytes)
	if err != nil {
		return nil, err
	}
	return ParseNetwork(path, data)
}

// ParseNetwork reads a network from text: JSON if it begins with a brace, SimGrid
// XML if it begins with "<", a CSV matrix otherwise. name is the file as the user
// knows it.
func ParseNetwork(name string, data []byte) (*nodesel.Network, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, &badinput.Error{File: name,
			Want: "a network: JSON with hosts and links, SimGrid XML, or a CSV matrix; the file is empty"}
	case text[0] == '{' || text[0] == '[':
		return parseJSON(name, data)
	case text[0] == '<':
		return parseSimGrid(name, data)
	}
	return parseCSV(name, data)
}

// ReadPattern reads a communication pattern from a JSON file.
func ReadPattern(path string) (*nodesel.Pattern, error) {
	data, err := yamlfile.ReadFile(path, "a pattern file", maxFileBytes)
	if err != nil {
		return nil, err
	}
	return ParsePattern(path, data)
}

// patternFile is the shape of a pattern on disk. Pointers tell what is missing
// from what is zero.
type patternFile struct {
	Nodes *int `json:"nodes"`
	Edges []struct {
		A      *int     `json:"a"`
		B      *int     `json:"b"`
		Weight *float64 `json:"weight"`
	} `json:"edges"`
}

// ParsePattern reads a communication pattern from JSON text. An edge without a
// weight has weight 1.
func ParsePattern(name string, data []byte) (*nodesel.Pattern, error) {
	var f patternFile
	if err := decodeJSON(name, data, &f); err != nil {
		return nil, err
	}
	if f.Nodes == nil {
		return nil, &badinput.Error{File: name, Field: "nodes", Problem: "missing", Want: "the number of nodes"}
	}
	p := &nodesel.Pattern{Name: name, Nodes: *f.Nodes}
	for i, e := range f.Edges {
		if e.A == nil || e.B == nil {
			return nil, &badinput.Error{File: name, Field: fmt.Sprintf("edges[%d]", i), Want: "both ends, a and b"}
		}
		weight := 1.0
		if e.Weight != nil {
			weight = *e.Weight
		}
		p.Edges = append(p.Edges, nodesel.Edge{A: *e.A, B: *e.B, Weight: weight})
	}
	if err := pattern.CheckPattern(p); err != nil {
		return nil, &badinput.Error{File: name, Problem: err.Error()}
	}
	return p, nil
}

// decodeJSON reads one JSON value and says on which line it is wrong.
func decodeJSON(name string, data []byte, to any) error {
	err := json.Unmarshal(data, to)
	if err == nil {
		return nil
	}
	e := &badinput.Error{File: name, Line: 1, Want: "valid JSON", Err: err}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case errors.As(err, &moment):
		e.Line, e.Value, e.Err, e.Want = 0, strings.Trim(moment.Value, `"`), nil, "a time such as 2026-11-15T20:00:00Z"
	case errors.As(err, &syntax):
		e.Line = lineAt(data, syntax.Offset)
	case errors.As(err, &kind):
		e.Line, e.Field, e.Err = lineAt(data, kind.Offset), kind.Field, nil
		e.Want = fmt.Sprintf("%s, not a JSON %s", kindName(kind.Type.Kind().String()), kind.Value)
		if large, ok := strings.CutPrefix(kind.Value, "number "); ok && kind.Type.Kind() == reflect.Float64 {
			e.Value, e.Want = large, "a number that is not so large"
		}
	}
	return e
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
}

// kindName says in words what a Go type holds.
func kindName(kind string) string {
	switch kind {
	case "int":
		return "a whole number"
	case "float64":
		return "a number"
	case "string":
		return "a text"
	case "slice":
		return "a list"
	}
	return "an object"
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
