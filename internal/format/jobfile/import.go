package jobfile

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// Importers read jobs that were written for other systems. They stand above this
// package, which knows no more of them than when each is asked: package imports has
// them all.
type Importers struct {
	Slurm      func(m *Import, file string, lines []batchscript.CommentLine) error // the #SBATCH lines of a script
	GridEngine func(m *Import, file string, lines []batchscript.CommentLine) error // the #$ lines of a script
	PSIJ       func(m *Import, file string, data []byte) error                     // a job description in JSON
}

// Import is a job that an importer reads. What has a field of the job is stored there;
// for what needs more than that there are methods.
type Import struct {
	*Job
	At    Origin // of the option that is being read
	Value string // of that option, as messages show it

	draft *Draft
}

func newImport(d *Draft) *Import { return &Import{Job: &d.Job, draft: d} }

// Options is what the file does not say itself.
func (m *Import) Options() Options { return m.draft.opt }

// OptionError is a mistake in the option that is being read.
func (m *Import) OptionError(want string) error {
	return &badinput.Error{File: m.At.File, Line: m.At.Line, Field: m.At.Flag, Value: m.Value, Want: want}
}

// WarnOption says what was done with the option that is being read.
func (m *Import) WarnOption(text string) {
	field := m.At.Flag
	if m.Value != "" {
		field += " " + ShortenValue(m.Value)
	}
	m.AddWarning(Warning{m.At.File, m.At.Line, field, text})
}

// AddWarning says what was done with something that is no option.
func (m *Import) AddWarning(w Warning) { m.draft.Warnings = append(m.draft.Warnings, w) }

// ShortenValue is a value as a message shows it.
func ShortenValue(value string) string {
	const most = 60
	if len(value) > most {
		value = strings.ToValidUTF8(value[:most], "") + "…"
	}
	for _, r := range value {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return fmt.Sprintf("%q", value)
		}
	}
	return value
}

// NoteField notes that a field was given by the option that is being read, for
// messages and for whoever goes over it.
func (m *Import) NoteField(field string) { m.NoteFieldAt(field, m.At) }

// NoteFieldAt notes where a field was given.
func (m *Import) NoteFieldAt(field string, at Origin) {
	at.under = true
	m.draft.at[field] = at
}

// KeepOption keeps an option for clusters of the job's manager.
func (m *Import) KeepOption(name, value string) error {
	if !utf8.ValidString(value) {
		return m.OptionError("text in UTF-8")
	}
	m.AddOption(name, value)
	kind := m.Manager.Kind
	if _, why := translateOption(kind, kind, Option{name, value}); why != "" {
		m.WarnOption("left out: " + why)
		return nil
	}
	if kind == Slurm && asksGPU(name, value) {
		m.WarnOption("passed on to Slurm; the job runs on Slurm clusters only")
		return nil
	}
	m.WarnOption("applies to " + ManagerName(kind) + " clusters only; ignored elsewhere")
	return nil
}

// AddOption adds to what clusters with a manager are told.
func (m *Import) AddOption(name, value string) { m.draft.addOption(name, value) }

func (d *Draft) addOption(name, value string) {
	if d.Manager.Options == nil {
		d.Manager.Options = map[string][]string{}
	}
	d.Manager.Options[name] = append(d.Manager.Options[name], value)
}

// SetName names the job. Managers allow more in names than we do.
func (m *Import) SetName(name string) error {
	if name == "" {
		return m.OptionError("a name")
	}
	plain := strings.Map(func(c rune) rune {
		if _, err := parseName(string(c)); err != nil {
			return '-'
		}
		return c
	}, name)
	plain = plain[:min(len(plain), 200)]
	if plain != name {
		m.WarnOption("the job is called " + plain + ": names are of letters, digits and . _ -")
	}
	m.Name = plain
	m.NoteField("name")
	return nil
}

// SetCommand is what the job runs.
func (m *Import) SetCommand(argv []string, at Origin) {
	m.draft.listed = argv
	m.NoteFieldAt("argv", at)
}

// WrapCommand has a shell do something around what the job runs.
func (m *Import) WrapCommand(w Wrapping) { m.draft.around = w }

// SetShell has a script run by a shell, whatever its first line says.
func (m *Import) SetShell(shell string) { m.draft.shell = shell }

// SetProcs is how many cores the job needs in all.
func (m *Import) SetProcs(n CoreSpan) { m.draft.procs = n }

// SetStdin has the job read a file as its standard input.
func (m *Import) SetStdin(file string) error {
	if _, err := ParseLocalPath(file); err != nil {
		return m.OptionError(err.Error())
	}
	m.draft.stdin = file
	m.NoteField("stdin")
	return nil
}

// SetFolder has the job run in a folder.
func (m *Import) SetFolder(dir string) error {
	if _, err := ParseText(dir); err != nil {
		return m.OptionError("an existing directory")
	}
	m.Workdir = dir
	m.NoteField("workdir")
	return nil
}

// SetDeadline has the job end by a moment.
func (m *Import) SetDeadline(by time.Time) {
	m.draft.setDeadline(deadline{in: by.Sub(m.draft.opt.Now), by: by})
	m.NoteField("deadline")
}

// SetBegin has the job start no sooner; a moment that is past says nothing.
func (m *Import) SetBegin(at time.Time) {
	if now := m.draft.opt.Now; at.After(now) {
		m.Begin, m.BeginAt = at.Sub(now), at
	}
	m.NoteField("begin")
}

// SetHold has the job wait until its user releases it.
func (m *Import) SetHold() {
	m.draft.Hold = true
	m.NoteField("hold")
}

// SetRetries is how often the job is started again.
func (m *Import) SetRetries(n int) {
	m.Retries = n
	m.NoteField("retry.max")
}

// SetSaveSignal says which signal a batch system is to send before the end.
func (m *Import) SetSaveSignal(name string) {
	m.draft.saveSignal, m.draft.signalAt, m.draft.signalText = name, m.At, m.Value
}

// OutputPattern is the name of an output file as the job has it: relative to the work
// folder, or below the home folder if it begins with ~.
func (m *Import) OutputPattern(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		if home, ok := m.LookupVariable("HOME"); ok {
			return PlainName(strings.TrimSuffix(home, "/")) + "/" + rest
		}
	}
	return pattern
}

// LookupVariable is a variable of the caller's environment.
func (m *Import) LookupVariable(name string) (string, bool) { return m.draft.lookupVariable(name) }

// SetVariable gives the job a variable: NAME=VALUE, or NAME with the value that the
// caller's has. The error says what would be right.
func (m *Import) SetVariable(item string) error { return applyEnv(m.draft, item) }

// ReadVariables gives the job the variables of a mapping.
func (m *Import) ReadVariables(v yamlfile.Value) { m.draft.readEnvs(v) }

// InheritEnvironment gives the job the environment of the caller but for what a batch
// system put there.
func (m *Import) InheritEnvironment() { m.draft.inheritEnvironment(batchscript.IsManagerVariable) }
