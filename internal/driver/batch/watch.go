package batch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// watchLoop compares, while there is anything to watch, what we submitted with what
// the manager has.
func (d *Driver) watchLoop() {
	interval := d.opt.Poll
	for {
		if !d.hasWatched() {
			select {
			case <-d.wake:
			case <-d.ctx.Done():
				return
			}
			continue
		}
		if !clock.SleepContext(d.ctx, interval) {
			return
		}
		l, err := d.queryQueue(d.ctx)
		interval = d.noteAnswer(err, interval)
		if err == nil {
			d.compareQueue(l)
		}
	}
}

// hasWatched says whether the end of any attempt may be news.
func (d *Driver) hasWatched() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.attempts {
		if a.watched {
			return true
		}
	}
	return false
}

// noteAnswer notes whether the manager answered and says when to ask again: a manager
// that does not answer is not asked more often for that.
func (d *Driver) noteAnswer(err error, interval time.Duration) time.Duration {
	if d.ctx.Err() != nil {
		return interval
	}
	d.mu.Lock()
	before := d.silence
	d.silence = err
	d.mu.Unlock()
	switch {
	case err != nil && before == nil:
		d.log.Warn("the manager does not say what runs", "cluster", d.opt.Cluster, "err", err)
	case err == nil && before != nil:
		d.log.Info("the manager answers again", "cluster", d.opt.Cluster)
	}
	if err == nil {
		return d.opt.Poll
	}
	return max(d.opt.Poll, min(2*interval, longestPoll))
}

// goneAfter is how many answers in a row must not have a job until it counts as
// gone: a manager that has just restarted may know less than before.
const goneAfter = 2

// compareQueue sees to the attempts that an answer does not have.
func (d *Driver) compareQueue(l *queueAnswer) {
	var absent, gone, hopeless, short []*attempt
	d.mu.Lock()
	for _, a := range d.attempts {
		if !a.watched || l.number <= a.after {
			continue
		}
		if found := l.jobs[a.name]; len(found) > 0 {
			a.missing = 0
			a.entry = &found[0]
			for i := range found {
				if found[i].State == Running {
					a.entry = &found[i]
				}
			}
			if a.job == "" {
				a.job = a.entry.ID
			}
			if a.hopeless++; !a.entry.Hopeless {
				a.hopeless = 0
			}
			if a.hopeless >= hopelessAfter {
				hopeless = append(hopeless, a)
			}
			if len(l.holders[a.name]) < a.holders {
				short = append(short, a)
			}
			continue
		}
		a.missing++
		if a.missing >= goneAfter {
			gone = append(gone, a)
		} else {
			absent = append(absent, a)
		}
	}
	d.mu.Unlock()
	for _, a := range absent {
		d.isTold(a)
	}
	d.settleGone(gone)
	for _, a := range hopeless {
		d.giveUp(a)
	}
	d.endStrays(l)
	for _, a := range short {
		d.replaceHolders(a)
	}
}

// replaceHolders asks the manager again for processors that somebody else took away from an attempt.
func (d *Driver) replaceHolders(a *attempt) {
	d.inBackground(func() {
		w, err := attemptdir.ReadAttempt(a.dir)
		if err != nil {
			return // it has ended
		}
		d.mu.Lock()
		procs := max(1, w.Procs) + a.holders
		d.mu.Unlock()
		if _, err := d.ExtendAttempt(d.ctx, a.id, procs); err != nil && d.ctx.Err() == nil {
			d.log.Warn("processors that were taken away cannot be asked for again", "err", err)
		}
	})
}

// hopelessAfter is how many answers in a row must say that a job will never begin
// until it is given up: the manager may just be coming up.
const hopelessAfter = 12

