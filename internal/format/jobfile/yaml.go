package jobfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// parseYAML reads the fields of a job file into a draft.
func (d *draft) parseYAML(name string, data []byte) error {
	top, err := yamlfile.Parse(name, "a job file", data)
	if err != nil {
		return err
	}
	d.at[""], d.isYAML = place{file: name}, true
	if top.Kind() != yamlfile.Mapping {
		top.Wrong("a job file: fields such as run: ./program, one a line")
		return top.Err()
	}
	d.mapping(top, "", slices.Concat(d.fields(), later(notYet), d.cloud(cloudKeys)))
	return top.Err()
}

// mapping reads a mapping and notes where each of its fields stands.
func (d *draft) mapping(v yamlfile.Value, prefix string, fields []field) {
	keys := make([]yamlfile.Field, len(fields))
	for i, f := range fields {
		keys[i] = yamlfile.Key(f.name, func(v yamlfile.Value) {
			d.at[prefix+f.name] = place{file: v.File(), line: v.Line()}
			f.read(v)
		})
	}
	v.Mapping(keys...)
}

// field is a key of a job file.
type field struct {
	name string
	read func(yamlfile.Value)
}

// set is a field whose single value is stored.
func set[T any](name string, to *T, parse func(string) (T, error)) field {
	return field{name, func(v yamlfile.Value) { *to = scalar(v, parse) }}
}

// scalar is a single value that parse accepts.
func scalar[T any](v yamlfile.Value, parse func(string) (T, error)) T {
	var text string
	if v.Kind() == yamlfile.Scalar {
		text = v.Text("")
	}
	t, err := parse(text)
	if err != nil {
		v.Wrong(err.Error())
	}
	return t
}

// list is a list, or a single value as a list of one.
func list[T any](name, of string, to *[]T, parse func(string) (T, error)) field {
	return field{name, func(v yamlfile.Value) {
		if v.Kind() == yamlfile.Scalar {
			*to = []T{scalar(v, parse)}
			return
		}
		for item := range v.List(of) {
			*to = append(*to, scalar(item, parse))
		}
	}}
}

func (d *draft) fields() []field {
	return []field{
		set("name", &d.Name, parseName),
		set("run", &d.line, parseText),
		{"argv", d.readArgv},
		set("setup", &d.Setup, parseText),
		{"build", d.readBuild},
		set("workdir", &d.Workdir, parseText),
		{"inputs", d.readInputs},
		{"outputs", d.readOutputs},
		{"envs", d.readEnvs},
		set("export", &d.Export, parseExport),
		{"deadline", d.readDeadline},
		{"estimate", d.readEstimate},
		{"procs", d.readProcs},
		set("kind", &d.Kind, parseKind),
		set("num_nodes", &d.nodes, parseWhole(1, maxProcs)),
		{"resources", func(v yamlfile.Value) {
			d.mapping(v, "resources.", slices.Concat(d.resources(), d.cloud(cloudResources)))
		}},
		list("on", "clusters", &d.On, parseName),
		set("array", &d.Array, parseArray),
		{"after", d.readAfter},
		{"retry", func(v yamlfile.Value) { d.mapping(v, "retry.", d.retry()) }},
		{"checkpoint", d.readCheckpoint},
		set("progress", &d.Progress, parsePattern),
		set("place", &d.Place, parsePlace),
		set("confidence", &d.Confidence, parseConfidence),
		set("reliability", &d.Reliability, parseReliability),
		set("adapt", &d.Adapt, parseAdapt),
		set("pattern", &d.talks, parseText),
	}
}

func (d *draft) resources() []field {
	return []field{
		set("memory", &d.Memory, parseMemory),
		set("cpus", &d.cpus, parseAtLeast),
		set("time", &d.Time, parseLimit),
		set("grace", &d.Grace, parseGrace),
		set("processes", &d.Processes, parseWhole(1, maxProcesses)),
		{"accelerators", d.readAccelerators},
	}
}

func (d *draft) retry() []field {
	return []field{
		set("max", &d.Retries, parseWhole(0, maxRetries)),
		list("on", "failures: "+strings.Join(failures, ", "), &d.RetryOn, parseFailure),
	}
}

