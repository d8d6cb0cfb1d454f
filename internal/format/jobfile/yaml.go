package jobfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// parseYAML reads the fields of a job file into a draft.
func (d *Draft) parseYAML(name string, data []byte) error {
	top, err := yamlfile.Parse(name, "a job file", data)
	if err != nil {
		return err
	}
	d.at[""], d.isYAML = Origin{File: name}, true
	if top.Kind() != yamlfile.Mapping {
		top.ReportWrong("a job file: fields such as run: ./program, one a line")
		return top.Err()
	}
	d.readMapping(top, "", slices.Concat(d.jobFields(), refusedFields(notYet), d.ignoredFields(cloudKeys)))
	return top.Err()
}

// readMapping reads a mapping and notes where each of its fields stands.
func (d *Draft) readMapping(v yamlfile.Value, prefix string, fields []field) {
	keys := make([]yamlfile.Field, len(fields))
	for i, f := range fields {
		keys[i] = yamlfile.ReadField(f.name, func(v yamlfile.Value) {
			d.at[prefix+f.name] = Origin{File: v.File(), Line: v.Line()}
			f.read(v)
		})
	}
	v.ReadMapping(keys...)
}

// field is a key of a job file.
type field struct {
	name string
	read func(yamlfile.Value)
}

// scalarField is a field whose single value is stored.
func scalarField[T any](name string, to *T, parse func(string) (T, error)) field {
	return field{name, func(v yamlfile.Value) { *to = ReadScalar(v, parse) }}
}

// ReadScalar is a single value that parse accepts.
func ReadScalar[T any](v yamlfile.Value, parse func(string) (T, error)) T {
	var text string
	if v.Kind() == yamlfile.Scalar {
		text = v.Text("")
	}
	t, err := parse(text)
	if err != nil {
		v.ReportWrong(err.Error())
	}
	return t
}

// listField is a list, or a single value as a list of one.
func listField[T any](name, of string, to *[]T, parse func(string) (T, error)) field {
	return field{name, func(v yamlfile.Value) {
		if v.Kind() == yamlfile.Scalar {
			*to = []T{ReadScalar(v, parse)}
			return
		}
		for item := range v.EachItem(of) {
			*to = append(*to, ReadScalar(item, parse))
		}
	}}
}

func (d *Draft) jobFields() []field {
	return []field{
		scalarField("name", &d.Name, parseName),
		scalarField("run", &d.line, ParseText),
		{"argv", d.readArgv},
		scalarField("setup", &d.Setup, ParseText),
		{"build", d.readBuild},
		scalarField("workdir", &d.Workdir, ParseText),
		{"inputs", d.readInputs},
		{"outputs", d.readOutputs},
		{"envs", d.readEnvs},
		{"labels", d.readLabels},
		scalarField("export", &d.Export, parseExport),
		{"deadline", d.readDeadline},
		{"estimate", d.readEstimate},
		{"procs", d.readProcs},
		scalarField("kind", &d.Kind, parseKind),
		scalarField("num_nodes", &d.nodes, parseWhole(1, MaxProcs)),
		{"resources", func(v yamlfile.Value) {
			d.readMapping(v, "resources.", slices.Concat(d.resourceFields(), d.ignoredFields(cloudResources)))
		}},
		listField("on", "clusters", &d.On, parseName),
		scalarField("array", &d.Array, ParseArray),
		{"after", d.readAfter},
		{"retry", func(v yamlfile.Value) { d.readMapping(v, "retry.", d.retryFields()) }},
		{"checkpoint", d.readCheckpoint},
		{"contract", d.readContract},
		scalarField("progress", &d.Progress, parsePattern),
		scalarField("place", &d.Place, parsePlace),
		scalarField("confidence", &d.Confidence, parseConfidence),
		scalarField("reliability", &d.Reliability, parseReliability),
		scalarField("adapt", &d.Adapt, parseAdapt),
		scalarField("pattern", &d.talks, ParseText),
		{"components", d.readComponents},
		{"hold", func(v yamlfile.Value) { d.Hold = v.Bool() }},
		{"mpi", func(v yamlfile.Value) { d.MPI = v.Bool() }},
	}
}

func (d *Draft) resourceFields() []field {
	return []field{
		scalarField("memory", &d.Memory, parseMemory),
		scalarField("cpus", &d.cpus, parseAtLeast),
		scalarField("time", &d.Time, parseLimit),
		scalarField("grace", &d.Grace, parseGrace),
		scalarField("processes", &d.Processes, parseWhole(1, maxProcesses)),
		{"accelerators", d.readAccelerators},
	}
}

