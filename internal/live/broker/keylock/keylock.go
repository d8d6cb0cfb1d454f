// Package keylock has a lock for each key of any number: who waits for one can be called
// away, and what nobody holds takes no memory. It must not know what is locked.
package keylock

import (
	"context"
	"sync"
)

// Locks lets one in for each key.
type Locks struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// Enter waits until nobody else is in for the key. Whoever was let in calls leave.
func (l *Locks) Enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		l.mu.Lock()
		other, taken := l.busy[key]
		if !taken {
			if l.busy == nil {
				l.busy = map[string]chan struct{}{}
			}
			done := make(chan struct{})
			l.busy[key] = done
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.busy, key)
				l.mu.Unlock()
				close(done)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