func (d *draft) checkpoint() []field {
	c := &d.Checkpoint
	return []field{
		set("method", &c.Method, parseMethod),
		set("every", &c.Every, parseEvery),
		set("signal", &c.Signal, parseSignal),
		list("files", "files within the working directory", &c.Files, parseInside),
		{"restart", func(v yamlfile.Value) { c.Restart = d.readCommand(v) }},
	}
}

// readCheckpoint reads a section, or a method alone.
func (d *draft) readCheckpoint(v yamlfile.Value) {
	if v.Kind() == yamlfile.Scalar {
		d.Checkpoint.Method = scalar(v, parseMethod)
		return
	}
	d.mapping(v, "checkpoint.", d.checkpoint())
}

func (d *draft) readArgv(v yamlfile.Value) {
	d.listed = d.words(v)
	if len(d.listed) == 0 && !v.Failed() {
		v.Wrong("a list of words, the program first")
	}
}

// readCommand reads a shell line or a list of words.
func (d *draft) readCommand(v yamlfile.Value) []string {
	if v.Kind() == yamlfile.Scalar {
		return shell(scalar(v, parseText))
	}
	return d.words(v)
}

// words reads a command; only the program may not be empty.
func (d *draft) words(v yamlfile.Value) []string {
	var words []string
	for item := range v.List("words, the program first") {
		word := item.Text("a word")
		if word != "" || len(words) == 0 {
			word = scalar(item, parseText)
		}
		words = append(words, word)
	}
	return words
}

func (d *draft) readEnvs(v yamlfile.Value) {
	for key, value := range v.Entries("variables and their values") {
		name := scalar(key, parseVariable)
		if value.Kind() == yamlfile.Blank {
			d.unset = append(d.unset, name)
			continue
		}
		text := value.Text("a text")
		if text != "" {
			text = scalar(value, parseText)
		}
		d.setEnv(name, text)
	}
}

// readAfter reads jobs to wait for, each as the flag has it.
func (d *draft) readAfter(v yamlfile.Value) {
	read := func(item yamlfile.Value) {
		d.After = append(d.After, scalar(item, func(s string) ([]Dependency, error) { return parseAfter(s, WentWell) })...)
	}
	if v.Kind() == yamlfile.Scalar {
		read(v)
		return
	}
	for item := range v.List("jobs: " + wantAfter) {
		read(item)
	}
}

func (d *draft) readDeadline(v yamlfile.Value) {
	d.setDeadline(scalar(v, func(s string) (deadline, error) { return parseDeadline(s, d.opt.Now) }))
}

func (d *draft) setDeadline(x deadline) { d.Deadline, d.By = x.in, x.by }

// readProcs reads 4 or {min: 2, max: 32}.
func (d *draft) readProcs(v yamlfile.Value) {
	if v.Kind() != yamlfile.Mapping {
		d.procs = scalar(v, parseProcs)
		return
	}
	s := span{1, 0}
	found := v.Mapping(
		yamlfile.Key("min", func(v yamlfile.Value) { s.min = v.Whole(1, maxProcs) }),
		yamlfile.Key("max", func(v yamlfile.Value) { s.max = v.Whole(1, maxProcs) }),
	)
	found.Need("max", "the most cores that it can use")
	if s.max < s.min {
		found.Fail("max", fmt.Sprint(s.max), fmt.Sprintf("at least min, %d", s.min))
	}
	d.procs = s
}

var failures = []string{NodeFail, Preempted, RetryFailed}

func parseFailure(s string) (string, error) { return oneOf(s, failures) }

// methods are the ways to save a program; srs comes later.
var methods = []string{"auto", "sandbox", "signal", "exit85", "restart"}

func parseMethod(s string) (string, error) {
	if s == "srs" {
		return "", fmt.Errorf("not supported yet, only %s: the library for programs that save themselves comes later", strings.Join(methods, ", "))
	}
	return oneOf(s, methods)
}

func oneOf(s string, from []string) (string, error) {
	if slices.Contains(from, s) {
		return s, nil
	}
	return "", fmt.Errorf("one of %s", strings.Join(from, ", "))
}
