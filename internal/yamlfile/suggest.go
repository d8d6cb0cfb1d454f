package yamlfile

import (
	"fmt"
	"strings"
)

// Unknown says that a name is not among the known ones, with the nearest of
// them where one is near enough to be meant, else with all of them.
func Unknown(kind, name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s, did you mean %s?", kind, near)
	}
	const enough = 20 // for one line
	switch {
	case len(known) == 0:
		return "unknown " + kind
	case len(known) > enough:
		return fmt.Sprintf("unknown %s, known are %s and %d more", kind, strings.Join(known[:enough], ", "), len(known)-enough)
	}
	return fmt.Sprintf("unknown %s, known are %s", kind, strings.Join(known, ", "))
}

// nearest is the known name that the fewest edits turn name into, or "" when
// none is within a third of its length (and two edits).
func nearest(name string, known []string) string {
	const long = 64 // nobody mistypes a name into something longer
	if len(name) > long {
		return ""
	}
	best, fewest := "", max(2, len(name)/3)+1
	for _, k := range known {
		if e := edits(strings.ToLower(name), strings.ToLower(k)); e < fewest && e < len(k) {
			best, fewest = k, e
		}
	}
	return best
}

// edits is the number of bytes to insert, delete or replace on the way from a
// to b (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
