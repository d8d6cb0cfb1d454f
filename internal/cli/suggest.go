package cli

import (
	"slices"
	"strings"
)

// choices says which word was probably meant, or, if none is near, which ones
// there are.
func choices(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "known are " + listed(known)
}

// listed joins words as people do: a, b or c.
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest is the known word that takes the fewest edits to get to, if that is
// at most a third of its letters (or one), else one that begins alike; of
// several the first.
func nearest(word string, known []string) string {
	const long = 64 // nobody mistypes a name into something longer
	if len(word) > long {
		return ""
	}
	best, fewest := "", max(1, len(word)/3)+1
	for _, k := range known {
		if n := edits(strings.ToLower(word), k); n < fewest && n < len(k) {
			best, fewest = k, n
		}
	}
	if best == "" {
		i := slices.IndexFunc(known, func(k string) bool { return len(word) > 2 && strings.HasPrefix(k, word) })
		if i >= 0 {
			best = known[i]
		}
	}
	return best
}

// edits is the number of letters to insert, delete, replace or swap with their
// neighbour on the way from a to b.
func edits(a, b string) int {
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
