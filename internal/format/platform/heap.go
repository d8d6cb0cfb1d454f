package platform

// A heap is a binary heap with its least element first.
type heap[T interface{ compare(T) int }] []T

func (h *heap[T]) pushItem(x T) {
	s := append(*h, x)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if s[up].compare(x) <= 0 {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = x
	*h = s
}

func (h *heap[T]) popItem() T {
	s := *h
	least, x := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	i := 0
	for 2*i+1 < len(s) {
		down := 2*i + 1
		if down+1 < len(s) && s[down+1].compare(s[down]) < 0 {
			down++
		}
		if x.compare(s[down]) <= 0 {
			break
		}
		s[i] = s[down]
		i = down
	}
	if len(s) > 0 {
		s[i] = x
	}
	*h = s
	return least
}
