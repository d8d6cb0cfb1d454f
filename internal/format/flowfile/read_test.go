package flowfile

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/dag"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

func read(t testing.TB, dir, text string) (*Flow, error) {
	t.Helper()
	return Parse("flow.yaml", dir, []byte(text), jobfile.Options{Dir: dir})
}

// shown is a flow in short: each task with its command, its parents and its files.
func shown(f *Flow) []string {
	var lines []string
	for t, task := range f.Tasks {
		line := task.ID + ": " + task.Job.Argv[len(task.Job.Argv)-1] + " <" + strings.Join(task.Inputs, ",") + " >"
		for _, o := range task.Outputs {
			line += o.Name + ","
		}
		line += " after"
		for _, n := range f.Needs {
			if n.To == t {
				line += " " + f.Tasks[n.From].ID
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSweepsBecomeInstancesAndFilesBecomeEdges(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"data.txt", "prog"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := read(t, dir, `
version: 1
files: prog
tasks:
  - {id: cut, run: ./prog, inputs: data.txt, outputs: ["p.{1-2}", {file: big, size: 3M}]}
  - {id: work, run: "work {i} {mode} {x}", sweep: {i: 1-2, mode: [a, b]}, inputs: ["p.{i}"], outputs: ["r.{i}.{mode}"], envs: {N: "{i}"}, procs: 2, estimate: {uh: 4m}}
  - {id: one, run: one, inputs: "r.1.*", outputs: o}
  - {id: end, run: end, after: [work, cut], inputs: [big]}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"cut: ./prog <data.txt,prog >p.1,p.2,big, after",
		"work-1-a: work 1 a {x} <p.1,prog >r.1.a, after cut",
		"work-1-b: work 1 b {x} <p.1,prog >r.1.b, after cut",
		"work-2-a: work 2 a {x} <p.2,prog >r.2.a, after cut",
		"work-2-b: work 2 b {x} <p.2,prog >r.2.b, after cut",
		"one: one <prog,r.1.a,r.1.b >o, after work-1-a work-1-b",
		"end: end <big,prog > after cut work-1-a work-1-b work-2-a work-2-b",
	}
	if diff := cmp.Diff(want, shown(f)); diff != "" {
		t.Error(diff)
	}
	if x := f.Tasks[3]; x.Job.Env["N"] != "2" || x.Job.Min != 2 || x.On["uh"].Minutes() != 4 || f.Kinds[x.Kind] != "work" {
		t.Errorf("%+v", x)
	}
	if n := f.Needs[slices.IndexFunc(f.Needs, func(n Need) bool { return n.To == 6 && n.From == 0 })]; n.Bytes != 3<<20 &&
		n.Bytes != 3e6 {
		t.Errorf("the file to the end has %d bytes", n.Bytes)
	}
}

// mistakes and a part of what is said; all but those of the file as a whole name
// the task.
var mistakes = []struct{ text, want string }{
	{"version: 2\ntasks: [{id: a, run: x}]", `version "2": expected 1, the version`},
	{"tasks: [{id: a, run: x}]", "version: missing, expected 1"},
	{"version: 1\ntasks: []", "at least one task"},
	{"version: 1", "tasks: missing, expected the tasks of the workflow"},
	{"version: 1\ntasks: [{run: x}]", "id"},
	{"version: 1\ntasks: [{id: a, run: x}, {id: a, run: y}]", `task "a" id: expected an id that no other task has`},
	{"version: 1\ntasks: [{id: a-1, run: x}, {id: a, run: y, sweep: {i: 1-2}}]",
		`task "a-1" id: expected an id that no other`},
	{"version: 1\ntasks: [{id: a}]",
		`task "a" run: there is nothing to run: give run (a shell line) or argv (a list of words)`},
	{"version: 1\ntasks: [{id: a, run: x, rum: y}]", `task "a" rum: unknown field, did you mean run?`},
	{"version: 1\ntasks: [{id: a, run: x, inputs: [nowhere]}]",
		`task "a" inputs "nowhere": expected a file that a task makes, or that is in`},
	{"version: 1\ntasks: [{id: a, run: x, inputs: ['*.none']}]",
		`task "a" inputs "*.none": expected files that a task makes`},
	{"version: 1\ntasks: [{id: a, run: x, inputs: [../up]}]",
		`task "a" inputs[0] ../up: expected a file within the folder of the workflow, such as part.{i} or out/*.csv`},
	{"version: 1\ntasks: [{id: a, run: x, outputs: ['o*']}]", `task "a" outputs[0] "o*": expected the name of a file`},
	{"version: 1\ntasks: [{id: a, run: x, outputs: o}, {id: b, run: x, outputs: o}]",
		`task "b" outputs "o": expected a file that no other task makes; task "a" makes it too`},
	{"version: 1\ntasks: [{id: a, run: x, outputs: o, inputs: o}]",
		`task "a" inputs "o": expected a file of another task`},
	{"version: 1\ntasks: [{id: a, run: x, outputs: o, inputs: p}, {id: b, run: x, inputs: o, outputs: p}]",
		`task "a" inputs "b → a": no cycle; here 2 tasks`},
	{"version: 1\ntasks: [{id: a, run: x, after: [c]}]", `task "a" after "c": expected the id of a task`},
	{"version: 1\ntasks: [{id: a, run: x, after: a}]", `task "a" after "a": expected another task`},
	{"version: 1\ntasks: [{id: a, run: x, sweep: {i: 5-1}}]", `task "a" sweep.i "5-1": expected a range`},
	{"version: 1\ntasks: [{id: a, run: x, sweep: {i: 1-999999999}}]", `task "a" sweep.i "1-999999999": expected a range`},
	{"version: 1\ntasks: [{id: a, run: x, sweep: {i: 1-90000, j: 1-90000}}]",
		`task "a" sweep: expected at most 100000 tasks`},
	{"version: 1\ntasks: [{id: a, run: x, estimate: soon}]", `task "a" estimate "soon"`},
	{"version: 1\ntasks: [{id: a, run: x, procs: -1}]", `task "a" procs "-1"`},
}

func TestTheFilesThatATaskReadsOfAnotherCountTogether(t *testing.T) {
	f, err := read(t, t.TempDir(), `
version: 1
tasks:
  - {id: make, run: make, outputs: [{file: a, size: 3M}, {file: b, size: 5M}, c, {file: d, size: 1G}]}
  - {id: read, run: read, inputs: [a, b, c, a], after: [make], outputs: e}
  - {id: wait, run: wait, after: [make]}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Need{{From: 0, To: 1, Bytes: 8 << 20, Files: 3}, {From: 0, To: 2, Bytes: dag.NoFile}}
	if diff := cmp.Diff(want, f.Needs); diff != "" {
		t.Error(diff)
	}
}

func TestAMistakeIsToldInOneLineWithTheNameOfTheTask(t *testing.T) {
	dir := t.TempDir()
	for _, c := range mistakes {
		_, err := read(t, dir, c.text)
		if err == nil || !badinput.Is(err) || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "flow.yaml") {
			t.Errorf("%s\n  is told as %v\n  want       %s", c.text, err, c.want)
		}
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(file, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, jobfile.Options{}); err == nil || !badinput.Is(err) {
		t.Errorf("told as %v", err)
	}
}

// checkSchema validates a YAML text as an editor does.
func checkSchema(t testing.TB, text string) error {
	t.Helper()
	c := jsonschema.NewCompiler()
	for _, name := range []string{"job", "flow"} {
		data, err := os.ReadFile("../../../docs/" + name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err == nil {
			err = c.AddResource("https://godwit-hpc.github.io/godwit/"+name+".schema.json", doc)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("https://godwit-hpc.github.io/godwit/flow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestTheExamplesAreAcceptedByReaderAndSchema(t *testing.T) {
	files, err := filepath.Glob("../../../examples/flows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		if _, err := Load(file, jobfile.Options{Dir: "."}); err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkSchema(t, string(data)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	const due = "version: 1\ntasks: [{id: a, run: x, deadline: 20m, confidence: 0.9}]"
	if err := checkSchema(t, due); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "due.yaml")
	if err := os.WriteFile(path, []byte(due), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err := Load(path, jobfile.Options{Dir: "."}); err != nil || f.Tasks[0].Job.Deadline != 20*time.Minute {
		t.Errorf("%+v: %v", f, err)
	}
	for _, bad := range []string{"version: 3\ntasks: [{id: a, run: x}]", "version: 1\ntasks: [{id: a, run: x, rum: y}]",
		"version: 1\ntasks: [{run: x}]"} {
		if checkSchema(t, bad) == nil {
			t.Errorf("%q: accepted by the schema", bad)
		}
	}
}

func TestTheSchemaHasTheFieldsOfTheReader(t *testing.T) {
	data, err := os.ReadFile("../../../docs/flow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties map[string]struct {
			Items struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties["tasks"].Items.Properties)) {
		if _, err := read(t, t.TempDir(), "version: 1\ntasks: [{"+name+": 7}]"); err != nil &&
			strings.Contains(err.Error(), "unknown field") {
			t.Errorf("the reader does not know %s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range mistakes {
		f.Add([]byte(c.text))
	}
	data, err := os.ReadFile("../../../examples/flows/wordcount.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 || strings.Contains(string(data), "0000") {
			return // long sweeps are only slow
		}
		flow, err := Parse("flow.yaml", dir, data, jobfile.Options{Dir: dir})
		if err != nil {
			if !badinput.Is(err) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Fatalf("not one line of bad input: %q", err)
			}
			return
		}
		ids := map[string]bool{}
		for _, task := range flow.Tasks {
			if ids[task.ID] || task.Job == nil || len(task.Job.Argv) == 0 {
				t.Fatalf("accepted: %+v", task)
			}
			ids[task.ID] = true
		}
	})
}
