package perfmodel

import "math"

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
	// InOrder where two or four such sequences are read at once, which the hardware
	// fetches ahead beside each other; 0: not measured, as one.
	TwoStreams  float64 `json:"two_streams_s,omitempty"`
	FourStreams float64 `json:"four_streams_s,omitempty"`
	Written     float64 `json:"written_s"` // InOrder of lines that are written to as well
	// Where lines are fetched while a program computes, the longer of the two counts,
	// and this share of the shorter: when lines are read, and when they are written to.
	Beside        float64 `json:"beside"`
	BesideWritten float64 `json:"beside_written"`
}

// stalls is how long a program would wait for lines if it did nothing else
// meanwhile.
type stalls struct {
	random  float64 // lines at random places
	inOrder float64 // lines in order, and lines that go back because they were written to
	beside  float64 // the part of inOrder that counts even beside computing that takes longer
}

// mostStreams is the largest number of streams that is measured.
const mostStreams = 4

// lineTime is what a line costs where so many streams of lines are read in order at
// once; 0 streams are not known, and taken for one.
func (l Level) lineTime(streams float64) float64 {
	if l.TwoStreams <= 0 || l.FourStreams <= 0 {
		return l.InOrder
	}
	octaves := math.Log2(min(max(streams, 1), mostStreams))
	if octaves <= 1 {
		return l.InOrder + octaves*(l.TwoStreams-l.InOrder)
	}
	return l.TwoStreams + (octaves-1)*(l.FourStreams-l.TwoStreams)
}

// stallSeconds is what a program of this size waits for that reads so many streams at
// once: each line costs what its level needs more than the nearest, which is part of
// every operation.
func (h Host) stallSeconds(m *Memory, n, streams float64) (s stalls) {
	var further Traffic
	for i := max(len(h.Levels)-1, 0) - 1; i >= 0; i-- {
		t := m.MissesAt(n, h.Levels[i].Bytes)
		here := t.subtractTraffic(further) // those that the next level has
		if here.All > 0 {
			near, next := h.Levels[0], h.Levels[i+1]
			s.random += (here.All - here.InOrder) * max(0, next.Latency-near.Latency)
			read := here.InOrder * max(0, next.lineTime(streams)-near.lineTime(streams))
			written := here.Written * max(0, (next.Written-next.InOrder)-(near.Written-near.InOrder))
			s.inOrder += read + written
			s.beside += read*next.Beside + written*next.BesideWritten
		}
		further = t
	}
	return s
}
