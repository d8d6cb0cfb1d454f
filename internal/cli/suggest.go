package cli

import (
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// choices says which word was probably meant, or, if none is near, which ones
// there are.
func choices(word string, known []string) string {
	if near := badinput.Nearest(word, known); near != "" {
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
