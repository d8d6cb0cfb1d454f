// Package slurm reads scripts that were written for Slurm: what their #SBATCH lines mean
// for a job of ours, which of them only clusters of Slurm are told, and which are left
// out or refused. It knows the options of sbatch, not what a file says besides.
package slurm

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
)

// arity says whether an option has a value.
type arity int

const (
	needs arity = iota // --time 5, --time=5, -t5, -t 5
	bare               // --requeue
	may                // --exclusive, --exclusive=user
)

// sbatchOption is an option of sbatch.
type sbatchOption struct {
	name  string
	short string // "" if it has none
	arity arity
	read  func(s *sbatchScript, value string) error
}

// linePrefix is how the lines begin.
const linePrefix = "#SBATCH"

// sbatchScript is what the #SBATCH lines of a script say.
type sbatchScript struct {
	*jobfile.Import
	tasks, perNode, threads int
	nodes                   jobfile.CoreSpan
	mem, memPerCPU          int64
	out, err                string
	export                  string
	given                   map[string]jobfile.Origin // where options stand
}

// ReadLines reads the #SBATCH lines, up to the first command, as sbatch does.
func ReadLines(m *jobfile.Import, file string, lines []batchscript.CommentLine) error {
	m.Manager.Kind = jobfile.Slurm
	s := &sbatchScript{Import: m, given: map[string]jobfile.Origin{}}
	for _, line := range lines {
		rest, ok := strings.CutPrefix(line.Text, linePrefix)
		switch {
		case !ok:
		case !line.InHead:
			s.AddWarning(jobfile.Warning{File: file, Line: line.Number, Field: linePrefix,
				Text: "left out: it stands below the first command, where Slurm does not read it either"})
		default:
			if err := s.readLine(file, line.Number, rest); err != nil {
				return err
			}
		}
	}
	return s.finishJob()
}

// readLine takes in what follows #SBATCH on a line.
func (s *sbatchScript) readLine(file string, line int, text string) error {
	s.At, s.Value = jobfile.Origin{File: file, Line: line, Flag: linePrefix}, ""
	words, err := batchscript.SplitOptions(text)
	if err != nil {
		return s.OptionError(err.Error())
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		s.At.Flag, s.Value = linePrefix, word
		switch {
		case word == "hetjob" || word == "packjob" || word == ":":
			return s.OptionError("one job: jobs of several parts with different needs are not supported")
		case strings.HasPrefix(word, "--") && len(word) > 2:
			words, err = s.readLongOption(word[2:], words)
		case strings.HasPrefix(word, "-") && len(word) > 1 && word[1] != '-':
			words, err = s.readShortOptions(word[1:], words)
		default:
			err = s.OptionError("options of sbatch such as --time=1:00:00 or -n 4")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readLongOption reads --name=value or --name value.
func (s *sbatchScript) readLongOption(word string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(word, "=")
	o, err := s.findOption(name)
	if err != nil {
		return nil, err
	}
	s.At.Flag, s.Value = linePrefix+" --"+o.name, ""
	switch {
	case o.arity == bare && given:
		s.Value = value
		return nil, s.OptionError("no value")
	case o.arity == needs && !given:
		if len(rest) == 0 {
			return nil, s.OptionError("a value after it")
		}
		value, rest = rest[0], rest[1:]
	}
	return rest, s.applyOption(o, value)
}

// readShortOptions reads -n4, -n 4 or several without values such as -Hv.
func (s *sbatchScript) readShortOptions(word string, rest []string) ([]string, error) {
	for word != "" {
		letter := word[:1]
		word = word[1:]
		o := byLetter(letter)
		s.At.Flag, s.Value = linePrefix+" -"+jobfile.ShortenValue(letter), ""
		if o == nil {
			return nil, s.OptionError("unknown option of sbatch")
		}
		if o.arity == bare || o.arity == may && word == "" {
			if err := s.applyOption(o, ""); err != nil {
				return nil, err
			}
			continue
		}
		value := word
		if value == "" {
			if len(rest) == 0 {
				return nil, s.OptionError("a value after it")
			}
			value, rest = rest[0], rest[1:]
		}
		return rest, s.applyOption(o, value)
	}
	return rest, nil
}

func (s *sbatchScript) applyOption(o *sbatchOption, value string) error {
	s.Value = value
	s.given[o.name] = s.At
	return o.read(s, value)
}

func byLetter(letter string) *sbatchOption {
	for i := range sbatchOptions {
		if o := &sbatchOptions[i]; o.short == letter {
			return o
		}
	}
	return nil
}

// findOption is the option of a name, or of the beginning of one alone, as getopt has
// it.
func (s *sbatchScript) findOption(name string) (*sbatchOption, error) {
	var like []*sbatchOption
	var known []string
	for i := range sbatchOptions {
		o := &sbatchOptions[i]
		if o.name == name {
			return o, nil
		}
		if strings.HasPrefix(o.name, name) {
			like = append(like, o)
		}
		known = append(known, o.name)
	}
	if len(like) == 1 {
		return like[0], nil
	}
	s.At.Flag, s.Value = linePrefix+" --"+jobfile.ShortenValue(name), ""
	if len(like) > 1 {
		return nil, s.OptionError(fmt.Sprintf("an option in full: %s and %s begin like this", like[0].name, like[1].name))
	}
	want := "unknown option of sbatch"
	if near := badinput.NearestName(name, known); near != "" {
		want += ", did you mean --" + near + "?"
	}
	return nil, s.OptionError(want)
}
