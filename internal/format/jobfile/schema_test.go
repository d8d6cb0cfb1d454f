package jobfile

import (
	"encoding/json"
	"fmt"
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
	"pgregory.net/rapid"
)

const schemaFile = "../../../docs/job.schema.json"

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a YAML text as an editor hands it to the schema.
func asJSON(text string) (any, error) {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	return plainJSON(v), nil
}

// plainJSON turns what JSON does not have into what editors make of it.
func plainJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plainJSON(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plainJSON(v[i])
		}
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return v
}

func TestTheSchemaHasTheFieldsOfTheParser(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Properties map[string]node
		OneOf      []node
	}
	var s node
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	names := func(fields []field) []string {
		var list []string
		for _, f := range fields {
			list = append(list, f.name)
		}
		slices.Sort(list)
		return list
	}
	d := newDraft(Options{})
	for what, c := range map[string]struct {
		node   node
		fields []field
	}{
		"the file":   {s, slices.Concat(d.jobFields(), refusedFields(notYet), d.ignoredFields(cloudKeys))},
		"resources":  {s.Properties["resources"], slices.Concat(d.resourceFields(), d.ignoredFields(cloudResources))},
		"retry":      {s.Properties["retry"], d.retryFields()},
		"checkpoint": {s.Properties["checkpoint"].OneOf[1], d.checkpointFields()},
		"build":      {s.Properties["build"].OneOf[1], d.buildFields()},
	} {
		if diff := cmp.Diff(names(c.fields), slices.Sorted(maps.Keys(c.node.Properties))); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
}

func TestEveryExampleIsAcceptedByParserAndSchema(t *testing.T) {
	files, err := filepath.Glob("../../../examples/jobs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	// A job may start in the folder of built programs; what is in it does not matter.
	if err := os.MkdirAll(filepath.Join(root, "examples/apps/build"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := schema(t)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, warnings, err := readFile(file, options(root)); err != nil || len(warnings) > 0 {
			t.Errorf("%v %v", err, warnings)
		}
		v, err := asJSON(string(data))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestAnUnknownFieldFailsParserAndSchema(t *testing.T) {
	s := schema(t)
	for _, text := range []string{
		"run: true\ndeadlin: 5m", "run: true\nresources: {memry: 2}", "run: true\ncheckpoint: {methd: auto}",
		"run: true\nretry: {maximum: 3}",
		"run: true\nprocs: {max: 2, most: 3}", "name: x", "run: true\nargv: [true]",
	} {
		if _, _, err := readText(t, t.TempDir(), text); err == nil {
			t.Errorf("%q: accepted by the parser", text)
		}
		if v, err := asJSON(text); err != nil || s.Validate(v) == nil {
			t.Errorf("%q: accepted by the schema (%v)", text, err)
		}
	}
}

// The schema may accept what the parser refuses, where it cannot say more
// exactly; never the other way round, or editors would mark what is right.
func TestWhatTheParserAcceptsTheSchemaAccepts(t *testing.T) {
	s := schema(t)
	values := map[string][]string{
		"name": {"x", "7", "true", "a.b"}, "setup": {"make", "7"}, "workdir": {".", "1"},
		"inputs":  {"[job.yaml]", "job.yaml"},
		"outputs": {"[a, 'b*']", "a", "[]"}, "envs": {"{A: 1, B: x, C: true, D: ''}", "{}"},
		"deadline": {"5m", "90", "1.5", "2026-03-02T12:00:00Z", "2026-03-02 12:00", "2026-03-02"},
		"estimate": {"5m", "90", "0.5"},
		"procs":    {"4", "'4'", "2-4", "{max: 3}", "{min: 2, max: 3}", "1e3"}, "kind": {"rigid", "moldable"},
		"num_nodes": {"1", "'1'", "2"},
		"resources": {"{}", "{memory: 2+, cpus: 4+}", "{memory: 0.5, cpus: 2, time: 60, processes: '9'}",
			"{cloud: aws, ports: [1], accelerators: {H100: 8}}"},
		"on": {"a", "[a, b]", "[]"}, "array": {"1-10", "7", "1-10:3%2", "'1,5'"},
		"after": {"prep", "12", "[12, prep]", "'afterany:3'", "[]", "[singleton]"},
		"retry": {"{max: 0}", "{max: '2'}", "{max: 3, on: [node_fail]}", "{on: preempted}", "{on: failed}", "{}"},
		"checkpoint": {"auto", "{method: restart}", "{every: 60}", "{every: auto}", "{every: never}",
			"{signal: USR1, files: x}", "{method: exit85, files: [a], restart: [x, 1]}", "{}"},
		"progress": {"'(\\d+)%'", "(a)(b)"}, "place": {"wf", "deadline"}, "confidence": {"0.9", "5e-1", "'0.9'"},
		"reliability": {"0", "0.5"}, "adapt": {"auto", "off"},
		"components": {"[{procs: 1}]",
			"[{procs: 2, on: a}, {procs: '1', num_nodes: 1, on: [b], run: x, resources: {memory: 1}}]",
			"[{procs: 1, argv: [x, 1], inputs: [job.yaml, {from: 'a:/b', as: c}]}]", "[]"},
		"config": {"{a: 1}", "x"}, "rank": {"", "[]"},
	}
	keys := slices.Sorted(maps.Keys(values))
	dir := t.TempDir()
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		if rapid.Bool().Draw(rt, "argv") {
			b.WriteString("argv: [./x, 1, true]\n")
		} else {
			b.WriteString("run: ./x\n")
		}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 6, rapid.ID[string]).Draw(rt, "keys") {
			fmt.Fprintf(&b, "%s: %s\n", key, rapid.SampledFrom(values[key]).Draw(rt, key))
		}
		if _, _, err := readText(t, dir, b.String()); err != nil {
			return
		}
		accepted++
		v, err := asJSON(b.String())
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			rt.Fatalf("%s\n%v", b.String(), err)
		}
	})
	if accepted == 0 {
		t.Error("the parser accepted nothing")
	}
}
