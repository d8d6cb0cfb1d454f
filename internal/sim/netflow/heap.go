package netflow

// An entry of a heap knows its order and is told where it stands, so that it
// can be taken out or moved without a search.
type entry[T any] interface {
	isBefore(T) bool
	setPosition(i int)
}

// A heap is a binary heap with the foremost entry first.
type heap[T entry[T]] []T

func (h *heap[T]) pushItem(x T) {
	*h = append(*h, x)
	h.riseFrom(len(*h) - 1)
}

// removeAt takes out the entry at i.
func (h *heap[T]) removeAt(i int) T {
	s := *h
	x, last := s[i], len(s)-1
	s[i] = s[last]
	clear(s[last:])
	*h = s[:last]
	if i < last {
		h.fixAt(i)
	}
	x.setPosition(-1)
	return x
}

// fixAt restores the order after the entry at i has changed.
func (h *heap[T]) fixAt(i int) {
	if !h.sinkFrom(i) {
		h.riseFrom(i)
	}
}

func (h *heap[T]) riseFrom(i int) {
	s := *h
	x := s[i]
	for i > 0 {
		up := (i - 1) / 2
		if !x.isBefore(s[up]) {
			break
		}
		s[i] = s[up]
		s[i].setPosition(i)
		i = up
	}
	s[i] = x
	x.setPosition(i)
}

// sinkFrom reports whether the entry moved.
func (h *heap[T]) sinkFrom(i int) bool {
	s := *h
	x, from := s[i], i
	for 2*i+1 < len(s) {
		down := 2*i + 1
		if down+1 < len(s) && s[down+1].isBefore(s[down]) {
			down++
		}
		if !s[down].isBefore(x) {
			break
		}
		s[i] = s[down]
		s[i].setPosition(i)
		i = down
	}
	s[i] = x
	x.setPosition(i)
	return i > from
}
