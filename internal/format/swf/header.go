package swf

import (
	"bytes"
	"strconv"
	"strings"
)

// Header is what the comment lines of a trace say.
type Header struct {
	Entries []Entry  // the lines of the form "; Key: value", in order; keys may repeat
	Lines   []string // all comment lines as they stand, the semicolon included
}

// Entry is one line of the form "; Key: value".
type Entry struct{ Key, Value string }

// FindEntry is the value of the first entry with that key.
func (h *Header) FindEntry(key string) (value string, ok bool) {
	for _, e := range h.Entries {
		if strings.EqualFold(e.Key, key) {
			return e.Value, true
		}
	}
	return "", false
}

// ProcessorCount is the size of the traced machine: MaxProcs, or else MaxNodes;
// 0 if the header gives neither as a positive number.
func (h *Header) ProcessorCount() int {
	for _, key := range []string{"MaxProcs", "MaxNodes"} {
		value, _ := h.FindEntry(key)
		number, _, _ := strings.Cut(value, " ")
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// addLine takes up a comment line.
func (h *Header) addLine(line []byte) {
	line = bytes.TrimRight(line, " \t\r")
	h.Lines = append(h.Lines, string(line))
	if e, ok := parseEntry(string(line[1:])); ok {
		h.Entries = append(h.Entries, e)
	}
}

// maxIndent blanks may stand before a key; lines that continue the value of
// the line before are indented further and may well contain a colon.
const maxIndent = 2

func parseEntry(s string) (Entry, bool) {
	text := strings.TrimLeft(s, " \t")
	if len(s)-len(text) > maxIndent {
		return Entry{}, false
	}
	key, value, ok := strings.Cut(text, ":")
	if !ok || key == "" || strings.HasPrefix(value, "//") {
		return Entry{}, false
	}
	for _, c := range key {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return Entry{}, false
		}
	}
	return Entry{Key: key, Value: strings.TrimSpace(value)}, true
}
