package local

import (
	"slices"
	"syscall"
	"time"
)

// Starting an agent costs several times what it does for a short program. So one
// that is through with an attempt is kept for a moment, and handed the folder of
// the next (see wire.LineVariable). It then holds nothing: no lock, no child,
// nothing to tell; it may be ended at any moment. Attempts never share an agent
// at the same time: whoever dies takes one attempt with it.

// idleTimeout is how long an agent without an attempt is kept.
const idleTimeout = time.Second

// keepIdleAgent keeps an agent that is through with its attempt for the next.
func (d *Driver) keepIdleAgent(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.idle) >= d.opt.Slots || p.said.hasOutput() {
		p.sendSignal(syscall.SIGKILL)
		return
	}
	d.idle = append(d.idle, p)
	p.tired = time.AfterFunc(idleTimeout, func() {
		if d.removeIdleAgent(p) {
			p.sendSignal(syscall.SIGKILL)
		}
	})
}

// removeIdleAgent takes an agent out of those that rest; false if it is not among them.
func (d *Driver) removeIdleAgent(p *process) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.idle, p)
	if i >= 0 {
		d.idle = slices.Delete(d.idle, i, i+1)
		p.tired.Stop()
	}
	return i >= 0
}

// wakeIdleAgent gives the attempt to an agent that rests, the one that was busy last; false
// if there is none. a.mu is held. That the agent dies is noticed as ever.
func (d *Driver) wakeIdleAgent(a *attempt, nice int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range slices.Backward(d.idle) {
		if p.nice != nice { // it cannot become less nice
			continue
		}
		d.idle = slices.Delete(d.idle, i, i+1)
		p.tired.Stop()
		p.since, p.at, a.clean = d.clock(), a, false
		a.setAgent(p)
		_, _ = p.line.Write([]byte(a.dir)) // there is room; or else it is dead, which is noticed
		return true
	}
	return false
}

// attemptOf is the attempt that an agent which is dead was at; nil: it rested.
func (d *Driver) attemptOf(p *process) *attempt {
	d.removeIdleAgent(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.at
}
