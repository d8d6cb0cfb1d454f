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

// Given is false for what was left out; a field that is there but empty is
// given.
func (v Value) Given() bool { return v.node != nil }

// Quoted says whether a single value is written in quotes: "90" and not 90.
func (v Value) Quoted() bool {
	return v.node != nil && v.node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
}

// File is the file in which the value stands, as the user named it.
func (v Value) File() string { return v.file.name }

// Line is where in the file it stands, counted from 1.
func (v Value) Line() int { return v.line }

// Err is the first mistake in the whole file, nil as long as none was found.
func (v Value) Err() error { return v.file.err }

// Failed says whether a mistake was found.
func (v Value) Failed() bool { return v.file.err != nil }

// Wrong says that something else should stand here.
func (v Value) Wrong(want string) { v.Fail(show(v.node), want) }

// Fail is Wrong where more than one value, or a part of one, is at fault.
func (v Value) Fail(value, want string) { v.Adopt(&badinput.Error{Value: value, Want: want}) }

// Adopt takes over an error that another package reported about this value. A
// bad input that names no file gets ours, the line and the path; its own field
// then is one below this value.
func (v Value) Adopt(err error) {
	if err == nil || v.Failed() {
		return
	}
	var bad *badinput.Error
	if errors.As(err, &bad) && bad.File == "" {
		located := *bad
		located.File, located.Line = v.file.name, v.line
		if located.Field != v.path {
			located.Field = join(v.path, located.Field)
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

// List goes through the elements of a list of something, named in the plural,
// until one is wrong.
func (v Value) List(of string) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != List {
			v.Wrong("a list of " + of)
			return
		}
		for i, item := range v.node.Content {
			if v.Failed() || !yield(v.child(item, v.path+"["+strconv.Itoa(i)+"]")) {
				return
			}
		}
	}
}

// Entries goes through the keys and values of a mapping whose keys are not
// fields but names or numbers, until one is wrong. want says what the whole is.
// A wrong key is told with the path of the mapping.
func (v Value) Entries(want string) iter.Seq2[Value, Value] {
	return func(yield func(key, value Value) bool) {
		if v.Kind() != Mapping {
			v.Wrong(want)
			return
		}
		lines := make(map[string]int, v.Len())
		for key, value := range v.pairs() {
			name := show(key.node)
			if key.node.Kind == yaml.ScalarNode {
				if before := lines[name]; before > 0 {
					key.Wrong(fmt.Sprintf("not twice: the key stands in line %d already", before))
				}
				lines[name] = key.line
			}
			if v.Failed() || !yield(key, value) {
				return
			}
		}
	}
}

// pairs are the keys and values of a mapping as they stand there, except for
// merge keys, which would hide where a value comes from.
func (v Value) pairs() iter.Seq2[Value, Value] {
	return func(yield func(key, value Value) bool) {
		for i := 0; i+1 < len(v.node.Content) && !v.Failed(); i += 2 {
			key := v.child(v.node.Content[i], v.path)
			below := join(v.path, label(key.node))
			if key.node.Tag == mergeTag {
				key.path = below
				key.Fail("", "not supported: merge keys; write the fields out")
				return
			}
			if !yield(key, v.child(v.node.Content[i+1], below)) {
				return
			}
		}
	}
}

// child is a value within v. An alias is followed, at the expense of the
// budget.
func (v Value) child(n *yaml.Node, path string) Value {
	c := Value{file: v.file, node: n, path: path, line: n.Line, repeated: v.repeated}
	if n.Kind == yaml.AliasNode {
		c.node, c.repeated = n.Alias, true
	}
	if c.repeated {
		if v.file.left--; v.file.left < 0 {
			v.Adopt(&badinput.Error{File: v.file.name, Line: n.Line, Want: fmt.Sprintf("at most %d values behind aliases", aliasBudget)})
		}
	}
	return c
}

// show is what stands at n, as far as one word can say it.
func show(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "{…}"
	case yaml.SequenceNode:
		return "[…]"
	default:
		return n.Value
	}
}

// label is a key as it stands in a path, which is shown without quotes: at
// most a screen's part of it, and nothing that a terminal would obey.
func label(n *yaml.Node) string {
	const most = 60
	s := show(n)
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

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
