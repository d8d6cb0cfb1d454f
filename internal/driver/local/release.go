package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// ReleaseAttempt ends the attempt, in an order in which nothing can slip through:
// first the fence, so that an agent that comes up starts nothing; then the
// agent and all its processes; then the lock, which proves that no agent is
// left; then, under the lock, the folder goes away. An agent that is slower
// than all of this finds neither fence nor folder and cannot start anything.
func (d *Driver) ReleaseAttempt(ctx context.Context, id driver.ID) error {
	if err := d.releaseAttempt(ctx, id); err != nil {
		return fmt.Errorf("release job %d, attempt %d, on %s: %w", id.Job, id.Epoch, d.opt.Cluster, err)
	}
	return nil
}

func (d *Driver) releaseAttempt(ctx context.Context, id driver.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !id.IsValid() {
		return nil // there never was one
	}
	a := d.attemptRecord(id, true)
	if a == nil {
		return errClosed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.released = true // no agent is started any more, whatever happens below
	if attemptdir.HasFile(a.dir) {
		if err := d.endAttempt(ctx, a); err != nil {
			return err
		}
	} else {
		d.folders.RememberRelease(id)
	}
	d.mu.Lock()
	delete(d.attempts, id)
	d.mu.Unlock()
	return nil
}

// endAttempt ends what runs on an attempt's folder and puts the folder away.
func (d *Driver) endAttempt(ctx context.Context, a *attempt) error {
	// On a full disk there is no fence: the lock and the end of the folder will do.
	if err := d.folders.PutFence(a.id); err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	lock, err := d.stopAgent(ctx, a)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which gives the lock back
	if !a.isOver() {
		if err := d.killLeftovers(ctx, a); err != nil {
			return err
		}
	}
	if g := d.groupOf(a); g != nil {
		if err := g.discardGroup(); err != nil {
			return err
		}
	}
	d.folders.RememberRelease(a.id)
	return d.folders.PutAway(a.id)
}

// isOver says that no process but the agent's can be left: an agent that ended
// well, or that has told everything, leaves nothing behind, and one that started
// nothing has nothing to leave.
func (a *attempt) isOver() bool {
	return a.clean || attemptdir.HasFile(a.dir, attemptdir.KnownFile) || !attemptdir.HasFile(a.dir, attemptdir.StartedFile)
}

// exitTimeout is how long an agent that has nothing more to do may take to leave.
const exitTimeout = 2 * time.Second

// stopAgent ends the agent if one lives and returns the lock, held.
func (d *Driver) stopAgent(ctx context.Context, a *attempt) (*os.File, error) {
	if p := a.runningAgent(); p != nil && attemptdir.HasFile(a.dir, attemptdir.KnownFile) {
		select {
		case <-p.done:
		case <-time.After(exitTimeout):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if p := a.runningAgent(); p != nil {
		if err := d.killAgent(ctx, a, p); err != nil {
			return nil, err
		}
	}
	const between = 5 * time.Millisecond
	for {
		lock, err := attemptdir.TakeLock(a.dir)
		if lock != nil || err != nil {
			return lock, err
		}
		// One that we do not know: of a driver before us, and only now up.
		if p := agentOn(a.dir, attemptdir.LockHolder(a.dir), d.clock()); p != nil {
			go func() { _ = p.awaitDeath(ctx.Done()) }()
			err := d.killAgent(ctx, a, p)
			p.stopWaiting()
			if err != nil {
				return nil, err
			}
			continue
		}
		if !clock.SleepContext(ctx, between) {
			return nil, fmt.Errorf("its lock is held: %w", ctx.Err())
		}
	}
}

// killAgent ends an agent with all its descendants: those that hide their mark are
// still below it in the tree. It is stopped first, so that it does not notice.
func (d *Driver) killAgent(ctx context.Context, a *attempt, p *process) error {
	p.sendSignal(syscall.SIGSTOP)
	if !a.isOver() {
		if err := d.killBelow(ctx, a, p); err != nil {
			return err
		}
	}
	p.sendSignal(syscall.SIGKILL)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("agent %d does not die: %w", p.pid, ctx.Err())
	}
}

// groupOf is the attempt's cgroup, also if an earlier driver made it and this one
// never looked.
func (d *Driver) groupOf(a *attempt) group {
	if a.group != nil {
		return a.group
	}
	w, err := attemptdir.ReadAttempt(a.dir)
	if err != nil {
		return nil // nothing can have been started
	}
	return d.owner.openGroup(w.Cgroup)
}

// removeOldGroups removes cgroups that an earlier driver left.
func (d *Driver) removeOldGroups() {
	if err := d.owner.removeOrphans(func(name string) bool { return attemptdir.HasFile(d.opt.Dir, name) }); err != nil {
		d.log.Warn("cgroups cannot be removed", "cluster", d.opt.Cluster, "err", err)
	}
}

// killBelow ends all that descends from an agent that stands still: it stays
// the parent of every orphan below it, so nobody gets away. All are stopped
// before any is killed, so that none starts others meanwhile.
func (d *Driver) killBelow(ctx context.Context, a *attempt, agent *process) error {
	if g := d.groupOf(a); g != nil {
		if err := g.KillAll(); err != nil {
			return fmt.Errorf("end a cgroup: %w", err)
		}
	}
	stopped := map[int]bool{}
	for {
		all, err := proctable.AllProcesses()
		if err != nil {
			return err
		}
		left, fresh := []int{}, 0
		below := proctable.DescendantsOf(all, map[int]bool{agent.pid: true})
		for i := range all {
			p := &all[i]
			if p.Pid == agent.pid || !below[p.Pid] || p.IsDead() {
				continue
			}
			left = append(left, p.Pid)
			if !stopped[p.Pid] {
				stopped[p.Pid] = true
				fresh++
				_ = syscall.Kill(p.Pid, syscall.SIGSTOP)
			}
		}
		switch {
		case len(left) == 0:
			return nil
		case fresh == 0:
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if !clock.SleepContext(ctx, time.Millisecond) {
			return fmt.Errorf("processes %v do not die: %w", left, ctx.Err())
		}
	}
}

// killLeftovers ends every process that carries the attempt's mark.
func (d *Driver) killLeftovers(ctx context.Context, a *attempt) error {
	w, err := attemptdir.ReadAttempt(a.dir)
	if err != nil || w.Mark == "" {
		return err
	}
	n, err := proctree.KillLeftovers(ctx, w.Mark)
	selfreport.RemoveFolder(w.Mark)
	if n > 0 {
		d.log.Info("processes were left over", "job", a.id.Job, "epoch", a.id.Epoch, "n", n)
	}
	return err
}
