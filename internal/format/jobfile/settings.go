package jobfile

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Flag is a field that can be given on a command line or in a #GODWIT line.
type Flag struct {
	Name string
	Kind string // what its value is called in the help
	Help string
	Many bool // it may be given several times
	// Choices are the values there are, if they are few.
	Choices []string

	apply func(d *Draft, value string) error // its error is what would be right
}

// valueFlag makes a flag that stores one value; field is what a job file calls it.
func valueFlag[T any](name, kind, help string, to func(*Draft) *T, parse func(string) (T, error)) Flag {
	return Flag{Name: name, Kind: kind, Help: help, apply: func(d *Draft, value string) error {
		x, err := parse(value)
		if err == nil {
			*to(d) = x
		}
		return err
	}}
}

// listFlag makes a flag that adds to a list. What was listed elsewhere, in a file
// below the command line, is replaced by the first.
func listFlag[T any](name, field, kind, help string, to func(*Draft) *[]T, parse func(string) (T, error)) Flag {
	return Flag{Name: name, Kind: kind, Help: help, Many: true, apply: func(d *Draft, value string) error {
		x, err := parse(value)
		if err != nil {
			return err
		}
		d.replaceList(field, func() { *to(d) = nil })
		*to(d) = append(*to(d), x)
		return nil
	}}
}

// replaceList drops what was listed elsewhere, before the first of a list that goes
// over it.
func (d *Draft) replaceList(field string, drop func()) {
	if before := d.at[field]; before.Flag == "" || before.File != d.from.File || before.under {
		drop()
	}
}

// fieldOf is what a job file calls the field of a flag, where the names differ.
var fieldOf = map[string]string{
	"input": "inputs", "label": "labels", "output-file": "outputs", "env": "envs",
	"memory": "resources.memory", "time": "resources.time",
	"grace":     "resources.grace",
	"processes": "resources.processes", "retries": "retry.max", "checkpoint": "checkpoint.method",
	"checkpoint-every": "checkpoint.every", "checkpoint-signal": "checkpoint.signal",
	"checkpoint-file":    "checkpoint.files",
	"checkpoint-restart": "checkpoint.restart",
}

// JobFlags lists the fields that have a flag, in the order of the help.
func JobFlags() []Flag {
	return []Flag{
		valueFlag("name", "NAME", "job name", func(d *Draft) *string { return &d.Name }, parseName),
		{Name: "deadline", Kind: "TIME", Help: "deadline: a time from submission such as 20m, or a moment such as 18:30",
			apply: applyDeadline},
		valueFlag("estimate", "TIME", "CPU time that it needs on the reference host; else from earlier runs",
			func(d *Draft) *time.Duration { return &d.Estimate }, parseDuration),
		valueFlag("procs", "N", "cores: 4, or 2-32 to let the size be chosen", func(d *Draft) *CoreSpan { return &d.procs },
			ParseProcs),
		valueFlag("pattern", "PATTERN",
			"communication pattern by which its hosts are chosen: ring, mesh:2x2, a file; see godwit select",
			func(d *Draft) *string { return &d.talks }, ParseText),
		listFlag("on", "on", "CLUSTER", "run only there; may be given several times",
			func(d *Draft) *[]string { return &d.On }, parseName),
		valueFlag("memory", "SIZE", "memory that it needs on each host: 2 (GiB), 512M",
			func(d *Draft) *int64 { return &d.Memory }, parseMemory),
		valueFlag("time", "TIME", "walltime limit, as in Slurm: 90 (minutes), 1:30:00, 2-12:00; or 30s, 10m, 1h30m",
			func(d *Draft) *time.Duration { return &d.Time }, parseLimit),
		valueFlag("grace", "TIME", "between SIGTERM and SIGKILL when it is cancelled (30s)",
			func(d *Draft) **time.Duration { return &d.Grace }, parseGrace),
		valueFlag("processes", "N", "processes that it may have at once", func(d *Draft) *int { return &d.Processes },
			parseWhole(1, maxProcesses)),
		valueFlag("workdir", "DIR", "working directory, sent along; none: nothing is sent",
			func(d *Draft) *string { return &d.Workdir }, ParseText),
		listFlag("input", "inputs", "FILE", "staged in as well: a file, or cluster:path; may be given several times",
			func(d *Draft) *[]string { return &d.Inputs }, parseInput),
		listFlag("output-file", "outputs", "FILE",
			"staged out at the end, with * and ? for several; none named: all that changed",
			func(d *Draft) *[]string { return &d.Outputs }, parseInside),
		{Name: "env", Kind: "NAME[=VALUE]", Help: "environment variable; without a value that of the caller", Many: true,
			apply: applyEnv},
		{Name: "label", Kind: "NAME=VALUE", Help: "label by which jobs are found: sweep=3; may be given several times", Many: true,
			apply: applyLabel},
		withChoices(valueFlag("export", "HOW", "environment for other accounts: named (by --env), all",
			func(d *Draft) *Export { return &d.Export }, parseExport), exportNames),
		valueFlag("setup", "LINE", "shell line that runs once before it, in the working directory",
			func(d *Draft) *string { return &d.Setup }, ParseText),
		valueFlag("progress", "PATTERN", "regular expression for the progress in its output: 'step (\\d+)/(\\d+)'",
			func(d *Draft) *string { return &d.Progress }, parsePattern),
		withChoices(valueFlag("checkpoint", "METHOD", "checkpoint method: "+strings.Join(methods, ", "),
			func(d *Draft) *string { return &d.Checkpoint.Method }, parseMethod), methods),
		valueFlag("checkpoint-every", "TIME", "checkpoint interval: auto, never or a time",
			func(d *Draft) *time.Duration { return &d.Checkpoint.Every }, parseEvery),
		valueFlag("checkpoint-signal", "SIGNAL", "signal that makes the program write a checkpoint: USR1",
			func(d *Draft) *string { return &d.Checkpoint.Signal }, ParseSignal),
		listFlag("checkpoint-file", "checkpoint.files", "FILE", "file of that checkpoint; may be given several times",
			func(d *Draft) *[]string { return &d.Checkpoint.Files }, parseInside),
		valueFlag("checkpoint-restart", "LINE", "shell line that restarts the program from these files",
			func(d *Draft) *[]string { return &d.Checkpoint.Restart }, parseLine),
		valueFlag("confidence", "F", "migrate when the chance of meeting the deadline falls below this (0.95)",
			func(d *Draft) *float64 { return &d.Confidence }, parseConfidence),
		valueFlag("reliability", "F", "minimum job success rate of a cluster",
			func(d *Draft) *float64 { return &d.Reliability }, parseReliability),
		withChoices(valueFlag("adapt", "HOW", "auto: migrate when the deadline is in danger; off: only watch",
			func(d *Draft) *Adapt { return &d.Adapt }, parseAdapt), []string{"auto", "off"}),
		valueFlag("retries", "N", "how often it is requeued after a failure that was not its own",
			func(d *Draft) *int { return &d.Retries }, parseWhole(0, maxRetries)),
		withChoices(valueFlag("place", "POLICY", placeHelp, func(d *Draft) *core.PlacePolicy { return &d.Place }, parsePlace),
			placements),
		{Name: "after", Kind: "JOB", Help: "start after these jobs completed successfully: 12,prep; or afterany:12 and the " +
			"like", Many: true, apply: applyAfter},
		valueFlag("array", "RANGE", "several jobs with one index each, in GODWIT_INDEX: 1-100%20",
			func(d *Draft) *ArrayRange { return &d.Array }, ParseArray),
	}
}

