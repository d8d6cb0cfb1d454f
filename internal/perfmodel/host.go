package perfmodel

// Host is how fast a host was measured to be. All its values are above 0.
type Host struct {
	Name string `json:"name,omitempty"`
	// Operations a second of a mix of simple instructions in registers, and
	// floating-point operations.
	Operations float64 `json:"operations_per_s"`
	Flops      float64 `json:"flops_per_s"`
	// Levels are what lines cost by how many bytes are touched between two uses of
	// them: nearest first, at the end the memory. There may be more of them than
	// caches.
	Levels []Level `json:"levels"`
	Speed  float64 `json:"speed"`        // relative to the reference host; see package calibrate
	Fault  float64 `json:"page_fault_s"` // what the first touch of a page costs
	Page   float64 `json:"page_bytes"`
	Spread float64 `json:"spread"` // relative: how much the same work takes longer or shorter from one time to the next
}

// Level is the part of caches and memory that holds what comes back within so many
// bytes.
type Level struct {
	Bytes   float64 `json:"bytes,omitempty"` // 0: the memory, which is large enough
	Latency float64 `json:"latency_s"`       // of a line at a random place
	InOrder float64 `json:"in_order_s"`      // of a line when many are read one after the other
}

// stall is how long a program of this size would wait for lines if it did nothing
// else meanwhile, for those at random places and for those in order: each costs
// what its level needs more than the nearest, which is part of every operation.
func (h Host) stall(m *Memory, n float64) (random, inOrder float64) {
	for i := range max(len(h.Levels)-1, 0) {
		all, ordered := m.Misses(n, h.Levels[i].Bytes)
		if i+2 < len(h.Levels) { // those that the next level has
			further, furtherOrdered := m.Misses(n, h.Levels[i+1].Bytes)
			all = max(0, all-further)
			ordered = min(max(0, ordered-furtherOrdered), all)
		}
		near, next := h.Levels[0], h.Levels[i+1]
		random += (all - ordered) * max(0, next.Latency-near.Latency)
		inOrder += ordered * max(0, next.InOrder-near.InOrder)
	}
	return random, inOrder
}
