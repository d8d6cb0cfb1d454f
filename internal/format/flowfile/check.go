package flowfile

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/dag"
)

// Bounds of names, which become parts of the names and keys of jobs.
const (
	maxFlowName = 120
	maxTaskID   = 160
)

// CheckFields says what is wrong with a workflow that somebody else read: one that reading a
// file would not have given.
func (f *Flow) CheckFields() error {
	bad := func(field, value, want string) error { return &badinput.Error{Field: field, Value: value, Want: want} }
	switch {
	case !isNameText(f.Name, maxFlowName):
		return bad("name", f.Name, fmt.Sprintf("1 to %d printable characters", maxFlowName))
	case !filepath.IsAbs(f.Dir) || strings.ContainsAny(f.Dir, "\x00\n"):
		return bad("dir", f.Dir, "the folder of the workflow, as an absolute path")
	case len(f.Tasks) == 0:
		return bad("tasks", "", "at least one task")
	case len(f.Kinds) > len(f.Tasks):
		return bad("kinds", fmt.Sprint(len(f.Kinds)), "no more kinds than tasks")
	}
	seen := make(map[string]bool, len(f.Tasks))
	for i := range f.Tasks {
		t := &f.Tasks[i]
		if err := t.checkTask(len(f.Kinds)); err != nil {
			return err
		}
		if seen[t.ID] {
			return bad("task", t.ID, "an id that no other task has")
		}
		seen[t.ID] = true
	}
	for _, n := range f.Needs {
		if n.From < 0 || n.To < 0 || n.From >= len(f.Tasks) || n.To >= len(f.Tasks) || n.Bytes < dag.NoFile || n.Files < 0 {
			return bad("needs", fmt.Sprintf("%d → %d", n.From, n.To), "two tasks, and a number of bytes")
		}
	}
	if round := dag.FindCycle(len(f.Tasks), f.eachNeed); round != nil {
		value, want := dag.DescribeCycle(round, func(t int) string { return f.Tasks[t].ID })
		return bad("needs", value, want)
	}
	return nil
}

func (f *Flow) eachNeed(yield func(int, int) bool) {
	for _, n := range f.Needs {
		if !yield(n.From, n.To) {
			return
		}
	}
}

func (t *Task) checkTask(kinds int) error {
	bad := func(field, value, want string) error {
		return &badinput.Error{Field: fmt.Sprintf("task %q %s", t.ID, field), Value: value, Want: want}
	}
	switch {
	case !isNameText(t.ID, maxTaskID) || strings.Contains(t.ID, "/"):
		return bad("id", t.ID, fmt.Sprintf("1 to %d printable characters without /", maxTaskID))
	case t.Kind < 0 || t.Kind >= kinds:
		return bad("kind", fmt.Sprint(t.Kind), "one of the kinds")
	case t.Job == nil:
		return bad("job", "", "what to run")
	case t.Job.Array.Len() > 0 || len(t.Job.After) > 0 || t.Job.Stdin || t.Job.Key != "" || t.Job.StartOn != "":
		return bad("job", "", "a job without array, after, standard input, key or cluster to start on")
	case t.Estimate < 0:
		return bad("estimate", t.Estimate.String(), "a time above 0")
	}
	for _, cluster := range slices.Sorted(maps.Keys(t.On)) {
		if t.On[cluster] <= 0 {
			return bad("estimate", cluster, "a time above 0")
		}
	}
	for _, in := range t.Inputs {
		if !isInside(in) {
			return bad("inputs", in, "a file within the folder of the workflow")
		}
	}
	for _, out := range t.Outputs {
		if !isInside(out.Name) || out.Bytes < 0 {
			return bad("outputs", out.Name, "a file within the folder of the workflow")
		}
	}
	if err := t.Job.CheckFields(); err != nil {
		return fmt.Errorf("task %q: %w", t.ID, err)
	}
	return nil
}

func isInside(name string) bool {
	return name == path.Clean(name) && name != "." && filepath.IsLocal(name) && !strings.ContainsAny(name, "\x00\n")
}

// isNameText tells whether a text is short and has no control characters.
func isNameText(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f })
}
