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

// ReadField is a field whose value read looks after.
func ReadField(name string, read func(Value)) Field { return Field{name, read} }

// StoreField is a field whose value is stored.
func StoreField[T any](name string, to *T, read func(Value) T) Field {
	return Field{name, func(v Value) { *to = read(v) }}
}

// DeferField is a field whose value can only be read once others are known.
func DeferField(name string, to *Value) Field {
	return Field{name, func(v Value) { *to = v }}
}

// Found tells which fields a mapping has.
type Found struct {
	of    Value
	lines map[string]int // of the keys
}

// ReadMapping hands every value of a mapping to its field, in the order of the
// file. Other keys, and keys that come twice, are mistakes.
func (v Value) ReadMapping(fields ...Field) Found {
	if v.Kind() != Mapping {
		v.ReportWrong("a mapping of " + strings.Join(fieldNames(fields), ", "))
		return Found{of: v}
	}
	found := Found{v, make(map[string]int, v.Len())}
	for key, value := range v.keyValuePairs() {
		name := showNode(key.node)
		at := slices.IndexFunc(fields, func(f Field) bool { return f.name == name && key.node.Kind == yaml.ScalarNode })
		key.path = value.path
		switch {
		case at < 0:
			key.ReportError("", badinput.UnknownName("field", name, fieldNames(fields)))
		case found.HasField(name):
			key.ReportError("", fmt.Sprintf("not twice: the field stands in line %d already", found.lines[name]))
		default:
			found.lines[name] = key.line
			fields[at].read(value)
		}
	}
	return found
}

// HasField says whether the field is there, if only left empty.
func (f Found) HasField(name string) bool { return f.lines[name] > 0 }

// RequireField says that a field is missing, unless it is there; want is what should
// stand in it, or nothing.
func (f Found) RequireField(name, want string) {
	if f.HasField(name) {
		return
	}
	f.of.AdoptError(&badinput.Error{Field: name, Problem: "missing", Want: want})
}

// FailField says that a field is wrong in the light of others.
func (f Found) FailField(name, value, want string) {
	v := f.of
	if line := f.lines[name]; line > 0 {
		v.line = line
	}
	v.AdoptError(&badinput.Error{Field: name, Value: value, Want: want})
}

func fieldNames(fields []Field) []string {
	s := make([]string, len(fields))
	for i, f := range fields {
		s[i] = f.name
	}
	return s
}
