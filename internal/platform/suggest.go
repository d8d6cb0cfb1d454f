package platform

import (
	"fmt"
	"strings"
)

// unknown says that a name is not among the known ones, with the nearest of
// them where one is near enough to be meant.
func unknown(kind, name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s, did you mean %s?", kind, near)
	}
	const enough = 20 // for one line
	if len(known) == 0 {
		return "unknown " + kind
	}
	if len(known) > enough {
		return fmt.Sprintf("unknown %s, known are %s and %d more", kind, strings.Join(known[:enough], ", "), len(known)-enough)
	}
	return fmt.Sprintf("unknown %s, known are %s", kind, strings.Join(known, ", "))
}

// nearest is the known name that the fewest edits turn name into, or "" when
// none is within a third of its length (and two edits).
func nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, bestEdits := "", max(2, len(name)/3)+1
	for _, k := range known {
		if e := edits(strings.ToLower(name), strings.ToLower(k)); e < bestEdits && e < len(k) {
			best, bestEdits = k, e
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b in bytes.
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
