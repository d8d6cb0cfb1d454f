// Package depotfence says what the clusters may ask the depots of users about: the trees of the
// attempts that they run, and what they brought themselves. It must not know which trees an
// attempt needs.
package depotfence

import (
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// Fences has a fence for each depot and who asks it, and what was granted for attempts.
type Fences struct {
	mu       sync.Mutex
	of       map[fenceKey]*httpdepot.Fence
	attempts map[driver.ID]func() // revokes what was granted for an attempt
}

// fenceKey is whose depot is asked from where.
type fenceKey struct {
	caller string // word of the cluster, see rendezvous.CallerWord
	owner  uint32
}

// FenceFor says what may be asked about the depot of an owner from a cluster.
func (f *Fences) FenceFor(caller string, owner uint32, chunks *depot.Store) *httpdepot.Fence {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := fenceKey{caller, owner}
	if f.of == nil {
		f.of, f.attempts = map[fenceKey]*httpdepot.Fence{}, map[driver.ID]func(){}
	}
	if f.of[key] == nil {
		f.of[key] = httpdepot.NewFence(chunks)
	}
	return f.of[key]
}

// SetGrant remembers how to revoke what was granted for an attempt; nil revokes it.
func (f *Fences) SetGrant(id driver.ID, revoke func()) {
	f.mu.Lock()
	before := f.attempts[id]
	switch {
	case revoke == nil:
		delete(f.attempts, id)
	case f.attempts == nil: // there is no depot
	default:
		f.attempts[id] = revoke
	}
	f.mu.Unlock()
	if before != nil {
		before()
	}
}
