package jobfile

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
)

// arity says whether an option has a value.
type arity int

const (
	needs arity = iota // --time 5, --time=5, -t5, -t 5
	bare               // --requeue
	may                // --exclusive, --exclusive=user
)

// slurmOption is an option of sbatch.
type slurmOption struct {
	name  string
	short string // "" if it has none
	arity arity
	read  func(s *slurmScript, value string) error
}

// slurmScript is what the #SBATCH lines of a script say.
type slurmScript struct {
	imported
	tasks, perNode, threads int
	nodes                   span
	mem, memPerCPU          int64
	out, err                string
	export                  string
	given                   map[string]fieldOrigin // where options stand
}

func newSlurm(d *draft) *slurmScript {
	return &slurmScript{imported: imported{draft: d, kind: Slurm, calls: "Slurm", prefix: "#SBATCH"},
		given: map[string]fieldOrigin{}}
}

// readLine takes in what follows #SBATCH on a line.
func (s *slurmScript) readLine(file string, line int, text string) error {
	s.at, s.value = fieldOrigin{file: file, line: line, flag: s.prefix}, ""
	words, err := batchscript.SplitOptions(text)
	if err != nil {
		return s.optionError(err.Error())
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		s.at.flag, s.value = s.prefix, word
		switch {
		case word == "hetjob" || word == "packjob" || word == ":":
			return s.optionError("one job: jobs of several parts with different needs are not supported")
		case strings.HasPrefix(word, "--") && len(word) > 2:
			words, err = s.readLongOption(word[2:], words)
		case strings.HasPrefix(word, "-") && len(word) > 1 && word[1] != '-':
			words, err = s.readShortOptions(word[1:], words)
		default:
			err = s.optionError("options of sbatch such as --time=1:00:00 or -n 4")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readLongOption reads --name=value or --name value.
func (s *slurmScript) readLongOption(word string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(word, "=")
	o, err := s.findOption(name)
	if err != nil {
		return nil, err
	}
	s.at.flag, s.value = s.prefix+" --"+o.name, ""
	switch {
	case o.arity == bare && given:
		s.value = value
		return nil, s.optionError("no value")
	case o.arity == needs && !given:
		if len(rest) == 0 {
			return nil, s.optionError("a value after it")
		}
		value, rest = rest[0], rest[1:]
	}
	return rest, s.applyOption(o, value)
}

// readShortOptions reads -n4, -n 4 or several without values such as -Hv.
func (s *slurmScript) readShortOptions(word string, rest []string) ([]string, error) {
	for word != "" {
		letter := word[:1]
		word = word[1:]
		o := byLetter(letter)
		s.at.flag, s.value = s.prefix+" -"+shortenValue(letter), ""
		if o == nil {
			return nil, s.optionError("unknown option of sbatch")
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
				return nil, s.optionError("a value after it")
			}
			value, rest = rest[0], rest[1:]
		}
		return rest, s.applyOption(o, value)
	}
	return rest, nil
}

func (s *slurmScript) applyOption(o *slurmOption, value string) error {
	s.value = value
	s.given[o.name] = s.at
	return o.read(s, value)
}

func byLetter(letter string) *slurmOption {
	for i := range slurmOptions {
		if o := &slurmOptions[i]; o.short == letter {
			return o
		}
	}
	return nil
}

// findOption is the option of a name, or of the beginning of one alone, as getopt has
// it.
func (s *slurmScript) findOption(name string) (*slurmOption, error) {
	var like []*slurmOption
	var known []string
	for i := range slurmOptions {
		o := &slurmOptions[i]
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
	s.at.flag, s.value = s.prefix+" --"+shortenValue(name), ""
	if len(like) > 1 {
		return nil, s.optionError(fmt.Sprintf("an option in full: %s and %s begin like this", like[0].name, like[1].name))
	}
	want := "unknown option of sbatch"
	if near := badinput.NearestName(name, known); near != "" {
		want += ", did you mean --" + near + "?"
	}
	return nil, s.optionError(want)
}
