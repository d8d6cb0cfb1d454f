package yamlfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Field is a key that a mapping may have and what to do with its value.
type Field struct {
	name string
	read func(Value)
}

// Key is a field whose value read looks after.
func Key(name string, read func(Value)) Field { return Field{name, read} }

// Set is a field whose value is stored.
func Set[T any](name string, to *T, read func(Value) T) Field {
	return Field{name, func(v Value) { *to = read(v) }}
}

// Later is a field whose value can only be read once others are known.
func Later(name string, to *Value) Field {
	return Field{name, func(v Value) { *to = v }}
}

// Found tells which fields a mapping has.
type Found struct {
	of    Value
	lines map[string]int // of the keys
}

// Mapping hands every value of a mapping to its field, in the order of the
// file. Other keys, and keys that come twice, are mistakes.
func (v Value) Mapping(fields ...Field) Found {
	if v.Kind() != Mapping {
		v.Wrong("a mapping of " + strings.Join(names(fields), ", "))
		return Found{of: v}
	}
	found := Found{v, make(map[string]int, v.Len())}
	for key, value := range v.pairs() {
		name := show(key.node)
		at := slices.IndexFunc(fields, func(f Field) bool { return f.name == name && key.node.Kind == yaml.ScalarNode })
		key.path = value.path
		switch {
		case at < 0:
			key.Fail("", badinput.Unknown("field", name, names(fields)))
		case found.Has(name):
			key.Fail("", fmt.Sprintf("not twice: the field stands in line %d already", found.lines[name]))
		default:
			found.lines[name] = key.line
			fields[at].read(value)
		}
	}
	return found
}

// Has says whether the field is there, if only left empty.
func (f Found) Has(name string) bool { return f.lines[name] > 0 }

// Need says that a field is missing, unless it is there; want is what should
// stand in it, or nothing.
func (f Found) Need(name, want string) {
	if f.Has(name) {
		return
	}
	f.of.Adopt(&badinput.Error{Field: name, Problem: "missing", Want: want})
}

// Fail says that a field is wrong in the light of others.
func (f Found) Fail(name, value, want string) {
	v := f.of
	if line := f.lines[name]; line > 0 {
		v.line = line
	}
	v.Adopt(&badinput.Error{Field: name, Value: value, Want: want})
}

func names(fields []Field) []string {
	s := make([]string, len(fields))
	for i, f := range fields {
		s[i] = f.name
	}
	return s
}
