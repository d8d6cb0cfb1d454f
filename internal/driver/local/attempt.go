package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// attempt is what we know of one attempt. mu is held while something is done
// about it, so that it is started, restarted and released one at a time.
type attempt struct {
	id  driver.ID
	dir string

	mu       sync.Mutex
	clean    bool // its last agent said that all is told
	failures int  // agents in a row that did not live long
	released bool

	known sync.Mutex // guards what others look at meanwhile
	agent *process   // the last that we know of
	cpus  []int
	nice  int
	group group
	stuck string // no agent can be kept running, and why; "": that is not so
}

func (a *attempt) setAgent(p *process) {
	a.known.Lock()
	a.agent = p
	a.known.Unlock()
}

// running is the agent if it lives, as far as we know.
func (a *attempt) running() *process {
	a.known.Lock()
	defer a.known.Unlock()
	if a.agent != nil && a.agent.alive() {
		return a.agent
	}
	return nil
}

// well notes that the last agent told all.
func (a *attempt) well() {
	a.clean, a.failures = true, 0
	a.setStuck("")
}

func (a *attempt) setStuck(why string) {
	a.known.Lock()
	a.stuck = why
	a.known.Unlock()
}

// forget ends watching.
func (a *attempt) forget() {
	a.known.Lock()
	defer a.known.Unlock()
	if a.agent != nil && a.agent.alive() {
		a.agent.forget()
	}
}

// keep remembers where the attempt runs.
func (a *attempt) keep(w *wire.Attempt, g group) {
	a.known.Lock()
	a.cpus, a.nice, a.group = w.CPUs, w.Nice, g
	a.known.Unlock()
}

// attempt gives the record of an attempt; nil if there is none and none is to be
// made, or if the driver is closed.
func (d *Driver) attempt(id driver.ID, make bool) *attempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.attempts[id]
	if a == nil && make && !d.closed {
		a = &attempt{id: id, dir: d.folders.Path(id)}
		d.attempts[id] = a
	}
	return a
}

// Pauses before an agent that died is replaced: none the first time, then ever
// longer ones.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 30 * time.Second
	// tellAfter is the number of agents in a row that must die young before we
	// say that none can be kept running.
	tellAfter = 6
	// oldAge is when an agent that died counts as one that ran.
	oldAge = 10 * time.Second
)

func pause(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	return min(longPause, firstPause<<min(failures-2, 20))
}

// launch has an agent take the attempt's folder, one that rests or a new one, and
// watches it. a.mu is held.
func (d *Driver) launch(a *attempt) error {
	a.known.Lock()
	nice := a.nice
	a.known.Unlock()
	if d.wake(a, nice) {
		return nil
	}
	said, err := newWords(a.dir)
	if err != nil {
		return err
	}
	p, err := d.agent.spawn(a.dir, said.File, d.null, d.clock())
	if err != nil {
		_ = said.Close() // nothing was said
		return err
	}
	p.said, p.nice = said, nice
	d.watch(a, p)
	return nil
}

// watch sees to it that the death of an agent is noticed. a.mu is held.
func (d *Driver) watch(a *attempt, p *process) {
	a.clean = false
	a.setAgent(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		p.forget()
		return
	}
	if p.said.File == nil {
		p.said = wordsOf(p.pid)
	}
	p.at = a
	d.tasks.Go(func() { d.attend(p) })
	if p.line != nil {
		d.tasks.Go(p.hangUp)
	}
}

// attend follows a process through its attempts until it is dead.
func (d *Driver) attend(p *process) {
	for {
		err := p.wait(d.closing)
		through := errors.Is(err, errThrough)
		if err != nil && !through {
			return
		}
		a := d.attemptOf(p)
		if a != nil {
			d.count(a, p)
		}
		if !through {
			if a != nil {
				d.gone(a, p)
			} else {
				p.said.drop()
			}
			return
		}
		p = p.again()
		if a == nil { // it is through with nothing: it has lost its senses
			p.signal(syscall.SIGKILL)
			continue
		}
		d.rest(p)
		a.mu.Lock()
		a.well()
		a.mu.Unlock()
	}
}

// count adds up what agents that ended have used. Where it was not known before,
// only as much as can be news.
func (d *Driver) count(a *attempt, p *process) {
	used, seen := p.spent()
	a.known.Lock()
	if a.group == nil {
		used = min(used-seen, d.opt.Sample*time.Duration(max(1, len(a.cpus))))
	}
	a.known.Unlock()
	d.spent.Add(int64(used))
}

// gone deals with an agent that is dead. One that ended of its own accord, well,
// had nothing more to tell; or it found another at work.
func (d *Driver) gone(a *attempt, p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.said.keep(a.dir)
	if a.released || d.isClosed() {
		return
	}
	if attemptdir.Has(a.dir, attemptdir.KnownFile) {
		a.well()
		return
	}
	status, known := p.end()
	if known && status.Exited() && status.ExitStatus() == 0 {
		if holder := attemptdir.Holder(a.dir); holder == p.pid {
			a.well()
			return
		}
		if other, err := d.agentAt(a); err == nil && other != nil {
			d.watch(a, other)
		} else if p.counted > 0 || attemptdir.Has(a.dir, attemptdir.LockFile) {
			a.clean = false // the one that it gave way to is dead by now, or it left before it came
			d.replace(a, p, fmt.Sprintf("agent %d gave way to one that died", p.pid))
		}
		return
	}
	what := fmt.Sprintf("agent %d died", p.pid)
	if known {
		what = fmt.Sprintf("agent %d died (%s)", p.pid, describe(status))
	}
	d.replace(a, p, what)
}

// replace starts another agent, after a pause if those before died young. a.mu
// is held.
func (d *Driver) replace(a *attempt, dead *process, what string) {
	if !attemptdir.Has(a.dir, attemptdir.AttemptFile) {
		return // somebody removed the folder: there is nothing to tell
	}
	if dead != nil && d.clock.Since(dead.since) >= oldAge {
		a.failures = 0
		a.setStuck("")
	}
	a.failures++
	d.log.Warn("an agent is replaced", "job", a.id.Job, "epoch", a.id.Epoch, "why", what, "time", a.failures)
	if a.failures == tellAfter {
		d.tell(a, what)
	}
	if wait := pause(a.failures); wait > 0 {
		d.later(a, wait)
		return
	}
	d.relaunch(a)
}

// relaunch is launch where nobody waits for the error. a.mu is held.
func (d *Driver) relaunch(a *attempt) {
	if err := d.launch(a); err != nil {
		d.replace(a, nil, err.Error())
	}
}

// later tries again after a pause. a.mu is held.
func (d *Driver) later(a *attempt, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.tasks.Go(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-d.closing:
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.released && !a.clean && !d.isClosed() && a.running() == nil {
			d.relaunch(a)
		}
	})
}

// tell says, once, that no agent can be kept running: its binary is gone, the disk
// is full. It is tried on, ever more rarely.
func (d *Driver) tell(a *attempt, what string) {
	why := fmt.Sprintf("no agent can be kept running: %s%s", what, lastWords(a.dir))
	d.log.Error("an agent cannot be kept running", "job", a.id.Job, "epoch", a.id.Epoch, "why", why)
	a.setStuck(why)
}

// Why says why an attempt that was started does not run.
func (d *Driver) Why(_ context.Context, id driver.ID) (string, error) {
	a := d.attempt(id, false)
	if a == nil {
		return "", nil
	}
	a.known.Lock()
	defer a.known.Unlock()
	return a.stuck, nil
}

func (d *Driver) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}
