package job

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/imports"
)

// jobFlags collects what flags say about a job; its file and its defaults stand
// below them.
type jobFlags struct{ set []jobfile.Setting }

// setting is one of these flags. What is wrong with a value is told when the job
// as a whole is read.
type setting struct {
	flag *jobfile.Flag
	to   *jobFlags
}

func (s setting) String() string { return "" }
func (s setting) Type() string   { return s.flag.Kind }

func (s setting) Set(value string) error {
	s.to.set = append(s.to.set, jobfile.Setting{Name: s.flag.Name, Value: value})
	return nil
}

// jobGroups are the flags of a job by what they are about.
var jobGroups = []struct {
	title string
	flags []string
}{
	{"What it needs", []string{"deadline", "estimate", "procs", "pattern", "on", "memory", "time", "grace", "processes",
		"workdir", "input", "output-file", "env", "export", "setup", "name", "label", "array", "after"}},
	{"How it is looked after", []string{"checkpoint", "checkpoint-every", "checkpoint-signal", "checkpoint-file",
		"checkpoint-restart", "progress", "confidence", "adapt", "reliability", "retries", "place"}},
}

func (f *jobFlags) flagGroups() []term.Group {
	var groups []term.Group
	for _, g := range jobGroups {
		groups = append(groups, f.namedGroup(g.title, g.flags))
	}
	return groups
}

// namedGroup is some of the flags of a job.
func (f *jobFlags) namedGroup(title string, names []string) term.Group {
	flags, group := jobfile.JobFlags(), term.NewGroup(title)
	for _, name := range names {
		i := slices.IndexFunc(flags, func(x jobfile.Flag) bool { return x.Name == name })
		group.Flags.Var(setting{&flags[i], f}, name, flags[i].Help)
	}
	return group
}

// completeJobFlags offers the choices of those flags that have some, and clusters.
func (a *app) completeJobFlags(cmd *cobra.Command) {
	term.CompleteFlag(cmd, "on", a.CompleteClusters)
	for _, x := range jobfile.JobFlags() {
		if len(x.Choices) > 0 {
			term.CompleteNames(cmd, x.Name, x.Choices)
		}
	}
}

func (a *app) jobOptions(f *jobFlags) (jobfile.Options, error) {
	dir, err := workingDir()
	return jobfile.Options{Now: a.Now(), Dir: dir, Environ: os.Environ(), Set: f.set}, err
}

// workingDir is where the command was given, by the name that the user knows.
func workingDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.Clean(dir), nil
}

// readJob is the job that the arguments mean: a command after --, else a file.
// bare says that a command may also stand without the --.
func (a *app) readJob(cmd *cobra.Command, args []string, f *jobFlags, bare bool) (*jobfile.Job, error) {
	o, err := a.jobOptions(f)
	if err != nil {
		return nil, err
	}
	dashed := cmd.ArgsLenAtDash() == 0
	if dashed || bare && !namesJobFile(args) {
		job, warnings, err := jobfile.FromCommand(args, o)
		a.sayWarnings(warnings)
		return job, err
	}
	if len(args) != 1 {
		return nil, &badinput.Error{Field: cmd.CommandPath(), Value: strings.Join(args[min(1, len(args)):], " "),
			Want: "one job file, or a command after --"}
	}
	job, warnings, err := imports.Read(args[0], o)
	a.sayWarnings(warnings)
	return job, err
}

// sayWarnings tells what of a job is not done as its user may expect.
func (a *app) sayWarnings(warnings []jobfile.Warning) {
	for _, w := range warnings {
		a.SayLine((&badinput.Error{File: w.File, Line: w.Line, Field: w.Field, Problem: w.Text}).Error())
	}
}

// namesJobFile says whether the only argument is called like a job file.
func namesJobFile(args []string) bool {
	if len(args) != 1 {
		return false
	}
	ext := filepath.Ext(args[0])
	return ext == ".yaml" || ext == ".yml"
}

// stopAtCommand makes flags end where the command begins, so that its own flags
// are left to it.
func stopAtCommand(flags *pflag.FlagSet) { flags.SetInterspersed(false) }
