package jobfile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// imported is what the lines of a batch system in a script say, while they are
// read.
type imported struct {
	*draft
	kind, calls string      // Slurm, and what people call it
	prefix      string      // how its lines begin
	at          fieldOrigin // of the option that is being read
	value       string
}

// optionError is a mistake in the option that is being read.
func (m *imported) optionError(want string) error {
	return &badinput.Error{File: m.at.file, Line: m.at.line, Field: m.at.flag, Value: m.value, Want: want}
}

// warnOption says what was done with the option that is being read.
func (m *imported) warnOption(text string) {
	field := m.at.flag
	if m.value != "" {
		field += " " + shortenValue(m.value)
	}
	m.warnings = append(m.warnings, Warning{m.at.file, m.at.line, field, text})
}

// shortenValue is a value as a message shows it.
func shortenValue(value string) string {
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

// noteField notes that a field was given here, for messages and for whoever goes
// over it.
func (m *imported) noteField(field string) {
	m.at.under = true
	m.draft.at[field] = m.at
}

// keepOption keeps an option for clusters of its manager.
func (m *imported) keepOption(name, value string) error {
	if !utf8.ValidString(value) {
		return m.optionError("text in UTF-8")
	}
	m.addOption(name, value)
	if _, why := translateOption(m.kind, m.kind, Option{name, value}); why != "" {
		m.warnOption("left out: " + why)
		return nil
	}
	if m.kind == Slurm && asksGPU(name, value) {
		m.warnOption("passed on to Slurm; the job runs on Slurm clusters only")
		return nil
	}
	m.warnOption("applies to " + m.calls + " clusters only; ignored elsewhere")
	return nil
}

func (d *draft) addOption(name, value string) {
	if d.Manager.Options == nil {
		d.Manager.Options = map[string][]string{}
	}
	d.Manager.Options[name] = append(d.Manager.Options[name], value)
}

// setName names the job. Managers allow more in names than we do.
func (m *imported) setName(name string) error {
	if name == "" {
		return m.optionError("a name")
	}
	plain := strings.Map(func(c rune) rune {
		if _, err := parseName(string(c)); err != nil {
			return '-'
		}
		return c
	}, name)
	plain = plain[:min(len(plain), 200)]
	if plain != name {
		m.warnOption("the job is called " + plain + ": names are of letters, digits and . _ -")
	}
	m.Name = plain
	m.noteField("name")
	return nil
}

// redirectPattern makes the wording of a file name ours: from is relative to the work
// folder, or begins with ~.
func (d *draft) redirectPattern(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		if home, ok := d.lookupVariable("HOME"); ok {
			return plainName(strings.TrimSuffix(home, "/")) + "/" + rest
		}
	}
	return pattern
}
