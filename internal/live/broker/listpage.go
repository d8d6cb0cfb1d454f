package broker

import (
	"cmp"
	"context"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Page is a part of a list of jobs, newest first.
type Page struct {
	Views  []View
	Next   core.JobID // what the next page is below; 0: there is none
	Counts [core.Cancelled + 1]int
	Event  uint64 // the last event that it may know of: what is told after it is news
}

// ListPage gives the jobs that a search wants, among those that who asks may see: their own, or, if
// they may and want to, those of all users. The counts are of all of these, whatever is searched for.
// Elements of an array that have not been queued are one job.
func (b *Broker) ListPage(ctx context.Context, q store.Search, everybody bool) (*Page, error) {
	u, err := b.requestUser(ctx)
	if err != nil {
		return nil, err
	}
	shown := b.ownsJob
	switch {
	case everybody && u.ID != 0:
		return nil, errOtherUsers
	case everybody:
		shown = b.maySee
	case b.opt.Users != nil:
		q.Users = []string{u.Name}
	}
	p := &Page{Event: b.changes.lastEvent()}
	var users []string
	if p.Counts, users = b.tally.sum(q.Users); q.Users == nil && q.States != nil {
		q.Users = users // by whose index jobs of a state are found
	}
	q.Now = b.brokerTime()
	var arrays []pendingElements
	isShown := func(a *array) bool { return shown(ctx, &a.Template) }
	if err := b.readLoop(ctx, func(writing *turn) bool {
		if writing.isWritingArray(isShown) {
			return false
		}
		arrays = b.snapshotPending(isShown)
		return true
	}); err != nil {
		return nil, err
	}
	found, err := b.opt.Store.FindNumbers(ctx, &q)
	if err != nil {
		return nil, err
	}
	if p.Views, err = b.viewsOf(ctx, found.Numbers); err != nil {
		return nil, err
	}
	p.Views = slices.DeleteFunc(p.Views, func(v View) bool { // what has changed meanwhile
		return !shown(ctx, &v.Job) || q.States != nil && !slices.Contains(q.States, v.State)
	})
	p.Next = found.Next
	p.addPending(arrays, &q)
	return p, nil
}

// addPending adds arrays of which elements wait for their turn, where the page has their place.
func (p *Page) addPending(arrays []pendingElements, q *store.Search) {
	for i := range arrays {
		a := &arrays[i]
		v := a.elementView(a.array.Next)
		v.Pending = a.array.Count - a.array.Next - len(a.skip)
		if p.Counts[core.Submitted] += v.Pending; v.ID > p.Next && q.MatchesJob(&v.Job) {
			p.Views = append(p.Views, v)
		}
	}
	slices.SortStableFunc(p.Views, func(x, y View) int { return cmp.Compare(y.ID, x.ID) })
	p.Views = slices.CompactFunc(p.Views, func(x, y View) bool { return x.ID == y.ID })
	if len(p.Views) > q.Limit {
		p.Views = p.Views[:q.Limit]
		p.Next = p.Views[q.Limit-1].ID
	}
}

// viewsOf gives jobs by their numbers, newest first: those that live as they are now.
func (b *Broker) viewsOf(ctx context.Context, ids []core.JobID) ([]View, error) {
	var views []View
	seen := map[core.JobID]bool{}
	err := b.readLoop(ctx, func(writing *turn) bool {
		for _, id := range ids {
			if j := b.jobs[id]; j != nil && j.spec != nil && !writing.isWriting(id) {
				views = append(views, b.currentView(j))
				seen[id] = true
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id core.JobID) bool { return seen[id] })
	recs, err := b.opt.Store.ReadJobs(ctx, ids)
	for i := range recs {
		views = append(views, View{Job: recs[i], Over: recs[i].State.IsTerminal()})
	}
	slices.SortFunc(views, func(x, y View) int { return cmp.Compare(y.ID, x.ID) })
	return views, err
}
