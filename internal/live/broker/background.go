package broker

import "sync"

// background is what runs beside the loop and is waited for when the broker ends. Requests that
// are still being answered then may begin something too: once nothing runs any longer nothing
// more is begun, since the store and the depot are closed next.
type background struct {
	mu      sync.Mutex
	running int
	isOver  bool
	drained chan struct{} // closed when nothing runs any longer; nil: nobody waits
}

// startTask runs f beside the caller, unless everything is over.
func (g *background) startTask(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOver {
		return
	}
	g.running++
	go func() {
		defer g.finishOne()
		f()
	}()
}

func (g *background) finishOne() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 && g.drained != nil {
		g.isOver = true
		close(g.drained)
		g.drained = nil
	}
}

// waitForAll waits until nothing runs any longer.
func (g *background) waitForAll() {
	g.mu.Lock()
	if g.running == 0 {
		g.isOver = true
		g.mu.Unlock()
		return
	}
	drained := make(chan struct{})
	g.drained = drained
	g.mu.Unlock()
	<-drained
}
