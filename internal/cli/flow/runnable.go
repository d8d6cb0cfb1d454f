package flow

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/dag"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// runnableFlow is a workflow that can be run.
func (a *app) runnableFlow(file string, burn float64) (*flowfile.Flow, error) {
	if isYAML(file) {
		if burn > 0 {
			return nil, &badinput.Error{Field: "--burn", Want: "a workflow in WfFormat, which says how long its tasks took"}
		}
		return flowfile.Load(file, a.fileOptions())
	}
	w, err := loadWfFormat(file)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	f := &flowfile.Flow{Name: flowName(file), Dir: dir, Kinds: w.kinds}
	made := map[string]bool{}
	for _, t := range w.wf.Tasks {
		for _, out := range t.Writes {
			made[out] = true
		}
	}
	for i, t := range w.wf.Tasks {
		job := &jobfile.Job{Argv: t.Command, Min: 1, Max: 1, Memory: t.Memory, Retries: jobfile.DefaultRetries,
			Checkpoint: jobfile.Checkpoint{Method: "restart"}}
		task := flowfile.Task{ID: cleanID(t.ID, i), Kind: w.dag.Tasks[i].Kind, Job: job,
			Estimate: time.Duration(t.Seconds * float64(time.Second))}
		if burn > 0 {
			task.Estimate = time.Duration(burn * float64(task.Estimate))
			job.Argv, job.Memory = burnCommand(burn*t.Seconds), 0
		} else if err := assignFiles(file, dir, &task, t.Command, t.Reads, t.Writes, made); err != nil {
			return nil, err
		}
		f.Tasks = append(f.Tasks, task)
	}
	for _, n := range w.wf.Needs {
		if burn > 0 {
			n.Bytes, n.Files = dag.NoFile, 0
		}
		f.Needs = append(f.Needs, n)
	}
	return f, nil
}

// assignFiles gives a recorded task its files, and says what is missing.
func assignFiles(file, dir string, t *flowfile.Task, command, reads, writes []string, made map[string]bool) error {
	wrong := func(field, value, want string) error {
		return &badinput.Error{File: file, Field: "task " + strconv.Quote(t.ID) + " " + field, Value: value, Want: want +
			"; --burn 0.01 runs it without programs"}
	}
	if len(command) == 0 {
		return wrong("command", "", "a program; the file does not say which")
	}
	for _, in := range reads {
		if !filepath.IsLocal(in) {
			return wrong("inputFiles", in, "a file within the folder of the workflow")
		}
		if _, err := os.Stat(filepath.Join(dir, in)); err != nil && !made[in] {
			return wrong("inputFiles", in, "a file that a task makes, or that is in "+dir+"; there is none")
		}
		t.Inputs = append(t.Inputs, filepath.ToSlash(filepath.Clean(in)))
	}
	for _, out := range writes {
		if !filepath.IsLocal(out) {
			return wrong("outputFiles", out, "a file within the folder of the workflow")
		}
		t.Outputs = append(t.Outputs, flowfile.Output{Name: filepath.ToSlash(filepath.Clean(out))})
	}
	return nil
}

// burnCommand keeps a processor busy until it has used so many seconds of it.
func burnCommand(seconds float64) []string {
	const program = "import sys, time\nend = time.process_time() + float(sys.argv[1])\nwhile time.process_time() < end: " +
		"pass"
	return []string{"python3", "-c", program, strconv.FormatFloat(seconds, 'f', 3, 64)}
}

// flowName is what a workflow is called whose file does not say.
func flowName(file string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".json")
	return cleanID(name, 0)
}

// cleanID is an id that can be part of a job's name.
func cleanID(id string, number int) string {
	text := strings.Map(func(c rune) rune {
		if c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("._-", c)) {
			return c
		}
		return '-'
	}, id)
	if text != id || len(text) > 80 {
		text = fmt.Sprintf("%s.%d", text[:min(len(text), 80)], number)
	}
	return text
}

// inheritedVariables is the variables that every task gets: programs are looked for, and
// text is read and written, as at the caller's.
func inheritedVariables() map[string]string {
	env := map[string]string{}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "USER", "LD_LIBRARY_PATH", "PYTHONPATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return env
}
