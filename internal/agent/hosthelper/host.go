package hosthelper

import (
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/proctree"
)

// remoteHost is what is known of a further host of the attempt.
type remoteHost struct {
	name string

	mu      sync.Mutex
	meter   *ShareMeter
	heard   bool // ever
	table   string
	total   proctree.Usage // over all helpers
	base    proctree.Usage // of that, what the helper that speaks now does not count
	isFirst bool           // what comes next is the first that a helper says
	ranks   []int
	ended   int    // ranks that were there and are no more
	away    string // why nothing is heard; "": something is
	changes []Change
}

// Change is that a host is no longer heard, or is again.
type Change struct {
	Host  string
	Away  string // why; "": it is heard again
	Ranks []int  // that ran there when it was last heard
	Known bool   // it was heard before
}

// helperBegan is told before a helper says anything.
func (h *remoteHost) helperBegan() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isFirst = true
}

// addReading takes in what the helper says, at a time of the keeper's. What a process used that ended between two
// helpers is counted by neither: the sum never goes down, and goes on from there.
func (h *remoteHost) addReading(now time.Duration, r *Reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isFirst {
		h.base, h.isFirst = usedBefore(h.total, r.Usage), false
	}
	h.total = SumOf(h.base, r.Usage)
	for _, rank := range h.ranks {
		if !slices.Contains(r.Ranks, rank) {
			h.ended++
		}
	}
	h.ranks, h.table = r.Ranks, r.Table
	if h.away != "" {
		h.away = ""
		h.changes = append(h.changes, Change{Host: h.name, Known: true})
	}
	h.meter.AddSample(now, h.total.CPU)
	h.heard = true
}

// helperFailed is told when a helper cannot be had: one has ended, or could not be started, and the next as well.
func (h *remoteHost) helperFailed(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away != "" {
		return
	}
	h.away = why
	h.changes = append(h.changes, Change{Host: h.name, Away: why, Ranks: h.ranks, Known: h.heard})
}

// usedBefore is what was used that a helper which says used for the first time does not count.
func usedBefore(total, used proctree.Usage) proctree.Usage {
	return proctree.Usage{
		CPU: max(total.CPU-used.CPU, 0), Ran: max(total.Ran-used.Ran, 0), Delayed: max(total.Delayed-used.Delayed, 0),
		Read: max(total.Read-used.Read, 0), Written: max(total.Written-used.Written, 0),
		DiskRead: max(total.DiskRead-used.DiskRead, 0), DiskWritten: max(total.DiskWritten-used.DiskWritten, 0),
	}
}

// SumOf is what two sets of processes use together.
func SumOf(a, b proctree.Usage) proctree.Usage {
	return proctree.Usage{
		CPU: a.CPU + b.CPU, Ran: a.Ran + b.Ran, Delayed: a.Delayed + b.Delayed, Memory: a.Memory + b.Memory,
		Peak: a.Peak + b.Peak, Read: a.Read + b.Read, Written: a.Written + b.Written, DiskRead: a.DiskRead + b.DiskRead,
		DiskWritten: a.DiskWritten + b.DiskWritten, Processes: a.Processes + b.Processes, Threads: a.Threads + b.Threads,
		Switches: a.Switches + b.Switches,
	}
}
