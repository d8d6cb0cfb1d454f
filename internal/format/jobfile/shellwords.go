package jobfile

import (
	"errors"
	"strings"
)

var errQuote = errors.New("a quote that is closed on the same line")

// lineWords splits the options in a comment as batch systems do: at blanks, with
// quotes and backslashes; nothing is expanded, and a # begins a comment.
func lineWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\v', '\f':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
			continue
		case '#':
			if !inWord {
				return words, nil
			}
			word.WriteByte(c)
		case '\\':
			if i++; i < len(text) {
				word.WriteByte(text[i])
			}
		case '\'', '"':
			n := readQuoted(&word, text[i+1:], c)
			if n < 0 {
				return nil, errQuote
			}
			i += n
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// readQuoted adds what stands before the closing quote, and returns how far that is;
// -1 if there is none.
func readQuoted(word *strings.Builder, text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i + 1
		case text[i] == '\\' && quote == '"' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
		}
		word.WriteByte(text[i])
	}
	return -1
}