func (d *Draft) retryFields() []field {
	return []field{
		scalarField("max", &d.Retries, parseWhole(0, maxRetries)),
		listField("on", "failures: "+strings.Join(failures, ", "), &d.RetryOn, parseFailure),
	}
}

func (d *Draft) checkpointFields() []field {
	c := &d.Checkpoint
	return []field{
		scalarField("method", &c.Method, parseMethod),
		scalarField("every", &c.Every, parseEvery),
		scalarField("signal", &c.Signal, ParseSignal),
		listField("files", "files within the working directory", &c.Files, parseInside),
		{"restart", func(v yamlfile.Value) { c.Restart = d.readCommand(v) }},
	}
}

// readCheckpoint reads a section, or a method alone.
func (d *Draft) readCheckpoint(v yamlfile.Value) {
	if v.Kind() == yamlfile.Scalar {
		d.Checkpoint.Method = ReadScalar(v, parseMethod)
		return
	}
	d.readMapping(v, "checkpoint.", d.checkpointFields())
}

func (d *Draft) readArgv(v yamlfile.Value) {
	d.listed = d.readCommandWords(v)
	if len(d.listed) == 0 && !v.HasFailed() {
		v.ReportWrong("a list of words, the program first")
	}
}

// readCommand reads a shell line or a list of words.
func (d *Draft) readCommand(v yamlfile.Value) []string {
	if v.Kind() == yamlfile.Scalar {
		return shellCommand(ReadScalar(v, ParseText))
	}
	return d.readCommandWords(v)
}

// readCommandWords reads a command; only the program may not be empty.
func (d *Draft) readCommandWords(v yamlfile.Value) []string {
	var words []string
	for item := range v.EachItem("words, the program first") {
		word := item.Text("a word")
		if word != "" || len(words) == 0 {
			word = ReadScalar(item, ParseText)
		}
		words = append(words, word)
	}
	return words
}

func (d *Draft) readEnvs(v yamlfile.Value) {
	for key, value := range v.EachEntry("variables and their values") {
		name := ReadScalar(key, parseVariable)
		if value.Kind() == yamlfile.Blank {
			d.unset = append(d.unset, name)
			continue
		}
		text := value.Text("a text")
		if text != "" {
			text = ReadScalar(value, ParseText)
		}
		d.setEnv(name, text)
	}
}

// readAfter reads jobs to wait for, each as the flag has it.
func (d *Draft) readAfter(v yamlfile.Value) {
	read := func(item yamlfile.Value) {
		d.After = append(d.After, ReadScalar(item,
			func(s string) ([]Dependency, error) { return ParseAfter(s, WentWell) })...)
	}
	if v.Kind() == yamlfile.Scalar {
		read(v)
		return
	}
	for item := range v.EachItem("jobs: " + wantAfter) {
		read(item)
	}
}

func (d *Draft) readDeadline(v yamlfile.Value) {
	d.setDeadline(ReadScalar(v, func(s string) (deadline, error) { return parseDeadline(s, d.opt.Now) }))
}

func (d *Draft) setDeadline(x deadline) { d.Deadline, d.By = x.in, x.by }

// readProcs reads 4 or {min: 2, max: 32, initial: 4}.
func (d *Draft) readProcs(v yamlfile.Value) {
	if v.Kind() != yamlfile.Mapping {
		d.procs = ReadScalar(v, ParseProcs)
		return
	}
	s := CoreSpan{1, 0}
	found := v.ReadMapping(
		yamlfile.ReadField("min", func(v yamlfile.Value) { s.Min = v.WholeNumber(1, MaxProcs) }),
		yamlfile.ReadField("max", func(v yamlfile.Value) { s.Max = v.WholeNumber(1, MaxProcs) }),
		yamlfile.ReadField("initial", func(v yamlfile.Value) { d.Initial = v.WholeNumber(1, MaxProcs) }),
	)
	found.RequireField("max", "the most cores that it can use")
	if s.Max < s.Min {
		found.FailField("max", fmt.Sprint(s.Max), fmt.Sprintf("at least min, %d", s.Min))
	}
	if n := d.Initial; n != 0 && (n < s.Min || n > s.Max) {
		found.FailField("initial", fmt.Sprint(n), fmt.Sprintf("a size that it can have, %s", s.toText()))
	}
	d.procs = s
}

var failures = []string{NodeFail, Preempted, RetryFailed}

func parseFailure(s string) (string, error) { return oneOf(s, failures) }

// methods are the ways to save a program.
var methods = []string{"auto", "sandbox", "signal", "exit85", "srs", "restart"}

func parseMethod(s string) (string, error) { return oneOf(s, methods) }

func oneOf(s string, from []string) (string, error) {
	if slices.Contains(from, s) {
		return s, nil
	}
	return "", fmt.Errorf("one of %s", strings.Join(from, ", "))
}
