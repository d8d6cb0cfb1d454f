package jobfile

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Component is a part of a job that runs within one cluster, together with the others. What it
// does not name is as for the job.
type Component struct {
	Argv   []string   `json:"argv,omitempty"`
	Procs  int        `json:"procs"`
	Nodes  int        `json:"nodes,omitempty"`
	Memory int64      `json:"memory,omitempty"` // bytes on each host
	On     []string   `json:"on,omitempty"`     // clusters where it may run
	Far    []FarInput `json:"far,omitempty"`    // inputs that are elsewhere, and that it alone gets
}

// MaxComponents is how many parts a job may be written as.
const MaxComponents = 64

// ForComponent is the job as one of its components sees it, on so many cores. A job without
// components has one, of which the scheduler may have made several parts.
func (j *Job) ForComponent(i, procs int) Job {
	part := *j
	part.Min, part.Max, part.Initial, part.Kind, part.Components = procs, procs, 0, core.Rigid, nil
	if part.Nodes > procs {
		part.Nodes = 0
	}
	if i >= len(j.Components) {
		return part
	}
	c := &j.Components[i]
	if len(c.Argv) > 0 {
		part.Argv = c.Argv
	}
	if len(c.On) > 0 {
		part.On = c.On
	}
	if c.Memory > 0 {
		part.Memory = c.Memory
	}
	part.Nodes = c.Nodes
	part.Far = slices.Concat(j.Far, c.Far)
	return part
}

// draftComponent is a component that is being read.
type draftComponent struct {
	Component
	line   string   // run
	inputs []string // of this machine, or at a site by its own name
}

// readComponents reads the parts of a job.
func (d *Draft) readComponents(v yamlfile.Value) {
	for item := range v.EachItem("components, such as {procs: 4, on: leeds}") {
		var c draftComponent
		found := item.ReadMapping(
			yamlfile.ReadField("procs", func(v yamlfile.Value) { c.Procs = v.WholeNumber(1, MaxProcs) }),
			yamlfile.ReadField("num_nodes", func(v yamlfile.Value) { c.Nodes = v.WholeNumber(1, MaxProcs) }),
			yamlfile.ReadField("on", listField("on", "clusters", &c.On, parseName).read),
			yamlfile.ReadField("run", func(v yamlfile.Value) { c.line = ReadScalar(v, ParseText) }),
			yamlfile.ReadField("argv", func(v yamlfile.Value) { c.Argv = d.readCommandWords(v) }),
			yamlfile.ReadField("inputs", func(v yamlfile.Value) { d.readComponentInputs(v, &c) }),
			yamlfile.ReadField("resources", func(v yamlfile.Value) {
				v.ReadMapping(yamlfile.ReadField("memory", func(v yamlfile.Value) { c.Memory = ReadScalar(v, parseMemory) }))
			}),
		)
		found.RequireField("procs", "the number of cores of this part")
		switch {
		case c.line != "" && len(c.Argv) > 0:
			found.FailField("argv", "", "not together with run: give one of the two")
		case c.line != "":
			c.Argv = shellCommand(c.line)
		}
		if c.Nodes > c.Procs {
			found.FailField("num_nodes", fmt.Sprint(c.Nodes), fmt.Sprintf("at most the number of cores (procs), %d", c.Procs))
		}
		d.parts = append(d.parts, c)
	}
}

// readComponentInputs reads them as those of a job are read. Files of this machine are sent along
// with the working directory, which all parts have.
func (d *Draft) readComponentInputs(v yamlfile.Value, c *draftComponent) {
	inputs, far := d.Inputs, d.Far
	d.Inputs, d.Far = nil, nil
	d.readInputs(v)
	c.inputs, c.Far = d.Inputs, d.Far
	d.Inputs, d.Far = inputs, far
}

// settleComponents makes the size of a job that of its components, and refuses what has no meaning
// for several.
func (d *Draft) settleComponents() error {
	if !d.hasField("components") || len(d.parts) == 0 {
		return nil
	}
	if n := len(d.parts); n > MaxComponents {
		return d.fieldError("components", fmt.Sprint(n), fmt.Sprintf("at most %d of them", MaxComponents))
	}
	for _, field := range []string{"procs", "num_nodes", "resources.cpus", "kind", "pattern"} {
		if d.hasField(field) {
			return d.fieldError(field, "", "not together with components: each says its own size")
		}
	}
	total := 0
	for i := range d.parts {
		c := &d.parts[i]
		total += c.Procs
		for _, in := range c.inputs {
			if f, isFar := farByName(in); isFar {
				c.Far = append(c.Far, f)
			} else {
				d.Inputs = append(d.Inputs, in)
			}
		}
		d.Components = append(d.Components, c.Component)
	}
	d.procs = CoreSpan{total, total}
	return nil
}

// checkParts refuses what no job of several parts can have.
func (d *Draft) checkParts() error {
	if err := d.checkComponents(); err != nil {
		at := d.at["components"]
		return &badinput.Error{File: at.File, Line: at.Line, Field: "components", Problem: err.Error()}
	}
	return nil
}

// checkComponents says what is wrong with the parts of a job; nil for a job of one.
func (j *Job) checkComponents() error {
	if len(j.Components) == 0 {
		return nil
	}
	total, names := 0, map[string]string{}
	for _, f := range j.Far {
		names[f.As] = f.From
	}
	for i := range j.Components {
		c := &j.Components[i]
		switch {
		case c.Procs < 1 || c.Procs > MaxProcs:
			return fmt.Errorf("part %d has %d cores, expected 1 to %d", i, c.Procs, MaxProcs)
		case c.Nodes < 0 || c.Nodes > c.Procs || c.Memory < 0:
			return fmt.Errorf("part %d has %d hosts for %d cores, expected at most as many", i, c.Nodes, c.Procs)
		case len(c.Argv) > 0 && c.Argv[0] == "":
			return fmt.Errorf("part %d has no command", i)
		case len(c.Argv) > 0 && j.MPI:
			return fmt.Errorf("part %d has a command of its own, but with mpi: true all parts are one program: "+
				"its command stands before them, as run", i)
		}
		for _, f := range c.Far {
			if err := f.checkInput(false); err != nil {
				return fmt.Errorf("part %d, input %s: expected %w", i, f.From, err)
			}
			if other, known := names[f.As]; known && other != f.From {
				return fmt.Errorf("part %d: %s and %s are both called %s: {from: %s, as: NAME}", i, other, f.From, f.As, f.From)
			}
			names[f.As] = f.From
		}
		total += c.Procs
	}
	switch method := j.Checkpoint.Method; {
	case len(j.Components) > MaxComponents:
		return fmt.Errorf("%d of them, expected at most %d", len(j.Components), MaxComponents)
	case method != "auto" && method != "restart":
		return fmt.Errorf("jobs of several parts are not checkpointed, so not with checkpoint method %s", method)
	case len(j.Leave) > 0:
		return fmt.Errorf("the outputs of several parts come home, and cannot be left at %s", j.Leave[0].To)
	case j.Pattern != nil || j.Kind != core.Rigid || j.Min != total || j.Max != total:
		return fmt.Errorf("together they have %d cores, and neither a pattern nor another size", total)
	}
	return nil
}

// componentError is checkComponents for jobs that come from elsewhere.
func (j *Job) componentError() error {
	if err := j.checkComponents(); err != nil {
		return &badinput.Error{Field: "components", Problem: err.Error()}
	}
	return nil
}
