package batchscript

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var errQuote = errors.New("a quote that is closed on the same line")

// SplitOptions splits the options in a comment as batch systems do: at blanks, with
// quotes and backslashes; nothing is expanded, and a # begins a comment.
func SplitOptions(text string) ([]string, error) {
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

var errWords = errors.New("plain words as in a shell, quoted where they have spaces; nothing is expanded")

// SplitWords splits a line as a shell would that expands nothing.
func SplitWords(text string) ([]string, error) {
	var words []string
	for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(text)) {
		if err != nil {
			return nil, errWords
		}
		word, err := literalText(w.Parts)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// literalText is the text of quoted and unquoted parts.
func literalText(parts []syntax.WordPart) (string, error) {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescapeText(part.Value, ""))
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", errWords
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", errWords
				}
				b.WriteString(unescapeText(lit.Value, "$`\"\\"))
			}
		default:
			return "", errWords
		}
	}
	return b.String(), nil
}

// unescapeText takes away the backslashes that protect a character; within double
// quotes only some need protection.
func unescapeText(s, only string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (only == "" || strings.IndexByte(only, s[i+1]) >= 0) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
