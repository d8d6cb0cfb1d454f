package broker

import (
	"context"
	"sync"
)

// oneAtATime lets one in for each thing: what two jobs want moved is moved once.
type oneAtATime struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// enterFor waits until nobody else is in for the thing. Whoever was let in calls
// leave.
func (o *oneAtATime) enterFor(ctx context.Context, thing string) (leave func(), err error) {
	for {
		o.mu.Lock()
		other, taken := o.busy[thing]
		if !taken {
			if o.busy == nil {
				o.busy = map[string]chan struct{}{}
			}
			done := make(chan struct{})
			o.busy[thing] = done
			o.mu.Unlock()
			return func() {
				o.mu.Lock()
				delete(o.busy, thing)
				o.mu.Unlock()
				close(done)
			}, nil
		}
		o.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
