package batchscript

import (
	"bytes"
	"strings"
)

// IsScript says whether a file is a script: its first line says what runs it, or
// it has lines for a batch system, some of which need no such line.
func IsScript(data []byte) bool {
	if bytes.HasPrefix(data, []byte("#!")) {
		return true
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
		if rest, ok := CutGridPrefix(string(line)); ok && strings.HasPrefix(rest, "-") {
			return true
		}
		for _, prefix := range []string{"#PBS ", "#BSUB ", "#SBATCH ", "#GODWIT "} {
			if bytes.HasPrefix(line, []byte(prefix)) {
				return true
			}
		}
	}
	return false
}

// CommentLine is a line of a script that is no command.
type CommentLine struct {
	Number int
	Text   string
	InHead bool // it stands before the first command

	EndsWithCR bool // as Windows has it
}

// CommentLines lists the lines that begin with #.
func CommentLines(data []byte) []CommentLine {
	var list []CommentLine
	head, n := true, 0
	for raw := range bytes.Lines(data) {
		n++
		line := strings.TrimRight(string(raw), "\r\n")
		if !strings.HasPrefix(line, "#") {
			head = head && strings.TrimSpace(line) == ""
			continue
		}
		list = append(list, CommentLine{n, line, head, bytes.HasSuffix(raw, []byte("\r\n"))})
	}
	return list
}

// FindInterpreter is what the first line of a script says is to run it.
func FindInterpreter(data []byte) []string {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	text := strings.TrimSpace(strings.TrimPrefix(string(line), "#!"))
	if text == "" || strings.ContainsRune(text, 0) {
		return nil
	}
	if i := strings.IndexAny(text, " \t"); i > 0 { // one argument, as the kernel does
		return []string{text[:i], strings.TrimSpace(text[i:])}
	}
	return []string{text}
}

// CutGridPrefix is what follows #$ on a line for Grid Engine.
func CutGridPrefix(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "#$")
	return strings.TrimSpace(rest), ok && (rest == "" || strings.ContainsRune(" \t-", rune(rest[0])))
}
