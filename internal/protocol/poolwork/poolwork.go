// Package poolwork is what the workers of a pool and the broker say to each other, and how the
// outcomes of items are written down for those who follow a pool. A worker has one report under
// way at a time: what it has done, and what it holds besides. The answer says what it is to drop
// and what it gets. So both agree on who holds what after every answer, also when the one before
// was lost or the broker was started anew. The package must not know how either side works.
package poolwork

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const (
	// Path is where the broker takes reports: at the sockets where it takes agents.
	Path = "/v1/pool-worker"
	// Program stands for the worker in the command of a job: the agent puts its own binary there.
	Program = "godwit-pool-worker"
	// Subcommand makes our binary a worker.
	Subcommand = "pool-worker"
)

// Variables of the environment of a worker, and of the programs that it runs.
const (
	PoolVariable    = "GODWIT_POOL"    // the number of the pool
	ItemVariable    = "GODWIT_ITEM"    // of a program: the item
	BrokerVariable  = "GODWIT_BROKER"  // where the broker is, as package rendezvous takes it
	JobVariable     = "GODWIT_JOB"     // the job that the worker is
	AttemptVariable = "GODWIT_ATTEMPT" // the mark of its attempt
)

// Bounds of what is said at once.
const (
	MaxOutput   = 1 << 20   // bytes that are kept of what one item writes, to either stream
	MaxReported = 4 << 20   // bytes of output in one report, from which on the rest waits for the next
	MaxOutcomes = 10_000    // in one report
	MaxHeld     = 20_000    // items that a worker may say it holds
	MaxItem     = 32 << 10  // bytes of an item
	MaxItems    = 1_000_000 // of a pool
	MaxText     = 8 << 20   // bytes of all items of a pool
	maxMark     = 255
	maxSeconds  = 1e9
)

// Report is what a worker says.
type Report struct {
	Pool     int64      `json:"pool"`
	Job      core.JobID `json:"job"`
	Mark     string     `json:"mark"` // of its attempt
	Outcomes []Outcome  `json:"outcomes,omitempty"`
	Holds    []Range    `json:"holds,omitempty"`
	Seconds  float64    `json:"seconds,omitempty"` // that the outcomes took to run, together
	Leaving  bool       `json:"leaving,omitempty"` // it wants no more
}

// Outcome is what became of an item.
type Outcome struct {
	Item int    `json:"i"`
	Code int    `json:"c,omitempty"` // exit code of the program; 128 + the signal that ended it
	Out  []byte `json:"o,omitempty"`
	Err  []byte `json:"e,omitempty"`
	Cut  bool   `json:"x,omitempty"` // it wrote more than is kept
}

// Answer is what the broker says to a report.
type Answer struct {
	Drop  []Range `json:"drop,omitempty"` // of what it holds: others have done them, or do them
	Items []Range `json:"items,omitempty"`
	Texts []byte  `json:"texts,omitempty"`   // of these, each ended by a line feed
	Wait  int     `json:"wait_ms,omitempty"` // before it reports again, if it holds nothing
	Leave bool    `json:"leave,omitempty"`   // there is nothing more for it
}

// Range is successive items: the first and the last.
type Range [2]int

// EncodeRanges is a list of items as ranges.
func EncodeRanges(items []int) []Range {
	sorted := slices.Clone(items)
	slices.Sort(sorted)
	var list []Range
	for _, item := range sorted {
		if n := len(list); n > 0 && item <= list[n-1][1]+1 {
			list[n-1][1] = item
			continue
		}
		list = append(list, Range{item, item})
	}
	return list
}

// ErrRanges says that what was sent cannot be a list of items.
var ErrRanges = errors.New("not a list of items")

// DecodeRanges is the items of ranges, at most so many.
func DecodeRanges(list []Range, most int) ([]int, error) {
	var items []int
	for _, r := range list {
		if r[0] < 0 || r[1] < r[0] || r[1] >= MaxItems || r[1]-r[0] >= most-len(items) {
			return nil, fmt.Errorf("%w: %v, of at most %d", ErrRanges, r, most)
		}
		for item := r[0]; item <= r[1]; item++ {
			items = append(items, item)
		}
	}
	return items, nil
}

// CheckFields complains about a report that no worker of ours sends.
func (r *Report) CheckFields() error {
	switch {
	case r.Pool <= 0 || r.Job <= 0 || r.Mark == "" || len(r.Mark) > maxMark:
		return fmt.Errorf("a report of job %d to pool %d", r.Job, r.Pool)
	case len(r.Outcomes) > MaxOutcomes:
		return fmt.Errorf("outcomes: %d of them, at most %d", len(r.Outcomes), MaxOutcomes)
	case !(r.Seconds >= 0 && r.Seconds <= maxSeconds): // so that NaN is none
		return fmt.Errorf("seconds: %g", r.Seconds)
	}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if o.Item < 0 || o.Item >= MaxItems || o.Code < 0 || o.Code > 255 || len(o.Out) > MaxOutput ||
			len(o.Err) > MaxOutput {
			return fmt.Errorf("outcomes: item %d ended with %d and wrote %d and %d bytes", o.Item, o.Code, len(o.Out),
				len(o.Err))
		}
	}
	return nil
}

// SplitItems is the items of a text: its lines that are not empty.
func SplitItems(text []byte) [][]byte {
	var items [][]byte
	for line := range bytes.Lines(text) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			items = append(items, line)
		}
	}
	return items
}
