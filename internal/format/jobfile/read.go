package jobfile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// maxFile bounds a job file: it is written by hand.
const maxFile = 4 << 20

// Read reads the job in a file: YAML, a script, or a description for another system.
func Read(path string, o Options, importers Importers) (*Job, []Warning, error) {
	data, err := yamlfile.ReadFile(path, "a job file", maxFile)
	if err != nil {
		return nil, nil, err
	}
	d, err := Parse(path, data, o, importers)
	if err == nil {
		err = d.resolveFiles()
	}
	slices.SortStableFunc(d.Warnings, func(a, b Warning) int { return a.Line - b.Line })
	if err != nil {
		return nil, d.Warnings, err
	}
	return &d.Job, d.Warnings, nil
}

// Parse reads the job in a file's content. The files that it names are not looked for.
// There is a draft, with the warnings so far, even if there is a mistake.
func Parse(name string, data []byte, o Options, importers Importers) (*Draft, error) {
	d := newDraft(o)
	err := d.parseContent(name, data, importers)
	if err == nil {
		err = d.finishJob()
	}
	return d, err
}

// parseContent reads a file's content and what the command line says over it.
func (d *Draft) parseContent(name string, data []byte, importers Importers) error {
	var err error
	switch {
	case batchscript.IsScript(data):
		err = d.parseScript(name, data, importers)
	case isJobSpec(data):
		d.at[""] = Origin{File: name}
		err = importers.PSIJ(newImport(d), name, data)
	default:
		err = d.parseYAML(name, data)
	}
	if err != nil {
		return err
	}
	return d.applyOverrides()
}

// isJobSpec says whether a file is JSON as PSI/J writes it: with an executable,
// which job files of ours do not have.
func isJobSpec(data []byte) bool {
	text := bytes.TrimSpace(data)
	return bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"executable"`))
}

// FromCommand makes a job of a command as it would be typed: it runs in the
// folder and with the environment of the caller.
func FromCommand(argv []string, o Options) (*Job, []Warning, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, nil, &badinput.Error{Want: "a command after --, such as: godwit run -- ./program input.dat"}
	}
	d := newDraft(o)
	d.at["argv"] = Origin{}
	d.listed = argv
	d.Workdir = o.Dir
	d.at["workdir"] = Origin{}
	d.inheritEnvironment(nil)
	if err := d.applyOverrides(); err != nil {
		return nil, d.Warnings, err
	}
	err := d.finishJob()
	if err == nil {
		err = d.resolveFiles()
	}
	if err != nil {
		return nil, d.Warnings, err
	}
	return &d.Job, d.Warnings, nil
}

// stays are variables that describe the caller's session or shell and would be
// wrong anywhere else.
var stays = []string{"PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "WINDOWID", "DISPLAY",
	"WAYLAND_DISPLAY", "XAUTHORITY"}

// isInherited says whether a variable of the caller goes along with a command.
func isInherited(name string) bool {
	for _, prefix := range []string{"GODWIT_", "SSH_", "DBUS_", "XDG_", "TMUX", "STY"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	for _, s := range stays {
		if name == s {
			return false
		}
	}
	_, err := parseVariable(name)
	return err == nil
}
