package jobfile

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// isScript says whether a file is a script: its first line says what runs it, or
// it has lines for a batch system, some of which need no such line.
func isScript(data []byte) bool {
	if bytes.HasPrefix(data, []byte("#!")) {
		return true
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
		if rest, ok := gridLine(string(line)); ok && strings.HasPrefix(rest, "-") {
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

// scriptLine is a line of a script that is no command.
type scriptLine struct {
	n    int
	text string
	head bool // it stands before the first command

	windows bool // it ends with a carriage return
}

// parseScript reads the comment lines of a script: those of its batch system
// first, then ours, which go over them.
func (d *draft) parseScript(name string, data []byte) error {
	d.at[""] = fieldOrigin{file: name}
	lines := commentLines(data)
	if err := d.runScript(name, data); err != nil {
		return err
	}
	if err := d.readManagerLines(name, lines); err != nil {
		return err
	}
	d.managerCalls(name, data)
	for _, line := range lines {
		ours, isOurs := strings.CutPrefix(line.text, "#GODWIT")
		if !isOurs || ours != "" && ours[0] != ' ' && ours[0] != '\t' {
			continue
		}
		if !line.head {
			d.warnings = append(d.warnings, Warning{name, line.n, "#GODWIT", "left out: it stands below the first command"})
			continue
		}
		if err := d.readDirective(name, line.n, ours); err != nil {
			return err
		}
	}
	return nil
}

// commentLines lists the lines that begin with #.
func commentLines(data []byte) []scriptLine {
	var list []scriptLine
	head, n := true, 0
	for raw := range bytes.Lines(data) {
		n++
		line := strings.TrimRight(string(raw), "\r\n")
		if !strings.HasPrefix(line, "#") {
			head = head && strings.TrimSpace(line) == ""
			continue
		}
		list = append(list, scriptLine{n, line, head, bytes.HasSuffix(raw, []byte("\r\n"))})
	}
	return list
}

// scriptInterpreter is what the first line of a script says is to run it.
func scriptInterpreter(data []byte) []string {
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

// runScript makes a job of the script at path, run where it was submitted, as
// batch systems do.
func (d *draft) runScript(path string, data []byte) error {
	with := scriptInterpreter(data)
	if !bytes.HasPrefix(data, []byte("#!")) {
		with = []string{"/bin/sh"}
	}
	if with == nil {
		return &badinput.Error{File: path, Line: 1, Want: "the program that runs the script, such as #!/bin/sh"}
	}
	d.script = d.absolutePath(path)
	d.at["workdir"] = fieldOrigin{file: path}
	d.Workdir = d.opt.Dir
	d.at["argv"] = fieldOrigin{file: path}
	d.listed = append(with, filepath.Base(d.script))
	d.Name = defaultName(d.listed[len(with):])
	return nil
}

// readDirective reads what follows #GODWIT: flags with their values.
func (d *draft) readDirective(name string, n int, text string) error {
	words, err := splitWords(text)
	if err != nil {
		return &badinput.Error{File: name, Line: n, Field: "#GODWIT", Problem: err.Error()}
	}
	for i := 0; i < len(words); i++ {
		flag, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			return &badinput.Error{File: name, Line: n, Field: "#GODWIT", Value: words[i], Want: "flags such as --deadline 20m"}
		}
		flag, value, given := strings.Cut(flag, "=")
		p := fieldOrigin{file: name, line: n, flag: "--" + flag}
		if !given {
			if i++; i == len(words) {
				return &badinput.Error{File: name, Line: n, Field: p.flag, Problem: "needs a value"}
			}
			value = words[i]
		}
		if err := d.applySetting(Setting{flag, value}, p); err != nil {
			return err
		}
	}
	return nil
}

var errWords = errors.New("plain words as in a shell, quoted where they have spaces; nothing is expanded")

// splitWords splits a line as a shell would that expands nothing.
func splitWords(text string) ([]string, error) {
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