// giveUp ends a job that would wait for ever: the attempt may go elsewhere.
func (d *Driver) giveUp(a *attempt) {
	if !a.mu.TryLock() {
		return // something is done about it
	}
	defer a.mu.Unlock()
	if a.released || hasRun(a.dir) {
		return
	}
	d.mu.Lock()
	job, why := a.entry.ID, a.entry.Why
	d.mu.Unlock()
	why = OneLine("the cluster would never begin job " + job + ": " + why)
	d.log.Warn("an attempt is given up", "job", a.id.Job, "epoch", a.id.Epoch, "why", why)
	// In this order: if it begins after all, its agent tells the same.
	err := attemptdir.ReplaceFile(a.dir, attemptdir.LostFile, []byte(why+"\n"))
	if err == nil {
		err = d.cancelJobs(d.ctx, []string{job})
	}
	if err != nil {
		d.log.Error("an attempt cannot be given up", "job", a.id.Job, "epoch", a.id.Epoch, "err", err)
	}
}

// endStrays ends jobs of attempts that were released: a submission whose answer
// was lost may come about later than anybody could wait for it. They could start
// nothing, but they wait for processors.
func (d *Driver) endStrays(l *queueAnswer) {
	var strays []string
	for _, jobs := range []map[string][]Entry{l.jobs, l.holders} {
		for name, list := range jobs {
			id, ok := attemptdir.ParseName(strings.TrimPrefix(name, d.prefix))
			if !ok || !d.folders.WasReleased(id) || attemptdir.HasFile(d.folders.AttemptPath(id)) {
				continue
			}
			for i := range list {
				if list[i].State != Leaving {
					strays = append(strays, list[i].ID)
				}
			}
		}
	}
	if err := d.cancelJobs(d.ctx, strays); err != nil && d.ctx.Err() == nil {
		d.log.Warn("jobs of released attempts cannot be cancelled", "cluster", d.opt.Cluster, "err", err)
	}
}

// isTold ends watching an attempt of which all has been told, or that is not
// there any more.
func (d *Driver) isTold(a *attempt) bool {
	if !attemptdir.HasFile(a.dir, attemptdir.KnownFile) && attemptdir.HasFile(a.dir, attemptdir.AttemptFile) {
		return false
	}
	d.mu.Lock()
	a.watched = false
	d.mu.Unlock()
	return true
}

// settleGone has it told what became of attempts whose job is gone: unless an agent
// lives, whatever the manager says. It may take its host for dead and be wrong.
func (d *Driver) settleGone(gone []*attempt) {
	var lost []*attempt
	var jobs []string
	for _, a := range gone {
		if !a.mu.TryLock() {
			continue // something is done about it
		}
		refreshFolder(a.dir)
		switch {
		case a.released || d.isTold(a) || d.isAttended(a):
		case attemptdir.HasFile(a.dir, attemptdir.LostFile):
			d.reportLoss(a)
		default:
			lost = append(lost, a)
			if a.job != "" {
				jobs = append(jobs, a.job)
			}
		}
		a.mu.Unlock()
	}
	if len(lost) == 0 {
		return
	}
	endings, err := d.queryEndings(jobs)
	if err != nil {
		d.log.Warn("the manager does not say how jobs ended", "cluster", d.opt.Cluster, "err", err)
		return // it is asked again next time
	}
	for _, a := range lost {
		if a.mu.TryLock() {
			if !a.released && !d.isTold(a) && !d.isAttended(a) {
				d.loseAttempt(a, endings)
			}
			a.mu.Unlock()
		}
	}
}

// refreshFolder reads a folder, since only then some network file systems look whether
// others have put something into it.
func refreshFolder(dir string) { _, _ = os.ReadDir(dir) }

func (d *Driver) queryEndings(jobs []string) (map[string]Ending, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(d.ctx, queryTimeout)
	defer cancel()
	return d.manager.JobEndings(ctx, jobs)
}

// isAttended says whether an agent has the folder; where that cannot be found out,
// it does.
func (d *Driver) isAttended(a *attempt) bool {
	lock, err := attemptdir.TakeLock(a.dir)
	if lock != nil {
		_ = lock.Close() // which gives it back
		return false
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("an attempt cannot be looked at", "job", a.id.Job, "epoch", a.id.Epoch, "err", err)
	}
	return true
}
