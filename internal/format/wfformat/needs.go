package wfformat

import (
	"cmp"
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
	slices.SortFunc(b.w.Needs, func(x, y Need) int {
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(x.From, y.From), cmp.Compare(y.Bytes, x.Bytes))
	})
	// The first of each pair has the largest file.
	b.w.Needs = slices.CompactFunc(b.w.Needs, func(x, y Need) bool { return x.From == y.From && x.To == y.To })
}

// makers are the tasks that write each file.
func (b *builder) makers() map[string][]int {
	makers := make(map[string][]int, len(b.size))
	for t := range b.spec.Tasks {
		for _, f := range b.spec.Tasks[t].Outputs {
			if _, known := b.size[f]; !known {
				b.missing(t, "outputFiles", f)
			}
			makers[f] = append(makers[f], t)
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
		b.need(t, "parents", id, func(other int) Need { return Need{other, t, NoFile} })
	}
	for _, id := range task.Children {
		b.need(t, "children", id, func(other int) Need { return Need{t, other, NoFile} })
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

// read adds the tasks that make what t reads. A file that several tasks write
// comes from those of them that t names as parents; if it names none, there is
// no telling, and the file is taken to be everywhere.
func (b *builder) read(t int, makers map[string][]int) {
	task := &b.spec.Tasks[t]
	for _, f := range task.Inputs {
		size, known := b.size[f]
		if !known {
			b.missing(t, "inputFiles", f)
			return
		}
		from := makers[f]
		for _, m := range from {
			if m != t && (len(from) == 1 || slices.Contains(task.Parents, b.w.Tasks[m].ID)) {
				b.w.Needs = append(b.w.Needs, Need{m, t, size})
			}
		}
	}
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
