package wfformat

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/dag"
)

// small has two tasks: b reads f, which a makes, and g, which lies ready.
const small = `{"name":"small","schemaVersion":"1.5","workflow":{"specification":{
"tasks":[{"id":"a","parents":[],"children":["b"],"inputFiles":[],"outputFiles":["f"]},
{"id":"b","parents":["a"],"children":[],"inputFiles":["f","g"],"outputFiles":[]}],
"files":[{"id":"f","sizeInBytes":1000},{"id":"g","sizeInBytes":5}]},
"execution":{"tasks":[{"id":"a","runtimeInSeconds":1.5},{"id":"b","runtimeInSeconds":2,"memoryInBytes":77,"coreCount":4,"command":{"program":"./b","arguments":["x"]}}]}}}`

func TestAWorkflowIsReadPlainAndPacked(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = io.WriteString(w, small)
	_ = w.Close()
	for name, in := range map[string]io.Reader{"plain": strings.NewReader(small), "gzip": &z} {
		got, err := Read(name, in)
		if err != nil {
			t.Fatal(err)
		}
		want := "&{small [{a 1.5 0 0 [] [] [f]} {b 2 77 4 [./b x] [f g] []}] [{0 1 1000 1}]}"
		if text := fmt.Sprint(got); text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
}

func TestSeveralFilesOfAParentCountTogetherAndAParentWithoutFilesIsWaitedFor(t *testing.T) {
	text := strings.NewReplacer(`"outputFiles":["f"]`, `"outputFiles":["f","g"]`, `"sizeInBytes":5`,
		`"sizeInBytes":5e3`).Replace(small)
	if w, err := Read("x", strings.NewReader(text)); err != nil || len(w.Needs) != 1 || w.Needs[0].Bytes != 6000 ||
		w.Needs[0].Files != 2 {
		t.Errorf("%v, %v", w, err)
	}
	text = strings.Replace(small, `"inputFiles":["f","g"]`, `"inputFiles":[]`, 1)
	if w, err := Read("x", strings.NewReader(text)); err != nil || len(w.Needs) != 1 || w.Needs[0].Bytes != dag.NoFile {
		t.Errorf("%v, %v", w, err)
	}
	text = strings.NewReplacer(`"parents":["a"]`, `"parents":[]`, `"children":["b"]`, `"children":[]`).Replace(small)
	if w, err := Read("x", strings.NewReader(text)); err != nil || len(w.Needs) != 1 || w.Needs[0].Bytes != 1000 {
		t.Errorf("who makes a file that is read is no parent: %v, %v", w, err)
	}
}

func TestAFileThatIsListedTwiceCountsOnce(t *testing.T) {
	text := strings.NewReplacer(`"outputFiles":["f"]`, `"outputFiles":["f","f"]`, `"inputFiles":["f","g"]`,
		`"inputFiles":["f","g","f"]`,
		`"parents":["a"]`, `"parents":["a","a"]`).Replace(small)
	w, err := Read("x", strings.NewReader(text))
	if err != nil || len(w.Needs) != 1 || w.Needs[0].Bytes != 1000 || w.Needs[0].Files != 1 {
		t.Errorf("%v, %v", w, err)
	}
}

func TestWhatIsWrongIsToldWithTheFileAndTheTask(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{small, "", `x.json: expected a workflow in WfFormat 1.5; the file is empty`},
		{small, "{", `x.json: expected a complete workflow file; this one is cut off or damaged (unexpected EOF)`},
		{small, "nonsense", `x.json: expected valid JSON (invalid character 'o' in literal null (expecting 'u'))`},
		{`"schemaVersion":"1.5",`, ``,
			`x.json: schemaVersion: expected "1.5"; the file does not say which version of WfFormat it is in`},
		{`"1.5"`, `"1.4"`, `x.json: schemaVersion "1.4": expected "1.5", the version of WfFormat that is read`},
		{`"specification"`, `"spec"`, `x.json: workflow.specification: the tasks and files of the workflow; it is missing`},
		{`"execution"`, `"exec"`, `x.json: workflow.execution: how long each task runs; it is missing`},
		{`{"id":"b","parents"`, `{"id":"a","parents"`, `x.json: task "a" id: expected an id that no other task has`},
		{`{"id":"b","parents"`, `{"parents"`,
			`x.json: workflow.specification.tasks[1].id: the id of the task; it is missing`},
		{`"parents":["a"]`, `"parents":["z"]`, `x.json: task "b" parents "z": expected the id of a task`},
		{`"parents":["a"]`, `"parents":["b"]`,
			`x.json: task "b" parents "b": expected another task; none can wait for itself`},
		{`"parents":[],`, `"parents":["b"],`, `x.json: task "a" parents "b → a": no cycle; here 2 tasks wait for each other`},
		{`"inputFiles":["f","g"]`, `"inputFiles":["f","h"]`,
			`x.json: task "b" inputFiles "h": expected a file of workflow.specification.files; it is missing there`},
		{`"outputFiles":["f"]`, `"outputFiles":["e"]`,
			`x.json: task "a" outputFiles "e": expected a file of workflow.specification.files; it is missing there`},
		{`"sizeInBytes":1000`, `"sizeInBytes":1e30`,
			`x.json: task "a" file "f" sizeInBytes "1e30": expected a number of bytes from 0 to 2^60`},
		{`"sizeInBytes":1000`, `"sizeInBytes":-1`,
			`x.json: task "a" file "f" sizeInBytes "-1": expected a number of bytes from 0 to 2^60`},
		{`{"id":"g"`, `{"id":"f"`, `x.json: task "a" file "f": expected a file that workflow.specification.files lists once`},
		{`"runtimeInSeconds":1.5`, `"runtimeInSeconds":-3`,
			`x.json: task "a" runtimeInSeconds "-3": expected a number from 0 to 1e+12`},
		{`,"runtimeInSeconds":1.5`, ``, `x.json: task "a" runtimeInSeconds: expected a number from 0 to 1e+12`},
		{`{"id":"a","runtimeInSeconds":1.5},`, ``,
			`x.json: task "a" runtimeInSeconds: expected how long the task runs; workflow.execution does not have it`},
		{`{"id":"a","runtimeInSeconds":1.5}`, `{"id":"b","runtimeInSeconds":1.5}`,
			`x.json: task "b" in workflow.execution: expected one entry for each task; it has two`},
		{`{"id":"a","runtimeInSeconds"`, `{"id":"q","runtimeInSeconds"`,
			`x.json: task "q" in workflow.execution: expected the id of a task of workflow.specification`},
		{`"id":"a","parents"`, `"id":7,"parents"`,
			`x.json: workflow.specification.tasks.id "number": WfFormat 1.5 has another type here`},
	} {
		_, err := Read("x.json", strings.NewReader(strings.Replace(small, c.from, c.to, 1)))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s for %s:\n got %v\nwant %s", c.to, c.from, err, c.want)
		}
		if err != nil && !badinput.Is(err) {
			t.Errorf("%v is not told as the user's mistake", err)
		}
	}
}

func TestTextAfterTheWorkflowIsRefused(t *testing.T) {
	for _, tail := range []string{"{}", "x"} {
		if _, err := Read("x.json", strings.NewReader(small+tail)); !badinput.Is(err) {
			t.Errorf("%q after it: %v", tail, err)
		}
	}
}

func TestAPackedFileThatIsCutOffIsRefused(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = io.WriteString(w, small)
	_ = w.Close()
	for n := 1; n < z.Len(); n += 7 {
		if _, err := Read("x.json.gz", bytes.NewReader(z.Bytes()[:n])); !badinput.Is(err) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(strings.Replace(small, `"parents":[],`, `"parents":["b"],`, 1)))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := Read("fuzz", bytes.NewReader(data))
		if err != nil {
			if !badinput.Is(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			return
		}
		for _, n := range w.Needs {
			if n.From == n.To || n.From < 0 || n.To < 0 || n.From >= len(w.Tasks) || n.To >= len(w.Tasks) {
				t.Errorf("need %v of %d tasks", n, len(w.Tasks))
			}
		}
	})
}
