package badinput

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownName says that a name is not among the known ones, with the nearest of
// them where one is near enough to be meant, else with all of them.
func UnknownName(kind, name string, known []string) string {
	if near := NearestName(name, known); near != "" {
		return fmt.Sprintf("unknown %s, did you mean %s?", kind, near)
	}
	const enough = 20 // for one line
	switch {
	case len(known) == 0:
		return "unknown " + kind
	case len(known) > enough:
		return fmt.Sprintf("unknown %s, known are %s and %d more", kind, strings.Join(known[:enough], ", "),
			len(known)-enough)
	}
	return fmt.Sprintf("unknown %s, known are %s", kind, strings.Join(known, ", "))
}

// NearestName is the known name that the fewest edits turn name into, if they are
// at most a third of its letters (or two), else one that begins alike, else "".
// Of several it is the first.
func NearestName(name string, known []string) string {
	const long = 64 // nobody mistypes a name into something longer
	if len(name) > long {
		return ""
	}
	best, fewest := "", max(2, len(name)/3)+1
	for _, k := range known {
		if n := editDistance(strings.ToLower(name), strings.ToLower(k)); n < fewest && n < len(k) {
			best, fewest = k, n
		}
	}
	if best == "" && len(name) > 2 {
		if i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name) }); i >= 0 {
			best = known[i]
		}
	}
	return best
}

// editDistance is the number of bytes to insert, delete, replace or swap with their
// neighbour on the way from a to b.
func editDistance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replaced := above[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
