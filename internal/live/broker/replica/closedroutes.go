package replica

import (
	"encoding/json"
	"sync"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/route"
)

// ClosedRoutes remembers between which sites files cannot go without the broker. How
// fast the others are, the history knows.
type ClosedRoutes struct {
	mu     sync.Mutex
	closed map[string]core.Time // by the names of their sites: when that was last seen
}

func routeName(from, to string) string { return from + "\n" + to }

// IsOpen says whether files may go from one site to another.
func (c *ClosedRoutes) IsOpen(from, to string, now core.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.closed[routeName(from, to)]
	return !ok || route.IsOpen(at, now)
}

// NoteResult takes in whether a route worked.
func (c *ClosedRoutes) NoteResult(from, to string, worked bool, now core.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if worked {
		delete(c.closed, routeName(from, to))
		return
	}
	if c.closed == nil {
		c.closed = map[string]core.Time{}
	}
	c.closed[routeName(from, to)] = now
}

// LoadJSON reads which are closed; what cannot be read is tried again.
func (c *ClosedRoutes) LoadJSON(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text == "" || json.Unmarshal([]byte(text), &c.closed) != nil {
		c.closed = nil
	}
}

// EncodeJSON is which are closed, as LoadJSON reads it.
func (c *ClosedRoutes) EncodeJSON() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := json.Marshal(c.closed) // nothing but texts and numbers
	return string(text)
}
