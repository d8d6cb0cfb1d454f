// Package jobref reads how people name jobs on the command line: numbers, ranges,
// lists, arrays and their elements, names. It decides what a text means, not which
// jobs there are.
package jobref

import (
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Kind is what a reference names.
type Kind int

// The kinds of references.
const (
	Number   Kind = iota // one job, or the array of that number
	Range                // all jobs from one number to another
	Elements             // elements of an array
	Named                // a name, or the beginning of a unique id
	Last                 // the job, or the array, that was submitted last
	All                  // all jobs that have not ended
)

// Ref is one reference.
type Ref struct {
	Kind     Kind
	Text     string // as it was written
	From, To int64  // Number: From; Range: both ends
	Array    int64  // Elements: the number of the array
	Indices  []int  // Elements: which; nil: all
}

// WantedForms says what can be written.
const WantedForms = "a job such as 83, 80-83, 80,81, 83_3, 83_[1-4], a name, last or all"

// maxSpan is the most jobs that a range, or indices the most that brackets name.
const maxSpan = 1_000_000

// Parse reads references, with commas between them.
func Parse(text string) ([]Ref, error) {
	var list []Ref
	for _, part := range splitList(text) {
		r, err := parseOne(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// splitList cuts at commas outside of brackets.
func splitList(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth <= 0:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

func parseOne(text string) (Ref, error) {
	r := Ref{Text: text}
	bad := &badinput.Error{Field: "job", Value: text, Want: WantedForms}
	switch text {
	case "":
		return r, bad
	case "last":
		r.Kind = Last
		return r, nil
	case "all":
		r.Kind = All
		return r, nil
	}
	if n, ok := parseNumber(text); ok {
		r.Kind, r.From = Number, n
		return r, nil
	}
	if from, to, ok := parseSpan(text); ok {
		r.Kind, r.From, r.To = Range, from, to
		if to < from || to-from >= maxSpan {
			bad.Problem, bad.Want = "not a range of jobs", "the smaller number first, such as 80-83"
			return r, bad
		}
		return r, nil
	}
	array, element, found := strings.Cut(text, "_")
	if n, ok := parseNumber(array); ok && found {
		indices, ok := parseElements(element)
		if !ok {
			bad.Problem, bad.Want = "not elements of an array", "such as 83_3, 83_[1-4,7] or 83_*"
			return r, bad
		}
		r.Kind, r.Array, r.Indices = Elements, n, indices
		return r, nil
	}
	r.Kind = Named
	return r, nil
}

// parseNumber is a number of a job; no more digits than one can have.
func parseNumber(text string) (int64, bool) {
	const digits = "0123456789"
	if text == "" || strings.Trim(text, digits) != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

func parseSpan(text string) (from, to int64, ok bool) {
	a, b, found := strings.Cut(text, "-")
	from, okFrom := parseNumber(a)
	to, okTo := parseNumber(b)
	return from, to, found && okFrom && okTo
}

// parseElements are the indices after the underscore: 3, *, or [1-4,7].
func parseElements(text string) ([]int, bool) {
	if text == "*" || text == "[*]" {
		return nil, true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, false
		}
		text = inner
	}
	var list []int
	for _, part := range strings.Split(text, ",") {
		from, to, ok := parseSpan(part)
		if n, single := parseNumber(part); single {
			from, to, ok = n, n, true
		}
		if !ok || to < from || to-from >= maxSpan || len(list) >= maxSpan {
			return nil, false
		}
		for i := from; i <= to; i++ {
			list = append(list, int(i))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), true
}
