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

// runningAgent is the agent if it lives, as far as we know.
func (a *attempt) runningAgent() *process {
	a.known.Lock()
	defer a.known.Unlock()
	if a.agent != nil && a.agent.isAlive() {
		return a.agent
	}
	return nil
}

// recordSuccess notes that the last agent told all.
func (a *attempt) recordSuccess() {
	a.clean, a.failures = true, 0
	a.setStuck("")
}

func (a *attempt) setStuck(why string) {
	a.known.Lock()
	a.stuck = why
	a.known.Unlock()
}

// forgetAgent ends watching.
func (a *attempt) forgetAgent() {
	a.known.Lock()
	defer a.known.Unlock()
	if a.agent != nil && a.agent.isAlive() {
		a.agent.stopWaiting()
	}
}

// recordPlacement remembers where the attempt runs.
func (a *attempt) recordPlacement(w *wire.Attempt, g group) {
	a.known.Lock()
	a.cpus, a.nice, a.group = w.CPUs, w.Nice, g
	a.known.Unlock()
}

// attemptRecord gives the record of an attempt; nil if there is none and none is to be
// made, or if the driver is closed.
func (d *Driver) attemptRecord(id driver.ID, make bool) *attempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.attempts[id]
	if a == nil && make && !d.closed {
		a = &attempt{id: id, dir: d.folders.AttemptPath(id)}
		d.attempts[id] = a
	}
	return a
}

// Pauses before an agent that died is replaced: none the first time, then ever
// longer ones.
const (
	minRestartDelay = 100 * time.Millisecond
	maxRestartDelay = 30 * time.Second
	// failuresUntilReport is the number of agents in a row that must die young before we
	// say that none can be kept running.
	failuresUntilReport = 6
	// youngAgentAge is when an agent that died counts as one that ran.
	youngAgentAge = 10 * time.Second
)

func restartDelay(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	return min(maxRestartDelay, minRestartDelay<<min(failures-2, 20))
}

// launchAgent has an agent take the attempt's folder, one that rests or a new one, and
// watches it. a.mu is held.
func (d *Driver) launchAgent(a *attempt) error {
	a.known.Lock()
	nice := a.nice
	a.known.Unlock()
	if d.wakeIdleAgent(a, nice) {
		return nil
	}
	said, err := newWords(a.dir)
	if err != nil {
		return err
	}
	p, err := d.agent.spawnAgent(a.dir, said.File, d.null, d.clock())
	if err != nil {
		_ = said.Close() // nothing was said
		return err
	}
	p.said, p.nice = said, nice
	d.watchAgent(a, p)
	return nil
}

// watchAgent sees to it that the death of an agent is noticed. a.mu is held.
func (d *Driver) watchAgent(a *attempt, p *process) {
	a.clean = false
	a.setAgent(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		p.stopWaiting()
		return
	}
	if p.said.File == nil {
		p.said = wordsOf(p.pid)
	}
	p.at = a
	d.tasks.Go(func() { d.followProcess(p) })
	if p.line != nil {
		d.tasks.Go(p.hangUp)
	}
}

// followProcess follows a process through its attempts until it is dead.
func (d *Driver) followProcess(p *process) {
	for {
		err := p.awaitDeath(d.closing)
		through := errors.Is(err, errThrough)
		if err != nil && !through {
			return
		}
		a := d.attemptOf(p)
		if a != nil {
			d.countUsage(a, p)
		}
		if !through {
			if a != nil {
				d.agentDied(a, p)
			} else {
				p.said.discardOutput()
			}
			return
		}
		p = p.idleCopy()
		if a == nil { // it is through with nothing: it has lost its senses
			p.sendSignal(syscall.SIGKILL)
			continue
		}
		d.keepIdleAgent(p)
		a.mu.Lock()
		a.recordSuccess()
		a.mu.Unlock()
	}
}

// countUsage adds up what agents that ended have used. Where it was not known before,
// only as much as can be news.
func (d *Driver) countUsage(a *attempt, p *process) {
	used, seen := p.cpuSpent()
	a.known.Lock()
	if a.group == nil {
		used = min(used-seen, d.opt.Sample*time.Duration(max(1, len(a.cpus))))
	}
	a.known.Unlock()
	d.spent.Add(int64(used))
}

// agentDied deals with an agent that is dead. One that ended of its own accord, well,
// had nothing more to tell; or it found another at work.
func (d *Driver) agentDied(a *attempt, p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.said.saveTo(a.dir)
	if a.released || d.isClosed() {
		return
	}
	if attemptdir.HasFile(a.dir, attemptdir.KnownFile) {
		a.recordSuccess()
		return
	}
	status, known := p.exitStatus()
	if known && status.Exited() && status.ExitStatus() == 0 {
		if holder := attemptdir.LockHolder(a.dir); holder == p.pid {
			a.recordSuccess()
			return
		}
		if other, err := d.agentAt(a); err == nil && other != nil {
			d.watchAgent(a, other)
		} else if p.counted > 0 || attemptdir.HasFile(a.dir, attemptdir.LockFile) {
			a.clean = false // the one that it gave way to is dead by now, or it left before it came
			d.replaceAgent(a, p, fmt.Sprintf("agent %d gave way to one that died", p.pid))
		}
		return
	}
	what := fmt.Sprintf("agent %d died", p.pid)
	if known {
		what = fmt.Sprintf("agent %d died (%s)", p.pid, describeStatus(status))
	}
	d.replaceAgent(a, p, what)
}

// replaceAgent starts another agent, after a pause if those before died young. a.mu
// is held.
func (d *Driver) replaceAgent(a *attempt, dead *process, what string) {
	if !attemptdir.HasFile(a.dir, attemptdir.AttemptFile) {
		return // somebody removed the folder: there is nothing to tell
	}
	if dead != nil && d.clock.Since(dead.since) >= youngAgentAge {
		a.failures = 0
		a.setStuck("")
	}
	a.failures++
	d.log.Warn("an agent is replaced", "job", a.id.Job, "epoch", a.id.Epoch, "why", what, "time", a.failures)
	if a.failures == failuresUntilReport {
		d.reportStuck(a, what)
	}
	if wait := restartDelay(a.failures); wait > 0 {
		d.relaunchLater(a, wait)
		return
	}
	d.relaunchAgent(a)
}

// relaunchAgent is launch where nobody waits for the error. a.mu is held.
func (d *Driver) relaunchAgent(a *attempt) {
	if err := d.launchAgent(a); err != nil {
		d.replaceAgent(a, nil, err.Error())
	}
}

// relaunchLater tries again after a pause. a.mu is held.
func (d *Driver) relaunchLater(a *attempt, wait time.Duration) {
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
		if !a.released && !a.clean && !d.isClosed() && a.runningAgent() == nil {
			d.relaunchAgent(a)
		}
	})
}

// reportStuck says, once, that no agent can be kept running: its binary is gone, the disk
// is full. It is tried on, ever more rarely.
func (d *Driver) reportStuck(a *attempt, what string) {
	why := fmt.Sprintf("no agent can be kept running: %s%s", what, lastWords(a.dir))
	d.log.Error("an agent cannot be kept running", "job", a.id.Job, "epoch", a.id.Epoch, "why", why)
	a.setStuck(why)
}

// ExplainWait says why an attempt that was started does not run.
func (d *Driver) ExplainWait(_ context.Context, id driver.ID) (string, error) {
	a := d.attemptRecord(id, false)
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
