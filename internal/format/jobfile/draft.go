package jobfile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Options is what a job file does not say itself.
type Options struct {
	Now     time.Time // moments are compared with it; its zone is that of moments without one
	Dir     string    // where relative paths begin: the folder in which the command was given
	Environ []string  // the caller's, as os.Environ gives it: for variables that are named without a value
	Set     []Setting // of the command line; they go over what a file says
}

// Setting is a field given by a flag: deadline 20m.
type Setting struct{ Name, Value string }

// Origin is where a field was given.
type Origin struct {
	File string
	Line int
	Flag string // "--procs"; "" in a file
	// under says that it is a line of a batch system, over which all others go.
	under bool
}

// Draft is a job that is being read: fields in the order in which they come, then
// what they mean together.
type Draft struct {
	Job
	// Warnings say what of the file has no meaning here.
	Warnings []Warning

	opt  Options
	at   map[string]Origin
	from Origin // of the flag that is being read

	isYAML   bool
	line     string // run
	procs    CoreSpan
	parts    []draftComponent
	nodes    int           // num_nodes
	modelled time.Duration // what a model said to estimate
	cpus     int           // resources.cpus
	talks    string        // pattern
	listed   []string
	unset    []string // variables that have a name and no value yet
	script   string   // the script that the job is, to be sent along
	shell    string   // that runs it, whatever its first line says
	stdin    string   // file that it reads
	around   Wrapping // what a job description has done around the program

	saveSignal, signalText string // signal that a batch system is to send before the end
	signalAt               Origin
}

func newDraft(o Options) *Draft {
	return &Draft{opt: o, at: map[string]Origin{},
		Job: Job{Retries: DefaultRetries, Checkpoint: Checkpoint{Method: "auto"}}}
}

// fieldError is a mistake in a field, told with the place where it was given.
func (d *Draft) fieldError(field, value, want string) error {
	p := d.at[field]
	e := &badinput.Error{File: p.File, Line: p.Line, Field: field, Value: value, Want: want}
	if p.Flag != "" {
		e.Field = p.Flag
	}
	if p.File == "" && p.Flag == "" {
		e.File = d.at[""].File
	}
	return e
}

func (d *Draft) hasField(field string) bool { _, ok := d.at[field]; return ok }

// finishJob checks the fields in the light of each other and fills in what follows
// from them.
func (d *Draft) finishJob() error {
	for _, step := range []func() error{d.settleComponents, d.buildCommand, d.checkTexts, d.buildPattern,
		d.dropOutdatedModel, d.settleSize, d.checkParts, d.applySaveSignal, d.checkCheckpoint,
		d.resolveVariables, d.checkRetry, d.checkContract, d.outputFiles} {
		if err := step(); err != nil {
			return err
		}
	}
	if d.Name == "" {
		d.Name = DefaultName(d.Argv)
	}
	return nil
}

// buildCommand makes argv of what is to be run.
func (d *Draft) buildCommand() error {
	switch {
	case d.hasField("run") && d.hasField("argv"):
		return d.fieldError("argv", "", "not together with run: give one of the two")
	case d.hasField("run"):
		d.Argv = shellCommand(d.line)
	case d.hasField("argv"):
		d.Argv = d.listed
		if d.shell != "" {
			d.Argv = []string{d.shell, d.listed[len(d.listed)-1]}
		}
	default:
		return d.fieldError("run", "", "there is nothing to run: give run (a shell line) or argv (a list of words)")
	}
	return nil
}

// checkTexts refuses what could not be stored as it is.
func (d *Draft) checkTexts() error {
	for _, list := range []struct {
		field string
		texts []string
	}{
		{"argv", d.Argv}, {"workdir", []string{d.Workdir}}, {"setup", []string{d.Setup}},
		{"build", []string{d.Build.Command, d.Build.Dir}}, {"build.outputs", d.Build.Outputs}, {"inputs", d.Inputs},
		{"outputs", d.Outputs},
		{"checkpoint.files", d.Checkpoint.Files}, {"checkpoint.restart", d.Checkpoint.Restart},
		{"progress", []string{d.Progress}},
		{"output", []string{d.Stdout}}, {"error", []string{d.Stderr}}, {"stdin", []string{d.stdin}},
		{"pattern", []string{d.talks}},
	} {
		for _, text := range list.texts {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				return d.fieldError(list.field, strings.ToValidUTF8(text, "�"), "text in UTF-8 without NUL bytes")
			}
		}
	}
	return nil
}

