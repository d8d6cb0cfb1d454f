package redist

import "iter"

// Extent is bytes that lie together on both processes.
type Extent struct{ Old, New, Bytes int64 }

// Extents are the bytes that move, by where they lie in the memory of both processes, which
// hold nothing but their elements.
func (t Transfer) Extents() iter.Seq[Extent] {
	return func(yield func(Extent) bool) {
		for _, s := range t.slow {
			if t.isWhole() {
				w := t.oldWidth * t.element
				if !yield(Extent{s.Old * w, s.New * w, s.Count * w}) {
					return
				}
				continue
			}
			for i := range s.Count {
				for _, f := range t.fast {
					if !yield(Extent{((s.Old+i)*t.oldWidth + f.Old) * t.element,
						((s.New+i)*t.newAll + f.New) * t.element, f.Count * t.element}) {
						return
					}
				}
			}
		}
	}
}
