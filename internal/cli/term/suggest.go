package term

import (
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// SuggestChoices says which word was probably meant, or, if none is near, which ones
// there are.
func SuggestChoices(word string, known []string) string {
	if near := badinput.NearestName(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "known are " + JoinWords(known)
}

// JoinWords joins words as people do: a, b or c.
func JoinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
