package wfformat

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/dag"
)

// findNeeds finds who waits for whom, and for how many bytes.
func (b *builder) findNeeds() {
	makers := b.findMakers()
	for t := range b.spec.Tasks {
		b.addNamedNeeds(t)
		b.addFileNeeds(t, makers)
		if b.err != nil {
			return
		}
	}
	b.w.Needs = dag.JoinNeeds(b.w.Needs)
}

// findMakers are the tasks that write each file, once each.
func (b *builder) findMakers() map[string][]int {
	makers := make(map[string][]int, len(b.size))
	for t := range b.spec.Tasks {
		for _, f := range b.spec.Tasks[t].Outputs {
			if _, known := b.size[f]; !known {
				b.missingFile(t, "outputFiles", f)
			}
			if n := len(makers[f]); n == 0 || makers[f][n-1] != t {
				makers[f] = append(makers[f], t)
			}
		}
	}
	return makers
}

func (b *builder) missingFile(t int, field, file string) {
	b.taskError(b.w.Tasks[t].ID, field, file, "a file of workflow.specification.files; it is missing there")
}

// addNamedNeeds adds the parents and children that a task lists.
func (b *builder) addNamedNeeds(t int) {
	task := &b.spec.Tasks[t]
	for _, id := range task.Parents {
		b.addNeed(t, "parents", id, func(other int) Need { return Need{From: other, To: t, Bytes: dag.NoFile} })
	}
	for _, id := range task.Children {
		b.addNeed(t, "children", id, func(other int) Need { return Need{From: t, To: other, Bytes: dag.NoFile} })
	}
}

func (b *builder) addNeed(t int, field, id string, make func(other int) Need) {
	other, ok := b.index[id]
	switch {
	case !ok:
		b.taskError(b.w.Tasks[t].ID, field, id, "the id of a task")
	case other == t:
		b.taskError(b.w.Tasks[t].ID, field, id, "another task; none can wait for itself")
	default:
		b.w.Needs = append(b.w.Needs, make(other))
	}
}

// addFileNeeds adds the tasks that make what t reads. A file that t lists twice comes once.
// One that several tasks write comes from those of them that are named as parents
// of t; if none is, there is no telling, and the file is taken to be everywhere.
func (b *builder) addFileNeeds(t int, makers map[string][]int) {
	task := &b.spec.Tasks[t]
	for _, f := range slices.Compact(slices.Sorted(slices.Values(task.Inputs))) {
		size, known := b.size[f]
		if !known {
			b.missingFile(t, "inputFiles", f)
			return
		}
		from := makers[f]
		for _, m := range from {
			if m != t && (len(from) == 1 || b.isParent(m, t)) {
				b.w.Needs = append(b.w.Needs, Need{From: m, To: t, Bytes: size, Files: 1})
			}
		}
	}
}

// isParent tells whether the file names one task as the parent of another, at
// either of the two.
func (b *builder) isParent(parent, child int) bool {
	return slices.Contains(b.spec.Tasks[child].Parents, b.w.Tasks[parent].ID) ||
		slices.Contains(b.spec.Tasks[parent].Children, b.w.Tasks[child].ID)
}

// checkAcyclic refuses tasks that wait for each other.
func (b *builder) checkAcyclic() {
	round := dag.FindCycle(len(b.w.Tasks), func(yield func(int, int) bool) {
		for _, n := range b.w.Needs {
			if !yield(n.From, n.To) {
				return
			}
		}
	})
	if round == nil {
		return
	}
	value, want := dag.DescribeCycle(round, func(t int) string { return badinput.ClipID(b.w.Tasks[t].ID) })
	b.taskError(b.w.Tasks[round[len(round)-1]].ID, "parents", value, want)
}
