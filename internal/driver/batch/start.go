package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// StartAttempt makes the folder and has the manager take a job that starts an agent on
// it, unless it has one. A job that was taken twice does no harm: the second agent
// finds the folder locked, or all told.
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
	a := d.attemptRecord(id)
	if a == nil {
		return errClosed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.released || d.folders.WasReleased(id) || attemptdir.HasFile(a.dir, attemptdir.FenceFile) {
		return attemptdir.ErrReleased
	}
	d.mu.Lock()
	done := a.submitted
	d.mu.Unlock()
	if done && attemptdir.HasFile(a.dir) {
		return nil
	}
	agent, err := d.agents.agentPath()
	if err != nil {
		return err
	}
	whole, request := d.prepareRequest(ctx, w)
	request.Name, request.Script, request.Output = a.name, filepath.Join(a.dir, scriptFile),
		filepath.Join(a.dir, outputFile)
	request.Reservation = d.reservedName(id)
	made, err := attemptdir.PrepareFolder(a.dir, &whole)
	if err == nil {
		err = os.WriteFile(filepath.Join(a.dir, scriptFile), d.jobScript(agent, a.dir), 0o700)
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, submitTimeout)
	defer stop()
	d.mu.Lock()
	a.stopStart = stop
	d.mu.Unlock()
	s := submission{d: d, a: a, unsure: !made, request: request}
	return s.submitUntilTaken(ctx)
}

// prepareRequest says what the agent is told and what the manager is asked for.
func (d *Driver) prepareRequest(ctx context.Context, w *wire.Attempt) (wire.Attempt, Request) {
	whole := *w
	whole.Broker, whole.CPUs, whole.Cgroup = d.opt.Broker, nil, ""
	need := driver.Need{Procs: w.Procs, Nodes: w.Spec.Nodes, Memory: w.Spec.Memory, Time: d.wallTime(w.Spec.Time)}
	var r Request
	if m := &w.Spec.Manager; m.Kind == "" || m.Kind == d.manager.KindName() {
		r = needFromScript(m, d.manager.KindName(), &need)
	}
	r.Need = d.completeNeed(ctx, need)
	whole.Limit = r.Time
	if whole.Limit == 0 {
		whole.Limit, _ = d.managerLimits(ctx)
	}
	return whole, r
}

// needFromScript is what a script wants of the manager for which it was written.
// Its processes are spread as it says if the processors can be.
func needFromScript(m *jobfile.Manager, kind string, need *driver.Need) Request {
	var r Request
	r.Told, _ = m.OptionsFor(kind)
	threads := max(1, m.Threads)
	if m.Threads > 0 && need.Procs%threads == 0 {
		r.Threads = m.Threads
	}
	processes := need.Procs / threads
	if m.PerNode > 0 && need.Procs%threads == 0 && processes%m.PerNode == 0 {
		r.PerNode = m.PerNode
		if hosts := processes / m.PerNode; need.Nodes == 0 {
			need.Nodes = hosts
		} else if need.Nodes*m.PerNode != processes {
			r.PerNode = 0
		}
	}
	return r
}

// managerLimits are those of the manager, as far as it tells.
func (d *Driver) managerLimits(ctx context.Context) (usual, most time.Duration) {
	if l, ok := d.manager.(Limiter); ok {
		return l.TimeLimits(ctx)
	}
	return 0, 0
}

// wallTime is the wall time to ask for: enough for the agent to end a program that
// takes longer than its job allows, and to bring home what it left. Managers count
// in minutes.
func (d *Driver) wallTime(job time.Duration) time.Duration {
	limit := d.opt.Time
	if job > 0 {
		limit = job + job/10 + time.Minute
	}
	return (limit + time.Minute - 1).Truncate(time.Minute)
}

// completeNeed fills in what a need leaves open. A program finds its processors on
// one host, if there is one that large: what is spread over several is of use only
// to programs that know how to reach the others.
func (d *Driver) completeNeed(ctx context.Context, n driver.Need) driver.Need {
	n.Procs = max(1, n.Procs)
	if n.Time <= 0 {
		n.Time = d.wallTime(0)
	}
	if n.Time > 0 { // what is more would wait for ever; so it is saved in time and goes on
		if _, most := d.managerLimits(ctx); most > 0 {
			n.Time = min(n.Time, most)
		}
	}
	if n.Nodes == 0 && n.Procs > 1 {
		if s := d.lastSurvey(ctx); s != nil {
			for i := range s.Hosts {
				if s.Hosts[i].Procs >= n.Procs {
					n.Nodes = 1
					break
				}
			}
		}
	}
	return n
}

