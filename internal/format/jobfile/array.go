package jobfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ArrayRange is the indices of an array job, and how many may run at once.
type ArrayRange struct {
	First, Last, Step, AtOnce int // AtOnce 0: all
	// List has the indices where they are no single range: 1,3,7-9. First and
	// Last are then the least and the greatest of them, and Step is 1.
	List string `json:",omitempty"`
}

// Len is the number of indices; 0 if the job is no array.
func (a ArrayRange) Len() int {
	switch {
	case a.Step < 1:
		return 0
	case a.List != "":
		return len(a.Indices())
	}
	return (a.Last-a.First)/a.Step + 1
}

// Indices lists them, from the least on.
func (a ArrayRange) Indices() []int {
	if a.List != "" {
		list, _ := parseIndices(a.List, MaxIndex) // checked when it was read
		return list
	}
	var list []int
	for i := a.First; a.Step > 0 && i <= a.Last; i += a.Step {
		list = append(list, i)
	}
	return list
}

// isSound says whether no file or flag is needed to know what is meant.
func (a ArrayRange) isSound() bool {
	if a == (ArrayRange{}) {
		return true
	}
	if a.Step < 1 || a.First < 0 || a.Last < a.First || a.AtOnce < 0 {
		return false
	}
	if a.List == "" {
		return a.Len() <= MaxArray
	}
	list, err := parseIndices(a.List, MaxIndex)
	return err == nil && len(list) > 0 && a.Step == 1 && a.First == list[0] && a.Last == list[len(list)-1]
}

const wantArray = "indices such as 1-100, 0-90:10, 1,5,7-9 or, for at most 20 at once, 1-100%20"

// ParseArray reads 1-100, 1-100:5, 1,3,7-9 and 1-100%20.
func ParseArray(s string) (ArrayRange, error) {
	text, atOnce, limited := strings.Cut(s, "%")
	var a ArrayRange
	var err error
	if strings.Contains(text, ",") {
		a, err = parseList(text)
	} else {
		a, err = ParseRange(text)
	}
	if err == nil && limited {
		a.AtOnce, err = ParseIndex(atOnce, 1, MaxIndex)
	}
	if err != nil {
		return ArrayRange{}, fmt.Errorf("%s%w", wantArray, err)
	}
	return a, nil
}

// errIndex says no more than wantArray does; the others go on from there.
var errIndex = errors.New("")

// parseList reads several indices and ranges. Those that make up one range are
// that range.
func parseList(text string) (ArrayRange, error) {
	list, err := parseIndices(text, MaxIndex)
	if err != nil {
		return ArrayRange{}, err
	}
	first, last := list[0], list[len(list)-1]
	if last-first == len(list)-1 {
		return ArrayRange{First: first, Last: last, Step: 1}, nil
	}
	return ArrayRange{First: first, Last: last, Step: 1, List: text}, nil
}

// parseIndices reads 1,3,7-9:2 and sorts it, each index once.
func parseIndices(text string, most int) ([]int, error) {
	const enough = 1 << 16 // bytes, for anything that somebody writes
	if len(text) > enough {
		return nil, errors.New("; fewer of them")
	}
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		a, err := ParseRange(part)
		if err != nil {
			return nil, err
		}
		if len(list)+a.Len() > MaxArray {
			return nil, fmt.Errorf("; at most %d of them", MaxArray)
		}
		if a.Last > most {
			return nil, fmt.Errorf("; at most %d", most)
		}
		list = append(list, a.Indices()...)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// ParseRange reads 7, 1-100 and 1-100:5.
func ParseRange(text string) (ArrayRange, error) {
	text, step, stepped := strings.Cut(text, ":")
	first, last, ranged := strings.Cut(text, "-")
	if !ranged {
		last = first
	}
	a := ArrayRange{Step: 1}
	var errs [3]error
	a.First, errs[0] = ParseIndex(first, 0, MaxIndex)
	a.Last, errs[1] = ParseIndex(last, 0, MaxIndex)
	if stepped {
		a.Step, errs[2] = ParseIndex(step, 1, MaxIndex)
	}
	switch err := cmp.Or(errs[0], errs[1], errs[2]); {
	case err != nil:
		return ArrayRange{}, err
	case a.Last < a.First:
		return ArrayRange{}, errors.New("; the last comes after the first")
	case a.Len() > MaxArray:
		return ArrayRange{}, fmt.Errorf("; at most %d of them", MaxArray)
	}
	return a, nil
}

// ParseIndex reads digits alone: a sign is no part of an index.
func ParseIndex(text string, from, to int) (int, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= from && n <= to && text[0] != '+' {
		return n, nil
	}
	return 0, errIndex
}
