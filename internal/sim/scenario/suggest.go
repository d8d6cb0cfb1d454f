package scenario

import (
	"fmt"
	"strings"
)

// unknown says that a name is not among the known ones, with the one that was
// probably meant where there is one, else with all of them.
func unknown(kind, name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s, did you mean %s?", kind, near)
	}
	const enough = 20 // for one line
	list := strings.Join(known[:min(len(known), enough)], ", ")
	if len(known) > enough {
		list += ", …"
	}
	if list == "" {
		list = "none"
	}
	return fmt.Sprintf("unknown %s, known are %s", kind, list)
}

// nearest is the known name that takes the fewest edits to get to, if that is
// at most a third of its letters (or two).
func nearest(name string, known []string) string {
	const long = 64 // nobody mistypes a name into something longer
	if len(name) > long {
		return ""
	}
	best, fewest := "", max(2, len(name)/3)+1
	for _, k := range known {
		if e := distance(strings.ToLower(name), strings.ToLower(k)); e < fewest && e < len(k) {
			best, fewest = k, e
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace on the way
// from a to b (Levenshtein).
func distance(a, b string) int {
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
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
			row[j+1] = min(replaced, above[j+1]+1, row[j]+1)
		}
		above, row = row, above
	}
	return above[len(b)]
}
