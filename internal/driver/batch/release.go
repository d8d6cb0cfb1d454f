package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// ReleaseAttempt ends the attempt, in an order in which nothing can slip through: first
// the fence, so that an agent that comes up starts nothing; then all jobs of its
// name, until the manager has none; then the lock, which proves that no agent is
// left; then, under the lock, the folder goes away. A job that comes up later
// finds neither fence nor folder and cannot start anything.
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
	a := d.attemptRecord(id)
	if a == nil {
		return errClosed
	}
	d.mu.Lock()
	if a.stopStart != nil {
		a.stopStart() // the manager may not answer, and nobody wants it to
	}
	d.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.released = true // nothing is started any more, whatever happens below
	if attemptdir.HasFile(a.dir) {
		ctx, cancel := context.WithTimeout(ctx, submitTimeout)
		defer cancel()
		if err := d.endAttempt(ctx, a); err != nil {
			return err
		}
	} else {
		d.folders.RememberRelease(id)
	}
	if err := d.CancelReservation(ctx, id); err != nil {
		return err
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
	if err := endHolders(a.dir); err != nil {
		return err
	}
	if err := d.clearQueue(ctx, a); err != nil {
		return err
	}
	lock, err := d.lockAlone(ctx, a)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which gives it back
	if err := d.killLeftovers(ctx, a); err != nil {
		return err
	}
	d.folders.RememberRelease(a.id)
	return d.folders.PutAway(a.id)
}

const (
	// exitTimeout is how long a job that has nothing more to do may take to leave.
	exitTimeout = 2 * time.Second
	// cancelRetryInterval is when a job is cancelled once more that has not gone.
	cancelRetryInterval = 10 * time.Second
	// releaseTimeout is how long a manager may take over the end of a job whose agent is
	// gone: it may be that a host does not answer it.
	releaseTimeout = time.Minute
)

// clearQueue ends all jobs of the attempt's name and returns when the manager has
// none any more.
func (d *Driver) clearQueue(ctx context.Context, a *attempt) error {
	began := d.clock()
	known := attemptdir.HasFile(a.dir, attemptdir.KnownFile)
	ended := map[string]time.Time{} // when
	d.mu.Lock()
	job := a.job
	d.mu.Unlock()
	if job != "" && !known {
		if err := d.cancelJobs(ctx, []string{job}); err != nil {
			return err
		}
		ended[job] = d.clock()
	}
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		l, err := d.queryQueue(ctx)
		if err != nil {
			return fmt.Errorf("what has become of its job is not known: %w", err)
		}
		var now []string
		left := 0
		for _, e := range slices.Concat(l.jobs[a.name], l.holders[a.name]) {
			if e.State == Leaving && d.clock.Since(began) > releaseTimeout && !d.isAttended(a) {
				continue
			}
			left++
			at, did := ended[e.ID]
			if mayLeave := known && e.State != Pending && d.clock.Since(began) < exitTimeout; !mayLeave &&
				(!did || d.clock.Since(at) > cancelRetryInterval) {
				now = append(now, e.ID)
				ended[e.ID] = d.clock()
			}
		}
		if left == 0 {
			return nil
		}
		if err := d.cancelJobs(ctx, now); err != nil {
			return err
		}
		if !clock.SleepContext(ctx, pause) {
			return fmt.Errorf("its job does not leave the queue: %w", ctx.Err())
		}
	}
}

// lockAlone returns the lock, held. The manager has no job of the attempt, so who
// has the lock is an agent that we started here, or one whose host the manager
// takes for dead; that one sees the fence.
func (d *Driver) lockAlone(ctx context.Context, a *attempt) (*os.File, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		lock, err := attemptdir.TakeLock(a.dir)
		if lock != nil || err != nil {
			return lock, err
		}
		killAgentHere(a.dir)
		if !clock.SleepContext(ctx, pause) {
			return nil, fmt.Errorf("an agent still has its folder, on a host that the cluster may have given up: %w", ctx.Err())
		}
	}
}

// killAgentHere ends the agent that has the folder, if it is a process of this
// host: its number stands in the lock, and the last word of its command line is
// the folder.
func killAgentHere(dir string) {
	pid := attemptdir.LockHolder(dir)
	if pid <= 1 {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0) // so that a number used again is not taken for it
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	words := bytes.Split(bytes.TrimSuffix(line, []byte{0}), []byte{0})
	if err == nil && string(words[len(words)-1]) == dir {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// killLeftovers ends what an agent that ran on this host left. On others that is
// the business of the manager and of who watches over the agent there.
func (d *Driver) killLeftovers(ctx context.Context, a *attempt) error {
	if attemptdir.HasFile(a.dir, attemptdir.KnownFile) || !attemptdir.HasFile(a.dir, attemptdir.StartedFile) {
		return nil
	}
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