// shellCommand is a shell line as a command.
func shellCommand(line string) []string { return []string{"sh", "-c", line} }

// settleSize settles on processors: procs, or num_nodes × resources.cpus.
func (d *Draft) settleSize() error {
	if d.procs == (CoreSpan{}) {
		n := max(1, d.nodes) * max(1, d.cpus)
		d.procs = CoreSpan{n, n}
	}
	d.Min, d.Max, d.Nodes = d.procs.Min, d.procs.Max, max(d.Nodes, d.nodes)
	if d.Initial < d.Min || d.Initial > d.Max {
		d.Initial = 0 // a flag has replaced the sizes of the file
	}
	switch {
	case d.Nodes > d.Min:
		return d.fieldError("num_nodes", fmt.Sprint(d.Nodes), fmt.Sprintf("at most the number of cores (procs), %d", d.Min))
	case !d.hasField("kind") && d.Min < d.Max:
		d.Kind = core.Moldable
	case d.Kind == core.Rigid && d.Min < d.Max:
		return d.fieldError("kind", "rigid",
			fmt.Sprintf("moldable or malleable for %d to %d cores; a rigid job has one size", d.Min, d.Max))
	}
	return nil
}

// checkCheckpoint checks that the checkpoint section is complete for its method.
func (d *Draft) checkCheckpoint() error {
	c := &d.Checkpoint
	own := c.Method == "signal" || c.Method == "exit85" || c.Method == "auto" && c.Signal != ""
	switch {
	case (c.Method == "signal" || c.Method == "exit85") && len(c.Files) == 0:
		return d.fieldError("checkpoint.files", "", "method "+c.Method+
			" needs the files that the program writes when it saves itself")
	case c.Method == "auto" && c.Signal != "" && len(c.Files) == 0:
		return d.fieldError("checkpoint.files", "",
			"beside signal the files are needed that the program writes when it gets it")
	case c.Method == "signal" && c.Signal == "":
		return d.fieldError("checkpoint.signal", "",
			"method signal needs the signal that makes the program save itself, such as USR1")
	case c.Signal != "" && !own || c.Method == "exit85" && c.Signal != "":
		return d.fieldError("checkpoint.signal", c.Signal, "only for method signal, not for "+c.Method)
	case len(c.Files) > 0 && !own:
		return d.fieldError("checkpoint.files", c.Files[0], "only for methods signal and exit85, not for "+c.Method)
	case len(c.Restart) > 0 && !own:
		return d.fieldError("checkpoint.restart", "", "only for methods signal and exit85, not for "+c.Method)
	case c.Method == "restart" && c.Every > 0:
		return d.fieldError("checkpoint.every", c.Every.String(), "auto or never: method restart has nothing to save")
	}
	return nil
}

// resolveVariables gives those a value that were only named.
func (d *Draft) resolveVariables() error {
	if d.Export == ExportAll && d.Caller == nil {
		d.inheritEnvironment(nil)
	}
	for _, name := range d.unset {
		if _, ok := d.Env[name]; ok {
			continue
		}
		return d.fieldError("envs", name, "a value; it is empty here: write one, or give it with --env "+name+"=VALUE")
	}
	return nil
}

func (d *Draft) checkRetry() error {
	if d.hasField("retry.on") && d.Retries == 0 {
		return d.fieldError("retry.on", d.RetryOn[0], "nothing while retry.max is 0")
	}
	return nil
}

func (d *Draft) setEnv(name, value string) {
	if d.Env == nil {
		d.Env = map[string]string{}
	}
	d.Env[name] = value
}

// lookupVariable is a variable of the caller's environment.
func (d *Draft) lookupVariable(name string) (string, bool) {
	for _, entry := range d.opt.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// interpreters run programs that have names of their own.
var interpreters = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(python[0-9.]*|perl|ruby|node|bash|sh|dash|zsh|Rscript|julia|java|octave)$`)
})

// shells are those whose lines are looked into.
var shells = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(/bin/|/usr/bin/)?(ba|da|z)?sh$`)
})

// shellWords are commands of a shell that say nothing about what a line is for.
var shellWords = []string{"cd", "export", "set", "unset", "source", ".", "exit", "return", "ulimit", "umask", ":",
	"trap", "shift", "eval", "exec", "wait", "test", "[", "read", "local", "declare", "module"}

// idlePrograms are programs, but rarely what a line is for.
var idlePrograms = []string{"sleep", "true", "false"}

