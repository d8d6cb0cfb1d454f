package yamlfile

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

const (
	nullTag  = "!!null"
	mergeTag = "!!merge"
)

// Value is a value with the place where it stands. That of an alias is where
// the alias stands; what the alias names is read as if it were written there.
// The zero Value is that of a field that was left out: it has a Kind and may be
// asked whether it is Given, nothing else.
type Value struct {
	file     *file
	node     *yaml.Node
	path     string
	line     int
	repeated bool // by an alias
}

// Kind tells values apart that have different forms.
type Kind int

// The kinds of values.
const (
	Blank   Kind = iota // left out, or left empty
	Scalar              // a single value: a number, a text
	List                // [a, b]
	Mapping             // {a: b}
)

// Kind is the form in which the value is written.
func (v Value) Kind() Kind {
	switch {
	case v.node == nil || v.node.Tag == nullTag:
		return Blank
	case v.node.Kind == yaml.SequenceNode:
		return List
	case v.node.Kind == yaml.MappingNode:
		return Mapping
	}
	return Scalar
}

// IsGiven is false for what was left out; a field that is there but empty is
// given.
func (v Value) IsGiven() bool { return v.node != nil }

// IsQuoted says whether a single value is written in quotes: "90" and not 90.
func (v Value) IsQuoted() bool {
	return v.node != nil && v.node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
}

// File is the file in which the value stands, as the user named it.
func (v Value) File() string { return v.file.name }

// Line is where in the file it stands, counted from 1.
func (v Value) Line() int { return v.line }

// Err is the first mistake in the whole file, nil as long as none was found.
func (v Value) Err() error { return v.file.err }

// HasFailed says whether a mistake was found.
func (v Value) HasFailed() bool { return v.file.err != nil }

// ReportWrong says that something else should stand here.
func (v Value) ReportWrong(want string) { v.ReportError(showNode(v.node), want) }

// ReportError is Wrong where more than one value, or a part of one, is at fault.
func (v Value) ReportError(value, want string) {
	v.AdoptError(&badinput.Error{Value: value, Want: want})
}

// AdoptError takes over an error that another package reported about this value. A
// bad input that names no file gets ours, the line and the path; its own field
// then is one below this value.
func (v Value) AdoptError(err error) {
	if err == nil || v.HasFailed() {
		return
	}
	var bad *badinput.Error
	if errors.As(err, &bad) && bad.File == "" {
		located := *bad
		located.File, located.Line = v.file.name, v.line
		if located.Field != v.path {
			located.Field = joinPath(v.path, located.Field)
		}
		err = &located
	}
	v.file.err = err
}

// Len is the number of elements of a list or entries of a mapping.
func (v Value) Len() int {
	switch v.Kind() {
	case List:
		return len(v.node.Content)
	case Mapping:
		return len(v.node.Content) / 2
	}
	return 0
}

// EachItem goes through the elements of a list of something, named in the plural,
// until one is wrong.
func (v Value) EachItem(of string) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != List {
			v.ReportWrong("a list of " + of)
			return
		}
		for i, item := range v.node.Content {
			if v.HasFailed() || !yield(v.childValue(item, v.path+"["+strconv.Itoa(i)+"]")) {
				return
			}
		}
	}
}

// EachEntry goes through the keys and values of a mapping whose keys are not
// fields but names or numbers, until one is wrong. want says what the whole is.
// A wrong key is told with the path of the mapping.
func (v Value) EachEntry(want string) iter.Seq2[Value, Value] {
	return func(yield func(key, value Value) bool) {
		if v.Kind() != Mapping {
			v.ReportWrong(want)
			return
		}
		lines := make(map[string]int, v.Len())
		for key, value := range v.keyValuePairs() {
			name := showNode(key.node)
			if key.node.Kind == yaml.ScalarNode {
				if before := lines[name]; before > 0 {
					key.ReportWrong(fmt.Sprintf("not twice: the key stands in line %d already", before))
				}
				lines[name] = key.line
			}
			if v.HasFailed() || !yield(key, value) {
				return
			}
		}
	}
}

// keyValuePairs are the keys and values of a mapping as they stand there, except for
// merge keys, which would hide where a value comes from.
func (v Value) keyValuePairs() iter.Seq2[Value, Value] {
	return func(yield func(key, value Value) bool) {
		for i := 0; i+1 < len(v.node.Content) && !v.HasFailed(); i += 2 {
			key := v.childValue(v.node.Content[i], v.path)
			below := joinPath(v.path, keyLabel(key.node))
			if key.node.Tag == mergeTag {
				key.path = below
				key.ReportError("", "not supported: merge keys; write the fields out")
				return
			}
			if !yield(key, v.childValue(v.node.Content[i+1], below)) {
				return
			}
		}
	}
}

// childValue is a value within v. An alias is followed, at the expense of the
// budget.
func (v Value) childValue(n *yaml.Node, path string) Value {
	c := Value{file: v.file, node: n, path: path, line: n.Line, repeated: v.repeated}
	if n.Kind == yaml.AliasNode {
		c.node, c.repeated = n.Alias, true
	}
	if c.repeated {
		if v.file.left--; v.file.left < 0 {
			v.AdoptError(&badinput.Error{File: v.file.name, Line: n.Line,
				Want: fmt.Sprintf("at most %d values behind aliases", aliasBudget)})
		}
	}
	return c
}

// showNode is what stands at n, as far as one word can say it.
func showNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "{…}"
	case yaml.SequenceNode:
		return "[…]"
	default:
		return n.Value
	}
}

// keyLabel is a key as it stands in a path, which is shown without quotes: at
// most a screen's part of it, and nothing that a terminal would obey.
func keyLabel(n *yaml.Node) string {
	const most = 60
	s := showNode(n)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

func joinPath(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
