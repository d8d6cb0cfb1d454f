package jobfile

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
)

// parseScript reads the comment lines of a script: those of its batch system
// first, then ours, which go over them.
func (d *Draft) parseScript(name string, data []byte, importers Importers) error {
	d.at[""] = Origin{File: name}
	lines := batchscript.CommentLines(data)
	if err := d.runScript(name, data); err != nil {
		return err
	}
	if err := d.readManagerLines(name, lines, importers); err != nil {
		return err
	}
	d.managerCalls(name, data)
	for _, line := range lines {
		ours, isOurs := strings.CutPrefix(line.Text, "#GODWIT")
		if !isOurs || ours != "" && ours[0] != ' ' && ours[0] != '\t' {
			continue
		}
		if !line.InHead {
			d.Warnings = append(d.Warnings, Warning{name, line.Number, "#GODWIT", "left out: it stands below the first command"})
			continue
		}
		if err := d.readDirective(name, line.Number, ours); err != nil {
			return err
		}
	}
	return nil
}

// runScript makes a job of the script at path, run where it was submitted, as
// batch systems do.
func (d *Draft) runScript(path string, data []byte) error {
	with := batchscript.FindInterpreter(data)
	if !bytes.HasPrefix(data, []byte("#!")) {
		with = []string{"/bin/sh"}
	}
	if with == nil {
		return &badinput.Error{File: path, Line: 1, Want: "the program that runs the script, such as #!/bin/sh"}
	}
	d.script = d.absolutePath(path)
	d.at["workdir"] = Origin{File: path}
	d.Workdir = d.opt.Dir
	d.at["argv"] = Origin{File: path}
	d.listed = append(with, filepath.Base(d.script))
	d.Name = DefaultName(d.listed[len(with):])
	return nil
}

// readDirective reads what follows #GODWIT: flags with their values.
func (d *Draft) readDirective(name string, n int, text string) error {
	words, err := batchscript.SplitWords(text)
	if err != nil {
		return &badinput.Error{File: name, Line: n, Field: "#GODWIT", Problem: err.Error()}
	}
	for i := 0; i < len(words); i++ {
		flag, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			return &badinput.Error{File: name, Line: n, Field: "#GODWIT", Value: words[i], Want: "flags such as --deadline 20m"}
		}
		flag, value, given := strings.Cut(flag, "=")
		p := Origin{File: name, Line: n, Flag: "--" + flag}
		if !given {
			if i++; i == len(words) {
				return &badinput.Error{File: name, Line: n, Field: p.Flag, Problem: "needs a value"}
			}
			value = words[i]
		}
		if err := d.applySetting(Setting{flag, value}, p); err != nil {
			return err
		}
	}
	return nil
}
