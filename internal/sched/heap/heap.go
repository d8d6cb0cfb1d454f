// Package heap is the binary heap that plans, networks and simulations share: typed, and without
// a comparison function, since the items know their order. It decides nothing itself: with a
// total order the same items come out in the same sequence, however they went in.
package heap

// Item knows its order and is told where it stands, so that it can be taken out or moved
// without a search. Where nobody asks for that, SetPosition does nothing.
type Item[T any] interface {
	IsBefore(T) bool
	SetPosition(i int)
}

// Heap is a binary heap with the foremost item first.
type Heap[T Item[T]] []T

// Push adds an item.
func (h *Heap[T]) Push(x T) {
	*h = append(*h, x)
	h.riseFrom(len(*h) - 1)
}

// Pop takes out the foremost item.
func (h *Heap[T]) Pop() T { return h.RemoveAt(0) }

// RemoveAt takes out the item at i, whose position is then -1.
func (h *Heap[T]) RemoveAt(i int) T {
	s := *h
	x, last := s[i], len(s)-1
	s[i] = s[last]
	clear(s[last:])
	*h = s[:last]
	if i < last {
		h.FixAt(i)
	}
	x.SetPosition(-1)
	return x
}

// FixAt restores the order after the item at i has changed.
func (h *Heap[T]) FixAt(i int) {
	if !h.sinkFrom(i) {
		h.riseFrom(i)
	}
}

// FixAll restores the order after any items have changed.
func (h *Heap[T]) FixAll() {
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sinkFrom(i)
	}
}

func (h *Heap[T]) riseFrom(i int) {
	s := *h
	x := s[i]
	for i > 0 {
		up := (i - 1) / 2
		if !x.IsBefore(s[up]) {
			break
		}
		s[i] = s[up]
		s[i].SetPosition(i)
		i = up
	}
	s[i] = x
	x.SetPosition(i)
}

// sinkFrom reports whether the item moved.
func (h *Heap[T]) sinkFrom(i int) bool {
	s := *h
	x, from := s[i], i
	for 2*i+1 < len(s) {
		down := 2*i + 1
		if down+1 < len(s) && s[down+1].IsBefore(s[down]) {
			down++
		}
		if !s[down].IsBefore(x) {
			break
		}
		s[i] = s[down]
		s[i].SetPosition(i)
		i = down
	}
	s[i] = x
	x.SetPosition(i)
	return i > from
}
