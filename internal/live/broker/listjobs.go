package broker

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A list of jobs is merged from three sources, each in the order of the list: the jobs that live,
// the records in the store, and the elements of arrays that have not been queued. Each is read
// a page at a time, so that a list of very many jobs takes neither the loop nor the memory of
// the broker.

const (
	viewsPerTurn   = 1000 // jobs that are looked at in one turn of the loop
	recordsPerRead = 500  // records that are read from the store at once
	recentJobs     = 20   // records of a list that is not of all jobs
)

// viewQuery says which jobs to list.
type viewQuery struct {
	user     string                                 // of the records; "": of all users
	shown    func(context.Context, *store.Job) bool // who asks may see it
	all      bool                                   // not only those that live and the most recent
	together bool                                   // elements of an array that have not been queued are one
	from, to core.JobID                             // only these numbers; 0: no bound
	parent   core.JobID                             // only the elements of this array; 0: all

	oldestFirst bool // instead of the newest
}

func (q *viewQuery) includesJob(id, parent core.JobID) bool {
	return id >= q.from && (q.to == 0 || id <= q.to) && (q.parent == 0 || parent == q.parent)
}

// compareJobs orders numbers as the list does.
func (q *viewQuery) compareJobs(x, y core.JobID) int {
	if q.oldestFirst {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(y, x)
}

func (q *viewQuery) sortViews(views []View) {
	slices.SortFunc(views, func(x, y View) int { return q.compareJobs(x.ID, y.ID) })
}

// VisitJobs calls see with the jobs of who asks, newest first: those that live and the most
// recent, or all. The view is see's only until it returns.
func (b *Broker) VisitJobs(ctx context.Context, all bool, see func(*View) error) error {
	return b.visitOwn(ctx, &viewQuery{all: all, together: true}, see)
}

var errOtherUsers = &badinput.Error{Field: "--all-users", Problem: "only root sees the jobs of others"}

// VisitJobsOfAll is VisitJobs with the jobs of all users, for who may see them.
func (b *Broker) VisitJobsOfAll(ctx context.Context, all bool, see func(*View) error) error {
	if u, err := b.requestUser(ctx); err != nil || u.ID != 0 {
		return cmp.Or(err, error(errOtherUsers))
	}
	return b.visitViews(ctx, &viewQuery{all: all, together: true, shown: b.maySee}, see)
}

// visitOwn visits the jobs of who asks.
func (b *Broker) visitOwn(ctx context.Context, q *viewQuery, see func(*View) error) error {
	u, err := b.requestUser(ctx)
	if err != nil {
		return err
	}
	if q.shown = b.ownsJob; b.opt.Users != nil {
		q.user = u.Name
	}
	return b.visitViews(ctx, q, see)
}

// visitViews merges the sources. A job that is in several of them is taken from the first.
func (b *Broker) visitViews(ctx context.Context, q *viewQuery, see func(*View) error) error {
	// Jobs that live are asked for before the records are read: one that ends in between is in
	// both, not in neither.
	live, pending, err := b.liveViews(ctx, q)
	if err != nil {
		return err
	}
	sources := []*viewSource{live, b.recordedViews(ctx, q), pending}
	for {
		var next *View
		for _, s := range sources {
			if err := s.fillPage(); err != nil {
				return err
			}
			if len(s.views) > 0 && (next == nil || q.compareJobs(s.views[0].ID, next.ID) < 0) {
				next = &s.views[0]
			}
		}
		if next == nil {
			return nil
		}
		for _, s := range sources {
			if len(s.views) > 0 && s.views[0].ID == next.ID {
				s.views = s.views[1:]
			}
		}
		if err := see(next); err != nil {
			return err
		}
	}
}

// viewSource gives jobs in the order of the list, a page at a time.
type viewSource struct {
	views []View
	more  func() (page []View, last bool, err error) // nil: there are no more pages
}

// fillPage reads pages until there is a job or no further page.
func (s *viewSource) fillPage() error {
	for len(s.views) == 0 && s.more != nil {
		page, last, err := s.more()
		if err != nil {
			return err
		}
		if s.views = page; last {
			s.more = nil
		}
	}
	return nil
}

// liveJob is a job with its number, which may be looked at outside the loop.
type liveJob struct {
	id  core.JobID
	job *job
}

// liveViews are the jobs that live and, apart from them, the elements that have not been queued.
func (b *Broker) liveViews(ctx context.Context, q *viewQuery) (live, pending *viewSource, err error) {
	var jobs []liveJob
	var stored []core.JobID
	var arrays []pendingElements
	live = &viewSource{}
	isListed := func(a *array) bool { return (q.parent == 0 || a.ID == q.parent) && q.shown(ctx, &a.Template) }
	// One question where it can be, since each may have to wait for a turn.
	err = b.readLoop(ctx, func(writing *turn) bool {
		if writing.isWritingArray(isListed) {
			return false
		}
		arrays = b.snapshotPending(isListed)
		for id, j := range b.jobs {
			if j.spec != nil && q.includesJob(id, j.rec.Parent) && q.shown(ctx, &j.rec) {
				jobs = append(jobs, liveJob{id, j})
			}
		}
		if len(jobs) <= viewsPerTurn {
			live.views, stored = b.durableViews(jobs, writing)
			jobs = nil
		}
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	more, err := b.storedViews(ctx, stored)
	if err != nil {
		return nil, nil, err
	}
	live.views = append(live.views, more...)
	q.sortViews(live.views)
	if len(jobs) > 0 {
		slices.SortFunc(jobs, func(x, y liveJob) int { return q.compareJobs(x.id, y.id) })
		live.more = func() (page []View, last bool, err error) {
			some := jobs[:min(viewsPerTurn, len(jobs))]
			jobs = jobs[len(some):]
			page, err = b.readViews(ctx, q, some)
			return page, len(jobs) == 0, err
		}
	}
	return live, pendingViews(arrays, q), nil
}

// readViews gives jobs as they are.
func (b *Broker) readViews(ctx context.Context, q *viewQuery, jobs []liveJob) (views []View, err error) {
	var stored []core.JobID
	err = b.readLoop(ctx, func(writing *turn) bool {
		views, stored = b.durableViews(jobs, writing)
		return true
	})
	if err != nil {
		return nil, err
	}
	more, err := b.storedViews(ctx, stored)
	views = append(views, more...)
	q.sortViews(views)
	return views, err
}

// recordedViews are the jobs in the store.
func (b *Broker) recordedViews(ctx context.Context, q *viewQuery) *viewSource {
	f := store.Filter{User: q.user, Parent: q.parent, From: q.from, Limit: recordsPerRead}
	if f.OldestFirst = q.oldestFirst && q.all; !q.all {
		f.Limit = recentJobs
	}
	if q.to > 0 && q.to < math.MaxInt64 {
		f.Below = q.to + 1
	}
	return &viewSource{more: func() (page []View, last bool, err error) {
		recs, err := b.opt.Store.ListJobs(ctx, f)
		var full, shown *jobfile.Job // of the record before
		for i := range recs {
			rec := &recs[i]
			if f.OldestFirst {
				f.From = rec.ID + 1
			} else {
				f.Below = rec.ID
			}
			if !q.shown(ctx, rec) {
				continue
			}
			if rec.Spec != nil { // lists do not show the environment, which is most of a record
				if rec.Spec != full { // else of the same array
					spec := *rec.Spec
					spec.Env, full, shown = nil, rec.Spec, &spec
				}
				rec.Spec = shown
			}
			// One that has not ended was submitted after the question.
			page = append(page, View{Job: *rec, Over: rec.State.IsTerminal()})
		}
		if !q.all {
			q.sortViews(page)
		}
		return page, !q.all || len(recs) < f.Limit, err
	}}
}

// currentView is a job as it is now.
func (b *Broker) currentView(j *job) View {
	v := View{Job: b.currentRecord(j), Over: j.over}
	v.Vitals, v.VitalsAt = j.lastVitals()
	return v
}
