package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/badinput"
)

// maxNodes bounds how many values are looked at, counting those behind an
// alias every time.
const maxNodes = 1_000_000

// document reads YAML values with their positions. It keeps the first mistake
// and returns zero values from then on, so that its users need not look back
// after every field.
type document struct {
	file string
	seen int
	err  error
}

func (d *document) fail(line int, field, value, want string) {
	if d.err == nil {
		d.err = &badinput.Error{File: d.file, Line: line, Field: field, Value: value, Want: want}
	}
}

// adopt takes over an error that another package reported about the field at
// path. A bad input that names no file gets ours and the line; one that is in
// this file gets the path.
func (d *document) adopt(err error, line int, path string) {
	if err == nil || d.err != nil {
		return
	}
	d.err = err
	var bad *badinput.Error
	if !errors.As(err, &bad) || bad.File != "" && bad.File != d.file {
		return
	}
	located := *bad
	if located.File == "" {
		located.File, located.Line = d.file, line
	}
	if located.Field != path {
		located.Field = join(path, located.Field)
	}
	d.err = &located
}

func (d *document) failed() bool { return d.err != nil }

// top is the mapping that the only document in data consists of.
func (d *document) top(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		d.fail(0, "", "", "a scenario; the file is empty")
		return nil
	}
	if err == nil {
		if err = dec.Decode(&second); err == nil {
			d.fail(second.Line, "", "", "one YAML document; a second one begins here")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		d.syntax(err)
		return nil
	}
	return doc.Content[0]
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

func (d *document) syntax(err error) {
	line, text := 0, err.Error()
	if m := yamlError.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	d.fail(line, "", "", "valid YAML ("+strings.Join(strings.Fields(text), " ")+")")
}

// open follows aliases, and counts.
func (d *document) open(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.seen++; d.seen > maxNodes {
		d.fail(n.Line, "", "", fmt.Sprintf("at most %d values, counting those behind aliases", maxNodes))
	}
	return n
}

// field is a key of a mapping and what to do with its value.
type field struct {
	name string
	read func(n *yaml.Node, path string)
}

// mapping hands every value of n to its field. lines tells where each field
// stands; its entry "" is the line of the mapping itself.
func (d *document) mapping(n *yaml.Node, path string, fields ...field) (lines map[string]int) {
	n = d.open(n)
	lines = map[string]int{"": n.Line}
	if n.Kind != yaml.MappingNode {
		d.fail(n.Line, path, show(n), "a mapping of "+strings.Join(names(fields), ", "))
		return lines
	}
	for i := 0; i+1 < len(n.Content) && !d.failed(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := show(key)
		at := slices.IndexFunc(fields, func(f field) bool { return key.Kind == yaml.ScalarNode && f.name == name })
		switch {
		case key.Tag == "!!merge":
			d.fail(key.Line, join(path, name), "", "fields written out; merge keys are not read")
		case at < 0:
			d.fail(key.Line, join(path, name), "", unknown("field", name, names(fields)))
		case lines[name] > 0:
			d.fail(key.Line, join(path, name), "", fmt.Sprintf("each field once; it stands in line %d already", lines[name]))
		default:
			lines[name] = key.Line
			fields[at].read(value, join(path, name))
		}
	}
	return lines
}

// list calls read for every element of a sequence.
func (d *document) list(n *yaml.Node, path, of string, read func(n *yaml.Node, path string)) {
	n = d.open(n)
	if n.Kind != yaml.SequenceNode {
		d.fail(n.Line, path, show(n), "a list of "+of)
		return
	}
	for i, item := range n.Content {
		if d.failed() {
			return
		}
		read(item, fmt.Sprintf("%s[%d]", path, i))
	}
}

// scalar is a single value as it is written.
func (d *document) scalar(n *yaml.Node, path, want string) string {
	n = d.open(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fail(n.Line, path, show(n), want)
		return ""
	}
	return n.Value
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

func names(fields []field) []string {
	s := make([]string, len(fields))
	for i, f := range fields {
		s[i] = f.name
	}
	return s
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
