package netflow

// An entry of a heap knows its order and is told where it stands, so that it
// can be taken out or moved without a search.
type entry[T any] interface {
	before(T) bool
	place(i int)
}

// A heap is a binary heap with the foremost entry first.
type heap[T entry[T]] []T

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	h.rise(len(*h) - 1)
}

// remove takes out the entry at i.
func (h *heap[T]) remove(i int) T {
	s := *h
	x, last := s[i], len(s)-1
	s[i] = s[last]
	clear(s[last:])
	*h = s[:last]
	if i < last {
		h.fix(i)
	}
	x.place(-1)
	return x
}

// fix restores the order after the entry at i has changed.
func (h *heap[T]) fix(i int) {
	if !h.sink(i) {
		h.rise(i)
	}
}

func (h *heap[T]) rise(i int) {
	s := *h
	x := s[i]
	for i > 0 {
		up := (i - 1) / 2
		if !x.before(s[up]) {
			break
		}
		s[i] = s[up]
		s[i].place(i)
		i = up
	}
	s[i] = x
	x.place(i)
}

// sink reports whether the entry moved.
func (h *heap[T]) sink(i int) bool {
	s := *h
	x, from := s[i], i
	for 2*i+1 < len(s) {
		down := 2*i + 1
		if down+1 < len(s) && s[down+1].before(s[down]) {
			down++
		}
		if !s[down].before(x) {
			break
		}
		s[i] = s[down]
		s[i].place(i)
		i = down
	}
	s[i] = x
	x.place(i)
	return i > from
}
