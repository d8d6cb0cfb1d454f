package wfformat

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/dag"
)

// needs finds who waits for whom, and for how many bytes.
func (b *builder) needs() {
	makers := b.makers()
	for t := range b.spec.Tasks {
		b.named(t)
		b.read(t, makers)
		if b.err != nil {
			return
		}
	}
	b.w.Needs = dag.Join(b.w.Needs)
}

// makers are the tasks that write each file, once each.
func (b *builder) makers() map[string][]int {
	makers := make(map[string][]int, len(b.size))
	for t := range b.spec.Tasks {
		for _, f := range b.spec.Tasks[t].Outputs {
			if _, known := b.size[f]; !known {
				b.missing(t, "outputFiles", f)
			}
			if n := len(makers[f]); n == 0 || makers[f][n-1] != t {
				makers[f] = append(makers[f], t)
			}
		}
	}
	return makers
}

func (b *builder) missing(t int, field, file string) {
	b.wrong(b.w.Tasks[t].ID, field, file, "a file of workflow.specification.files; it is missing there")
}

// named adds the parents and children that a task lists.
func (b *builder) named(t int) {
	task := &b.spec.Tasks[t]
	for _, id := range task.Parents {
		b.need(t, "parents", id, func(other int) Need { return Need{From: other, To: t, Bytes: dag.NoFile} })
	}
	for _, id := range task.Children {
		b.need(t, "children", id, func(other int) Need { return Need{From: t, To: other, Bytes: dag.NoFile} })
	}
}

func (b *builder) need(t int, field, id string, make func(other int) Need) {
	other, ok := b.index[id]
	switch {
	case !ok:
		b.wrong(b.w.Tasks[t].ID, field, id, "the id of a task")
	case other == t:
		b.wrong(b.w.Tasks[t].ID, field, id, "another task; none can wait for itself")
	default:
		b.w.Needs = append(b.w.Needs, make(other))
	}
}

// read adds the tasks that make what t reads. A file that t lists twice comes once.
// One that several tasks write comes from those of them that are named as parents
// of t; if none is, there is no telling, and the file is taken to be everywhere.
func (b *builder) read(t int, makers map[string][]int) {
	task := &b.spec.Tasks[t]
	for _, f := range slices.Compact(slices.Sorted(slices.Values(task.Inputs))) {
		size, known := b.size[f]
		if !known {
			b.missing(t, "inputFiles", f)
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

// acyclic refuses tasks that wait for each other.
func (b *builder) acyclic() {
	round := dag.Cycle(len(b.w.Tasks), func(yield func(int, int) bool) {
		for _, n := range b.w.Needs {
			if !yield(n.From, n.To) {
				return
			}
		}
	})
	if round == nil {
		return
	}
	value, want := dag.Told(round, func(t int) string { return clip(b.w.Tasks[t].ID) })
	b.wrong(b.w.Tasks[round[len(round)-1]].ID, "parents", value, want)
}