// firstProgram is the first command of a shell line that is more than a word of the
// shell, with its arguments; the shell where there is none.
func firstProgram(line, shell string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return []string{shell}
	}
	var found, spare []string
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || found != nil || len(call.Args) == 0 {
			return found == nil
		}
		var words []string
		for _, w := range call.Args {
			words = append(words, w.Lit())
		}
		switch {
		case words[0] == "":
		case slices.Contains(idlePrograms, words[0]):
			if spare == nil {
				spare = words
			}
		case !slices.Contains(shellWords, words[0]):
			found = words
		}
		return found == nil
	})
	switch {
	case found != nil:
		return found
	case spare != nil:
		return spare
	}
	return []string{shell}
}

// DefaultName is the program's: that of a shell line is its first program, that of
// a script is its own rather than that of what runs it.
func DefaultName(argv []string) string {
	if len(argv) == 3 && shells().MatchString(argv[0]) && argv[1] == "-c" {
		argv = firstProgram(argv[2], argv[0])
	}
	word := argv[0]
	if len(argv) > 1 && argv[1] != "" && argv[1][0] != '-' && interpreters().MatchString(path.Base(word)) {
		word = argv[1]
	}
	name := strings.Map(func(c rune) rune {
		if _, err := parseName(string(c)); err != nil {
			return -1
		}
		return c
	}, path.Base(word))
	name = name[:min(len(name), 200)]
	if name == "" || strings.Trim(name, ".") == "" {
		return "job"
	}
	return name
}

// NoWorkdir is the working directory of a job that brings none along.
const NoWorkdir = "none"

// resolveFiles makes the paths absolute and looks whether they are there.
func (d *Draft) resolveFiles() error {
	if d.hasField("workdir") && d.Workdir == NoWorkdir {
		d.Workdir = ""
		delete(d.at, "workdir")
	} else {
		d.defaultWorkdir()
	}
	if d.hasField("workdir") {
		dir := d.absolutePath(d.Workdir)
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			return d.fieldError("workdir", d.Workdir, "no such directory")
		}
		d.Workdir = dir
		d.WorkdirGiven = d.at["workdir"].Flag != "" || d.at["workdir"].Line > 0
	}
	d.sortOut()
	scriptAt := len(d.Inputs)
	if d.script != "" {
		d.Inputs = append(d.Inputs, d.script)
	}
	for i, name := range d.Inputs {
		in, err := d.inputPath(name)
		if err != nil {
			return err
		}
		d.Inputs[i] = in
	}
	if d.script != "" {
		d.Argv[len(d.Argv)-1] = lastName(d.Inputs[scriptAt])
	}
	if err := d.wrapCommand(); err != nil {
		return err
	}
	return d.checkDistinctFiles()
}

// lastName is where an input comes to lie, relative to the work folder.
func lastName(in string) string {
	if filepath.IsAbs(in) {
		return filepath.Base(in)
	}
	return in
}

// checkDistinctFiles checks that no two files come to lie in the same place.
func (d *Draft) checkDistinctFiles() error {
	names := map[string]string{}
	for _, in := range d.Inputs {
		name := lastName(in)
		if filepath.IsAbs(in) {
			if _, err := os.Lstat(filepath.Join(d.Workdir, name)); err == nil && d.Workdir != "" {
				return d.fieldError("inputs", in, "a file of another name; the working directory has a "+name+" of its own")
			}
		}
		if other, ok := names[name]; ok && other != in {
			return d.fieldError("inputs", in, "a file of another name; "+other+" is called "+name+" too")
		}
		names[name] = in
	}
	return d.distinctFar(names)
}

// inputPath is a path below the work folder as relative to it, any other as absolute.
func (d *Draft) inputPath(name string) (string, error) {
	if d.Workdir != "" && !filepath.IsAbs(name) && !strings.HasPrefix(name, "~/") {
		if _, err := os.Lstat(filepath.Join(d.Workdir, name)); err == nil && filepath.IsLocal(name) {
			return filepath.ToSlash(filepath.Clean(name)), nil
		}
	}
	full := d.absolutePath(name)
	if _, err := os.Stat(full); err != nil {
		where := "in " + d.opt.Dir
		if d.Workdir != "" && d.Workdir != d.opt.Dir {
			where = "in the working directory " + d.Workdir + " or " + where
		}
		return "", d.fieldError("inputs", name, "no such file "+where)
	}
	if d.Workdir != "" {
		if rel, err := filepath.Rel(d.Workdir, full); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	return full, nil
}

func (d *Draft) absolutePath(name string) string {
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, ok := d.lookupVariable("HOME"); ok {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(d.opt.Dir, name)
}
