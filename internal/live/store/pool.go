package store

import (
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// PoolState is how far a pool of work items is.
type PoolState string

// The states of a pool.
const (
	PoolRunning    PoolState = "running"
	PoolCancelling PoolState = "cancelling" // its workers are being cancelled
	PoolCompleted  PoolState = "completed"  // all items succeeded
	PoolFailed     PoolState = "failed"     // some did not, or its workers could not be run
	PoolCancelled  PoolState = "cancelled"
)

// IsOver reports whether nothing happens to a pool in this state any more.
func (s PoolState) IsOver() bool { return s != PoolRunning && s != PoolCancelling }

// Pool is a pool of work items as its user sees it. Fields may be added: what an older version
// wrote lacks them.
type Pool struct {
	ID        int64     `json:"-"`
	Owner     uint32    `json:"-"` // the user by number, of a broker of several; 0: the broker's own
	Key       string    `json:"-"` // made up by its submitter; an owner has one pool of a key
	User      string    `json:"-"`
	Submitted core.Time `json:"-"`
	// Spec is the pool as it was submitted, with its items; nil in a batch leaves what is there.
	// Lists leave it out: it is long.
	Spec []byte `json:"-"`

	Name   string    `json:"name"`
	State  PoolState `json:"state"`
	Why    string    `json:"why,omitempty"`  // it is in this state
	Work   string    `json:"work,omitempty"` // tree in the depot: the working directory
	Ended  core.Time `json:"ended,omitempty"`
	Items  int       `json:"items"`
	Done   int       `json:"done,omitempty"`   // that were counted, and succeeded
	Failed int       `json:"failed,omitempty"` // that were counted, and did not

	Output  int64        `json:"output,omitempty"`  // bytes of its outcomes, as they are written down
	Seconds float64      `json:"seconds,omitempty"` // that all counted items took together
	Started int          `json:"started,omitempty"` // workers that were ever started
	Workers []core.JobID `json:"workers,omitempty"` // the jobs of those that have not ended
}

// PoolChunkItems is how many successive items of a pool have one record of what became of them.
const PoolChunkItems = 4096

// PoolChunk is what became of PoolChunkItems items of a pool.
type PoolChunk struct {
	Pool    int64         `json:"-"`
	N       int           `json:"-"`       // from 0: the first item is N · PoolChunkItems
	Counted []uint64      `json:"counted"` // bitmap
	Failed  []PoolFailure `json:"failed,omitempty"`
}

// PoolFailure is an item that failed.
type PoolFailure struct {
	Item int  `json:"i"`
	Code int  `json:"c,omitempty"`
	Lost bool `json:"l,omitempty"` // its workers were lost, again and again
}

// ErrNoPool is the answer to who asks for a pool that there is not.
var ErrNoPool = errors.New("no such pool")

// checkPools says what makes pools of a batch impossible to store.
func (b *Batch) checkPools() error {
	for i := range b.Pools {
		if p := &b.Pools[i]; p.ID <= 0 || p.Key == "" || p.State == "" {
			return fmt.Errorf("a pool has number %d, key %q and state %q", p.ID, p.Key, p.State)
		}
	}
	for i := range b.PoolChunks {
		if c := &b.PoolChunks[i]; c.Pool <= 0 || c.N < 0 {
			return fmt.Errorf("chunk %d is of pool %d", c.N, c.Pool)
		}
	}
	return nil
}
