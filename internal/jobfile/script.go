package jobfile

import (
	"bufio"
	"bytes"
	"errors"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/godwit-hpc/godwit/internal/badinput"
)

// parseScript reads the comment lines at the head of a script, up to the first
// command, as batch systems do.
func (d *draft) parseScript(name string, data []byte) error {
	d.at[""] = place{file: name}
	if err := d.runScript(name, data); err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxFile+1)
	head := true
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if head && line != "" && !strings.HasPrefix(line, "#") {
			head = false
		}
		if err := d.comment(name, n, line, head); err != nil {
			return err
		}
	}
	return nil
}

// interpreter is what the first line of a script says is to run it.
func interpreter(data []byte) []string {
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
	with := interpreter(data)
	if with == nil {
		return &badinput.Error{File: path, Line: 1, Want: "the program that runs the script, such as #!/bin/sh"}
	}
	d.script = d.absolute(path)
	d.at["workdir"] = place{file: path}
	d.Workdir = d.opt.Dir
	d.at["argv"] = place{file: path}
	d.listed = append(with, filepath.Base(d.script))
	d.Name = defaultName(d.listed[len(with):])
	return nil
}

// comment looks at one line of a script.
func (d *draft) comment(name string, n int, line string, head bool) error {
	ours, isOurs := strings.CutPrefix(line, "#GODWIT")
	isOurs = isOurs && (ours == "" || ours[0] == ' ' || ours[0] == '\t')
	switch {
	case isOurs && !head:
		d.warnings = append(d.warnings, Warning{name, n, "#GODWIT", "left out: it stands below the first command"})
	case isOurs:
		return d.directive(name, n, ours)
	case head && strings.HasPrefix(line, "#SBATCH"):
		return &badinput.Error{File: name, Line: n, Field: "#SBATCH", Want: "not supported yet: lines of Slurm come later; #GODWIT --procs 4 and the like are read"}
	case head && (line == "#$" || strings.HasPrefix(line, "#$ ")):
		return &badinput.Error{File: name, Line: n, Field: "#$", Want: "not supported yet: lines of Grid Engine come later; #GODWIT --procs 4 and the like are read"}
	}
	return nil
}

// directive reads what follows #GODWIT: flags with their values.
func (d *draft) directive(name string, n int, text string) error {
	words, err := splitWords(text)
	if err != nil {
		return &badinput.Error{File: name, Line: n, Field: "#GODWIT", Want: err.Error()}
	}
	for i := 0; i < len(words); i++ {
		flag, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			return &badinput.Error{File: name, Line: n, Field: "#GODWIT", Value: words[i], Want: "flags such as --deadline 20m"}
		}
		flag, value, given := strings.Cut(flag, "=")
		p := place{name, n, "--" + flag}
		if !given {
			if i++; i == len(words) {
				return &badinput.Error{File: name, Line: n, Field: p.flag, Want: "a value after it"}
			}
			value = words[i]
		}
		if err := d.set(Setting{flag, value}, p); err != nil {
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
		word, err := literal(w.Parts)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// literal is the text of quoted and unquoted parts.
func literal(parts []syntax.WordPart) (string, error) {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(part.Value, ""))
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
				b.WriteString(unescape(lit.Value, "$`\"\\"))
			}
		default:
			return "", errWords
		}
	}
	return b.String(), nil
}

// unescape takes away the backslashes that protect a character; within double
// quotes only some need protection.
func unescape(s, only string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (only == "" || strings.IndexByte(only, s[i+1]) >= 0) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