// placeHelp explains the placement policies.
const placeHelp = "placement policy: wf (worst fit: the cluster with the most idle cores), cf (close to files: where " +
	"its inputs are), cm (cluster minimization: as few clusters as possible), fcm (as cm, and split over several " +
	"where that starts it sooner), deadline (best chance of meeting the deadline)"

func withChoices(f Flag, from []string) Flag {
	f.Choices = from
	return f
}

func applyDeadline(d *Draft, value string) error {
	x, err := parseDeadline(value, d.opt.Now)
	if err == nil {
		d.setDeadline(x)
	}
	return err
}

func applyEnv(d *Draft, text string) error {
	name, value, given := strings.Cut(text, "=")
	if _, err := parseVariable(name); err != nil {
		return err
	}
	if !given {
		var ok bool
		if value, ok = d.lookupVariable(name); !ok {
			return errors.New("a variable that is set here, or NAME=VALUE")
		}
	}
	if strings.ContainsRune(value, 0) || len(value) > maxText || !utf8.ValidString(value) {
		return errors.New("a value in UTF-8 of at most 128 KiB without NUL bytes")
	}
	d.setEnv(name, value)
	return nil
}

// applySetting applies one setting; p is where it stands.
func (d *Draft) applySetting(s Setting, p Origin) error {
	d.from = p
	var known []string
	for _, f := range JobFlags() {
		known = append(known, f.Name)
		if f.Name != s.Name {
			continue
		}
		if err := f.apply(d, s.Value); err != nil {
			return &badinput.Error{File: p.File, Line: p.Line, Field: p.Flag, Value: s.Value, Want: err.Error()}
		}
		name := f.Name
		if field, ok := fieldOf[name]; ok {
			name = field
		}
		d.at[name] = p
		return nil
	}
	return &badinput.Error{File: p.File, Line: p.Line, Field: "--" + s.Name,
		Problem: badinput.UnknownName("flag", s.Name, known)}
}

// applyOverrides applies the settings of the command line.
func (d *Draft) applyOverrides() error {
	for _, s := range d.opt.Set {
		if err := d.applySetting(s, Origin{Flag: "--" + s.Name}); err != nil {
			return err
		}
	}
	return nil
}