// Pauses between two tries.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 10 * time.Second
)

// submission is one StartAttempt on its way to the manager.
type submission struct {
	d       *Driver
	a       *attempt
	request Request
	unsure  bool  // the manager may have a job of that name already
	last    error // why it has not been done yet
}

// submitUntilTaken tries until the manager has the job or refuses it, or the time is up.
func (s *submission) submitUntilTaken(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		done, err := s.trySubmit(ctx)
		if done {
			return err
		}
		s.last = err
		if !clock.SleepContext(ctx, pause) {
			return s.giveUp(ctx)
		}
	}
}

// trySubmit submits once; before that, if need be, it looks whether that was done.
func (s *submission) trySubmit(ctx context.Context) (done bool, err error) {
	if s.unsure {
		taken, err := s.isTaken(ctx)
		if taken || err != nil {
			return taken, err
		}
		s.unsure = false
	}
	job, err := s.submitOnce(ctx)
	switch {
	case err == nil:
		s.noteTaken(job)
		return true, nil
	case errors.Is(err, driver.ErrRefused):
		return true, s.withdrawFolder(err)
	case !errors.Is(err, driver.ErrAway):
		s.unsure = true
	}
	s.d.log.Debug("a submission did not succeed", "job", s.a.id.Job, "epoch", s.a.id.Epoch, "err", err)
	return false, err
}

func (s *submission) submitOnce(ctx context.Context) (string, error) {
	select {
	case s.d.submitting <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("%w: %w", driver.ErrAway, ctx.Err())
	}
	defer func() { <-s.d.submitting }()
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("%w: %w", driver.ErrAway, err)
	}
	return s.d.manager.SubmitJob(ctx, &s.request)
}

// isTaken looks whether the manager has the job, or had it: an agent leaves traces.
func (s *submission) isTaken(ctx context.Context) (bool, error) {
	l, err := s.d.queryQueue(ctx)
	if err != nil {
		return false, err
	}
	if found := l.jobs[s.a.name]; len(found) > 0 {
		s.noteTaken(found[0].ID)
		return true, nil
	}
	if job, ok := wasSubmitted(s.a.dir); ok { // after the look, as it may have left the queue just before
		s.noteTaken(job)
		return true, nil
	}
	return false, nil
}

// noteTaken writes down that the manager has the job. If that cannot be written it
// will be found by its name.
func (s *submission) noteTaken(job string) {
	if err := noteSubmitted(s.a.dir, job); err != nil {
		s.d.log.Warn("a submission cannot be written down", "job", s.a.id.Job, "epoch", s.a.id.Epoch, "err", err)
	}
	s.d.keepWatch(s.a, job)
}

// giveUp ends a submission that did not come about in time.
func (s *submission) giveUp(ctx context.Context) error {
	why := s.last
	if why == nil {
		why = ctx.Err()
	}
	if s.unsure {
		return fmt.Errorf("not known whether the cluster has taken it: %w", why)
	}
	if !errors.Is(why, driver.ErrAway) {
		why = fmt.Errorf("%w: %w", driver.ErrAway, why)
	}
	return s.withdrawFolder(why)
}

// withdrawFolder removes the folder of an attempt that the manager does not have. If an
// agent is on it after all, that is as good as if the manager had said so.
func (s *submission) withdrawFolder(why error) error {
	lock, err := attemptdir.TakeLock(s.a.dir)
	if err != nil {
		return errors.Join(why, err)
	}
	if lock == nil || hasRun(s.a.dir) {
		if lock != nil {
			_ = lock.Close() // which gives it back
		}
		s.noteTaken("")
		return nil
	}
	defer func() { _ = lock.Close() }() // which gives it back
	return errors.Join(why, s.d.folders.PutAway(s.a.id))
}
