package jobfile

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// ofTasks are the fields of a job file that a task of a workflow has too, with the
// same meaning.
var ofTasks = []string{
	"run", "argv", "setup", "envs", "procs", "num_nodes", "resources", "on", "retry", "checkpoint", "progress", "place",
	"adapt",
	"deadline", "confidence", "reliability", "pattern",
}

// ReadTask reads what is to be run, and what it needs, from a mapping that has
// fields of its caller's own besides.
func ReadTask(v yamlfile.Value, o Options, own ...yamlfile.Field) (*Job, yamlfile.Found, error) {
	d := newDraft(o)
	d.at[""] = Origin{File: v.File()}
	var fields []yamlfile.Field
	for _, f := range d.jobFields() {
		if !slices.Contains(ofTasks, f.name) {
			continue
		}
		fields = append(fields, yamlfile.ReadField(f.name, func(v yamlfile.Value) {
			d.at[f.name] = Origin{File: v.File(), Line: v.Line()}
			f.read(v)
		}))
	}
	found := v.ReadMapping(append(own, fields...)...)
	if v.HasFailed() {
		return nil, found, v.Err()
	}
	if err := d.finishJob(); err != nil {
		return nil, found, err
	}
	return &d.Job, found, nil
}
