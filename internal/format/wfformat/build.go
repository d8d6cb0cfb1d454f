package wfformat

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// A builder turns a document into a workflow. It keeps the first mistake.
type builder struct {
	name  string
	spec  *specification
	w     *Workflow
	index map[string]int   // of tasks by their id
	size  map[string]int64 // of files
	err   error
}

func (b *builder) failField(field, value, want string) {
	if b.err == nil {
		b.err = &badinput.Error{File: b.name, Field: field, Value: value, Want: want}
	}
}

// taskError is a mistake in a field of one task.
func (b *builder) taskError(task, field, value, want string) {
	b.failField("task "+strconv.Quote(badinput.ClipID(task))+" "+field, value, want)
}

func buildWorkflow(name string, doc *document) (*Workflow, error) {
	b := &builder{name: name, w: &Workflow{Name: doc.Name}}
	steps := []func(){
		func() { b.readHead(doc) },
		b.readTasks,
		func() { b.readRuns(doc.Workflow.Execution) },
		b.readFiles,
		b.findNeeds,
		b.checkAcyclic,
	}
	for _, step := range steps {
		if step(); b.err != nil {
			return nil, b.err
		}
	}
	return b.w, nil
}

func (b *builder) readHead(doc *document) {
	switch {
	case doc.Version == "":
		b.failField("schemaVersion", "", "\""+Version+"\"; the file does not say which version of WfFormat it is in")
	case doc.Version != Version:
		b.failField("schemaVersion", doc.Version.String(), "\""+Version+"\", the version of WfFormat that is read")
	case doc.Workflow == nil || doc.Workflow.Specification == nil:
		b.failField("workflow.specification", "", "the tasks and files of the workflow; it is missing")
	case len(doc.Workflow.Specification.Tasks) == 0:
		b.failField("workflow.specification.tasks", "", "at least one task; there is none")
	case len(doc.Workflow.Specification.Tasks) > maxTasks:
		b.failField("workflow.specification.tasks", strconv.Itoa(len(doc.Workflow.Specification.Tasks)), "at most "+
			strconv.Itoa(maxTasks)+" tasks")
	case doc.Workflow.Execution == nil:
		b.failField("workflow.execution", "", "how long each task runs; it is missing")
	default:
		b.spec = doc.Workflow.Specification
	}
}

func (b *builder) readTasks() {
	b.index = make(map[string]int, len(b.spec.Tasks))
	b.w.Tasks = make([]Task, len(b.spec.Tasks))
	for i := range b.spec.Tasks {
		id := b.spec.Tasks[i].ID
		if id == "" {
			b.failField("workflow.specification.tasks["+strconv.Itoa(i)+"].id", "", "the id of the task; it is missing")
			return
		}
		if _, twice := b.index[id]; twice {
			b.taskError(id, "id", "", "an id that no other task has")
			return
		}
		b.index[id] = i
		b.w.Tasks[i].ID = id
		b.w.Tasks[i].Reads, b.w.Tasks[i].Writes = b.spec.Tasks[i].Inputs, b.spec.Tasks[i].Outputs
	}
}

// readRuns reads what the tasks took and need.
func (b *builder) readRuns(e *execution) {
	seen := make([]bool, len(b.w.Tasks))
	for i := range e.Tasks {
		r := &e.Tasks[i]
		t, ok := b.index[r.ID]
		switch {
		case !ok:
			b.taskError(r.ID, "in workflow.execution", "", "the id of a task of workflow.specification")
			return
		case seen[t]:
			b.taskError(r.ID, "in workflow.execution", "", "one entry for each task; it has two")
			return
		}
		seen[t] = true
		if r.Command.Program != "" {
			b.w.Tasks[t].Command = append([]string{r.Command.Program}, r.Command.Arguments...)
		}
		b.w.Tasks[t].Seconds = b.parseNumber(r.ID, "runtimeInSeconds", r.Seconds, maxSeconds, true)
		b.w.Tasks[t].Memory = int64(b.parseNumber(r.ID, "memoryInBytes", r.Memory, float64(maxBytes), false))
		b.w.Tasks[t].Cores = int(math.Ceil(b.parseNumber(r.ID, "coreCount", r.Cores, maxCores, false)))
	}
	for t, ok := range seen {
		if !ok {
			b.taskError(b.w.Tasks[t].ID, "runtimeInSeconds", "", "how long the task runs; workflow.execution does not have it")
			return
		}
	}
}

func (b *builder) parseNumber(task, field string, text json.Number, most float64, needed bool) float64 {
	if text == "" && !needed {
		return 0
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(x >= 0 && x <= most) {
		b.taskError(task, field, string(text), "a number from 0 to "+strconv.FormatFloat(most, 'g', -1, 64))
		return 0
	}
	return x
}

func (b *builder) readFiles() {
	b.size = make(map[string]int64, len(b.spec.Files))
	for _, f := range b.spec.Files {
		if _, twice := b.size[f.ID]; twice {
			b.taskError(b.firstUser(f.ID), "file", f.ID, "a file that workflow.specification.files lists once")
			return
		}
		x, err := strconv.ParseFloat(string(f.Bytes), 64)
		if err != nil || !(x >= 0 && x <= float64(maxBytes)) {
			b.taskError(b.firstUser(f.ID), "file "+strconv.Quote(badinput.ClipID(f.ID))+" sizeInBytes", string(f.Bytes),
				"a number of bytes from 0 to 2^60")
			return
		}
		b.size[f.ID] = int64(x)
	}
}

// firstUser is the first task that makes or reads the file, for a message.
func (b *builder) firstUser(file string) string {
	for i := range b.spec.Tasks {
		t := &b.spec.Tasks[i]
		for _, list := range [][]string{t.Outputs, t.Inputs} {
			for _, id := range list {
				if id == file {
					return t.ID
				}
			}
		}
	}
	return "(none)"
}
