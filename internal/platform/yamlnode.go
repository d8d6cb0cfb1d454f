package platform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// aliasBudget bounds how many values aliases may repeat: a small file could
// describe very many. A value that is written out takes a byte at least, so the
// size of the file bounds the others.
const aliasBudget = 100_000

// A yamlFile reads values with their positions. It reports the first mistake
// and returns zero values from then on.
type yamlFile struct {
	*report
	left int // values that may still be looked at
}

// A field is a key of a mapping and what to do with its value.
type field struct {
	name string
	read func(n *yaml.Node, path string)
}

// document is the top mapping of the only document in data.
func (y *yamlFile) document(data []byte) *yaml.Node {
	y.left = len(data) + aliasBudget
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		y.syntax(err)
		return nil
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		y.fail(second.Line, "", "", "one YAML document; a second one begins here")
		return nil
	case !errors.Is(err, io.EOF):
		y.syntax(err)
		return nil
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		y.fail(0, "", "", "a platform description; the file is empty")
		return nil
	}
	return doc.Content[0]
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

func (y *yamlFile) syntax(err error) {
	if errors.Is(err, io.EOF) {
		y.fail(0, "", "", "a platform description; the file is empty")
		return
	}
	line, text := 0, err.Error()
	if m := yamlError.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	y.fail(line, "", "", "valid YAML ("+strings.Join(strings.Fields(text), " ")+")")
}

// open follows aliases, and counts.
func (y *yamlFile) open(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if y.left--; y.left < 0 {
		y.fail(n.Line, "", "", fmt.Sprintf("at most %d values behind aliases", aliasBudget))
	}
	return n
}

// mapping hands every value of n to its field.
func (y *yamlFile) mapping(n *yaml.Node, path string, fields ...field) {
	n = y.open(n)
	if n.Kind != yaml.MappingNode {
		y.fail(n.Line, path, show(n), "a mapping of "+strings.Join(names(fields), ", "))
		return
	}
	lines := make(map[string]int, len(fields))
	for i := 0; i+1 < len(n.Content) && !y.failed(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f := find(fields, key)
		switch {
		case key.Tag == "!!merge":
			y.fail(key.Line, join(path, key.Value), "", "fields written out; merge keys are not read")
		case f == nil:
			y.fail(key.Line, join(path, show(key)), "", unknown("field", show(key), names(fields)))
		case lines[f.name] > 0:
			y.fail(key.Line, join(path, f.name), "", fmt.Sprintf("each field once; it stands in line %d already", lines[f.name]))
		default:
			lines[f.name] = key.Line
			f.read(value, join(path, f.name))
		}
	}
}

// list is the elements of a sequence.
func (y *yamlFile) list(n *yaml.Node, path, of string) []*yaml.Node {
	n = y.open(n)
	if n.Kind != yaml.SequenceNode {
		y.fail(n.Line, path, show(n), "a list of "+of)
		return nil
	}
	return n.Content
}

// scalar is a single value as it is written.
func (y *yamlFile) scalar(n *yaml.Node, path, want string) string {
	n = y.open(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		y.fail(n.Line, path, show(n), want)
		return ""
	}
	return n.Value
}

func (y *yamlFile) whole(n *yaml.Node, path string, from, to int) int {
	want := fmt.Sprintf("a whole number from %d to %d", from, to)
	s := y.scalar(n, path, want)
	v, err := strconv.Atoi(s)
	if err != nil || v < from || v > to {
		y.fail(n.Line, path, s, want)
		return 0
	}
	return v
}

// number reads a decimal number: above 0 and up to most, or from 0 if zero is
// allowed.
func (y *yamlFile) number(n *yaml.Node, path string, zero bool, most float64) float64 {
	want := "a number above 0 and up to " + strconv.FormatFloat(most, 'f', -1, 64)
	if zero {
		want = "a number from 0 to " + strconv.FormatFloat(most, 'f', -1, 64)
	}
	s := y.scalar(n, path, want)
	v, ok := parseNumber(s)
	if !ok || v < 0 || v > most || v == 0 && !zero {
		y.fail(n.Line, path, s, want)
		return 0
	}
	return v
}

func (y *yamlFile) size(n *yaml.Node, path string, from int64) int64 {
	const want = "a number of bytes such as 4G, 512M or 4096"
	s := y.scalar(n, path, want)
	v, ok := parseSize(s)
	if !ok || v < from {
		y.fail(n.Line, path, s, want)
		return 0
	}
	return v
}

func (y *yamlFile) boolean(n *yaml.Node, path string) bool {
	s := y.scalar(n, path, "true or false")
	if s != "true" && s != "false" {
		y.fail(n.Line, path, s, "true or false")
	}
	return s == "true"
}

// name reads a name that can stand in commands, file names and tables without
// quoting.
func (y *yamlFile) name(n *yaml.Node, path string) string {
	const want = "a name of letters, digits and . _ - (at most 200)"
	s := y.scalar(n, path, want)
	ok := s != "" && len(s) <= 200
	for i := range len(s) {
		c := s[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
	}
	if !ok {
		y.fail(n.Line, path, s, want)
		return ""
	}
	return s
}

// show is what stands at n, as far as one word can say it.
func show(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "{…}"
	case yaml.SequenceNode:
		return "[…]"
	case yaml.AliasNode:
		return "*" + n.Value
	default:
		return n.Value
	}
}

func find(fields []field, key *yaml.Node) *field {
	for i := range fields {
		if key.Kind == yaml.ScalarNode && fields[i].name == key.Value {
			return &fields[i]
		}
	}
	return nil
}

func names(fields []field) []string {
	s := make([]string, len(fields))
	for i, f := range fields {
		s[i] = f.name
	}
	return s
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
