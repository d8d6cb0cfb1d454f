package flowfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// taskError is a mistake in a field of one task. It keeps the first.
func (r *reader) taskError(t *template, id, field, value, want string) {
	if r.err == nil {
		r.err = &badinput.Error{File: r.file, Line: t.line,
			Field: strings.TrimSpace("task " + strconv.Quote(badinput.ClipID(id)) + " " + field), Value: value, Want: want}
	}
}

// expandTasks makes the instances of all tasks.
func (r *reader) expandTasks() {
	for i := range r.list {
		t := &r.list[i]
		if _, twice := r.kinds[t.id]; twice {
			r.taskError(t, t.id, "id", "", "an id that no other task has")
			return
		}
		r.kinds[t.id] = nil
		r.flow.Kinds = append(r.flow.Kinds, t.id)
		count := 1
		for _, p := range t.sweep {
			if count *= len(p.values); count > maxTasks {
				break
			}
		}
		if len(r.flow.Tasks)+count > maxTasks {
			r.taskError(t, t.id, "sweep", "", "at most "+strconv.Itoa(maxTasks)+" tasks in all, instances counted one by one")
			return
		}
		r.expandInstances(t, 0, nil)
		if r.err != nil {
			return
		}
	}
}

// expandInstances goes through the values of the parameters, those of the last first.
func (r *reader) expandInstances(t *template, at int, chosen []string) {
	if at < len(t.sweep) {
		for _, v := range t.sweep[at].values {
			r.expandInstances(t, at+1, append(chosen, v))
		}
		return
	}
	if r.err != nil {
		return
	}
	var pairs []string
	id := t.id
	for i, v := range chosen {
		pairs = append(pairs, "{"+t.sweep[i].name+"}", v)
		id += "-" + v
	}
	if _, twice := r.index[id]; twice || id != t.id && r.isWritten(id) {
		r.taskError(t, id, "id", "", "an id that no other task has; instances of a sweep are called by their values")
		return
	}
	fill := strings.NewReplacer(pairs...)
	task := Task{ID: id, Kind: len(r.flow.Kinds) - 1, Estimate: t.estimate, On: t.on, Job: fillJob(t.job, fill)}
	if t.model != nil {
		text := fill.Replace(t.size)
		size, err := strconv.ParseFloat(text, 64)
		if err == nil {
			err = t.model.EstimateJob(task.Job, size)
		}
		if err != nil {
			r.taskError(t, id, "estimate size", text, "a size at which the model can say what the program needs: "+err.Error())
			return
		}
		task.Estimate = task.Job.Estimate
	}
	for _, in := range append(slices.Clone(r.files), t.inputs...) {
		task.Inputs = append(task.Inputs, fill.Replace(in))
	}
	for _, o := range t.outputs {
		for _, name := range expandRange(fill.Replace(o.Name)) {
			task.Outputs = append(task.Outputs, Output{name, o.Bytes})
		}
	}
	r.index[id] = len(r.flow.Tasks)
	r.kinds[t.id] = append(r.kinds[t.id], len(r.flow.Tasks))
	r.flow.Tasks = append(r.flow.Tasks, task)
}

func (r *reader) isWritten(id string) bool {
	return slices.ContainsFunc(r.list, func(t template) bool { return t.id == id })
}

// fillJob is a job with the values of an instance in it.
func fillJob(j *jobfile.Job, fill *strings.Replacer) *jobfile.Job {
	c := *j
	c.Argv = slices.Clone(j.Argv)
	for i := range c.Argv {
		c.Argv[i] = fill.Replace(c.Argv[i])
	}
	c.Setup = fill.Replace(j.Setup)
	c.Env = maps.Clone(j.Env)
	for k, v := range c.Env {
		c.Env[k] = fill.Replace(v)
	}
	return &c
}

// expandRange writes out a range of files: part.{1-4}.
func expandRange(file string) []string {
	before, rest, ok := strings.Cut(file, "{")
	text, after, closed := strings.Cut(rest, "}")
	if !ok || !closed || !strings.Contains(text, "-") {
		return []string{file}
	}
	values, err := parseSpan(text)
	if err != nil {
		return []string{file}
	}
	var all []string
	for _, v := range values {
		for _, tail := range expandRange(after) {
			all = append(all, before+v+tail)
			if len(all) > maxTasks {
				return all
			}
		}
	}
	return all
}
