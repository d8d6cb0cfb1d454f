package perfmodel

// Host is how fast a host was measured to be. All its values are above 0.
type Host struct {
	Name string `json:"name,omitempty"`
	// Operations a second of a mix of simple instructions in registers, and
	// floating-point operations.
	Operations float64 `json:"operations_per_s"`
	Flops      float64 `json:"flops_per_s"`
	// Levels are its caches, nearest first, and at the end its memory.
	Levels []Level `json:"levels"`
	Speed  float64 `json:"speed"`        // relative to the reference host; see package calibrate
	Fault  float64 `json:"page_fault_s"` // what the first touch of a page costs
	Page   float64 `json:"page_bytes"`
}

// Level is a cache, or the memory.
type Level struct {
	Bytes   float64 `json:"bytes,omitempty"` // 0: the memory, which is large enough
	Latency float64 `json:"latency_s"`       // of a line at a random place
	InOrder float64 `json:"in_order_s"`      // of a line when many are read one after the other
}

// stall is how long a program of this size would wait for lines if it did
// nothing else meanwhile: each miss of a level costs what the next one needs more
// than the nearest, which is part of every operation.
func (h Host) stall(m *Memory, n float64) float64 {
	sum := 0.0
	for i := range max(len(h.Levels)-1, 0) {
		all, inOrder := m.Misses(n, h.Levels[i].Bytes)
		if i+2 < len(h.Levels) { // those that the next level has
			further, furtherInOrder := m.Misses(n, h.Levels[i+1].Bytes)
			all, inOrder = max(0, all-further), max(0, inOrder-furtherInOrder)
			inOrder = min(inOrder, all)
		}
		near, next := h.Levels[0], h.Levels[i+1]
		sum += (all-inOrder)*max(0, next.Latency-near.Latency) + inOrder*max(0, next.InOrder-near.InOrder)
	}
	return sum
}
