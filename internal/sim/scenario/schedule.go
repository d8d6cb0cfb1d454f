package scenario

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Which numbers are drawn: each question has its own.
const (
	backgroundDraws uint64 = iota + 1
	failureDraws

	drawGap
	drawProcs
	drawRun
)

// hashFraction is a number in [0, 1) that depends on the seed and the keys alone,
// so that streams need no state and do not disturb one another.
func hashFraction(seed uint64, keys ...uint64) float64 {
	h := workload.ScrambleBits(seed)
	for _, k := range keys {
		h = workload.ScrambleBits(h + k)
	}
	return float64(h>>11) / (1 << 53)
}

// due is something of one stream that happens at a moment.
type due struct {
	at    core.Time
	index int32 // of the stream
	late  bool  // after the others of the same moment
	count uint32
}

func (d due) isBefore(e due) bool {
	switch {
	case d.at != e.at:
		return d.at < e.at
	case d.late != e.late:
		return e.late
	}
	return d.index < e.index
}

// schedule is a binary heap, the earliest first; every stream has one entry.
type schedule []due

func (s *schedule) pushDue(d due) {
	h := append(*s, d)
	i := len(h) - 1
	for i > 0 && d.isBefore(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = d
	*s = h
}

func (s *schedule) popDue() due {
	h := *s
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1].isBefore(h[child]) {
			child++
		}
		if child >= len(h) || last.isBefore(h[child]) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	*s = h
	return first
}
