package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// errClosed is what a closed driver answers.
var errClosed = errors.New("the driver is closed")

// StartAttempt makes the folder and starts an agent on it, unless they are there.
func (d *Driver) StartAttempt(ctx context.Context, w *wire.Attempt) error {
	id := driver.AttemptID(w)
	if err := d.startAttempt(ctx, id, w); err != nil {
		return fmt.Errorf("start job %d, attempt %d, on %s: %w", id.Job, id.Epoch, d.opt.Cluster, err)
	}
	return nil
}

func (d *Driver) startAttempt(ctx context.Context, id driver.ID, w *wire.Attempt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !id.IsValid() {
		return errors.New("jobs and attempts are numbered from 1")
	}
	// scripts that knew other hosts do with this one
	if w.Spec.Nodes > 1 && len(w.Hosts) < 2 && w.Spec.Manager.Kind == "" {
		return fmt.Errorf("%w: it is to be spread over %d hosts, this is one", driver.ErrRefused, w.Spec.Nodes)
	}
	a := d.attemptRecord(id, true)
	if a == nil {
		return errClosed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.released || d.folders.WasReleased(id) || attemptdir.HasFile(a.dir, attemptdir.FenceFile) {
		return ErrReleased
	}
	if a.runningAgent() != nil {
		return nil
	}
	if attemptdir.HasFile(a.dir) {
		found, err := d.agentAt(a)
		if err != nil {
			return err
		}
		if found != nil {
			d.watchAgent(a, found)
			return nil
		}
	}
	if err := d.prepareAttempt(a, w); err != nil {
		return err
	}
	a.failures = 0
	return d.launchAgent(a)
}

// prepareAttempt makes the attempt's folder and cgroup, and chooses its CPUs, unless
// that was done.
func (d *Driver) prepareAttempt(a *attempt, w *wire.Attempt) error {
	whole := *w
	var err error
	if whole.CPUs, err = cpusFor(w.Held, d.opt.Slots, d.opt.CPUs); err != nil {
		return err
	}
	if d.loose {
		whole.CPUs = slices.Clone(d.opt.CPUs)
	}
	if whole.Nice == 0 {
		whole.Nice = d.opt.Nice
	}
	if d.opt.Broker != "" {
		whole.Broker = d.opt.Broker
	}
	g, err := d.owner.createGroup(attemptdir.FolderName(a.id), &whole)
	if err != nil {
		return err
	}
	whole.Cgroup = ""
	if g != nil {
		whole.Cgroup = g.String()
	}
	if err := d.folders.PrepareFolder(a.id, &whole); err != nil {
		return err
	}
	a.recordPlacement(&whole, g)
	return nil
}

// agentAt is the agent that lives on a folder, nil if none does. a.mu is held.
func (d *Driver) agentAt(a *attempt) (*process, error) {
	// One that holds the lock and has not yet written its number is waited for.
	const tries, between = 200, 5 * time.Millisecond
	for range tries {
		if p := agentOn(a.dir, attemptdir.LockHolder(a.dir), d.clock()); p != nil {
			return p, nil
		}
		if !attemptdir.HasFile(a.dir, attemptdir.LockFile) {
			return nil, nil
		}
		lock, err := attemptdir.TakeLock(a.dir)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return nil, err
		}
		if lock != nil {
			return nil, lock.Close()
		}
		time.Sleep(between)
	}
	return nil, fmt.Errorf("%s is locked by a process that is no agent", filepath.Join(a.dir, attemptdir.LockFile))
}

// FindAttempts lists the attempts' folders.
func (d *Driver) FindAttempts(ctx context.Context) ([]driver.Found, error) {
	ids, err := d.folders.AttemptIDs()
	if err != nil {
		return nil, fmt.Errorf("find the attempts on %s: %w", d.opt.Cluster, err)
	}
	found := make([]driver.Found, 0, len(ids))
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := d.attemptRecord(id, true)
		if a == nil {
			return nil, errClosed
		}
		alive := a.runningAgent() != nil
		if !alive {
			if p := agentOn(a.dir, attemptdir.LockHolder(a.dir), d.clock()); p != nil {
				p.stopWaiting()
				alive = true
			}
		}
		found = append(found, driver.Found{ID: id, Alive: alive})
	}
	return found, nil
}

// takeOver watches the agents of a driver before us and replaces those that
// died meanwhile. An attempt of which nothing was started yet waits for StartAttempt.
func (d *Driver) takeOver() error {
	d.removeOldGroups()
	ids, err := d.folders.AttemptIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		a := d.attemptRecord(id, true)
		a.mu.Lock()
		d.takeOverOne(a)
		a.mu.Unlock()
	}
	return nil
}

func (d *Driver) takeOverOne(a *attempt) {
	if attemptdir.HasFile(a.dir, attemptdir.FenceFile) {
		return // half released: whoever asked for that asks again
	}
	w, err := attemptdir.ReadAttempt(a.dir)
	if err != nil {
		return
	}
	a.recordPlacement(w, d.owner.openGroup(w.Cgroup))
	p, err := d.agentAt(a)
	switch {
	case err != nil:
		d.log.Warn("an attempt cannot be looked at", "job", a.id.Job, "epoch", a.id.Epoch, "err", err)
	case p != nil:
		d.watchAgent(a, p)
	case attemptdir.HasFile(a.dir, attemptdir.StartedFile) && !attemptdir.HasFile(a.dir, attemptdir.KnownFile):
		d.replaceAgent(a, nil, "its agent died while nobody watched")
	}
}

func describeStatus(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return "signal " + ws.Signal().String()
	}
	return fmt.Sprintf("exit code %d", ws.ExitStatus())
}
