package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// FindNumbers implements store.Store.
func (s *Store) FindNumbers(ctx context.Context, q *store.Search) (found store.Found, err error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return found, err
	}
	defer leave()
	for _, j := range slices.Backward(s.d.listMatching(q.MatchesJob)) {
		if len(found.Numbers) == q.Limit {
			break
		}
		found.Numbers = append(found.Numbers, j.ID)
	}
	if len(found.Numbers) == q.Limit {
		found.Next = found.Numbers[q.Limit-1]
	}
	return found, nil
}

// ReadJobs implements store.Store.
func (s *Store) ReadJobs(ctx context.Context, ids []core.JobID) ([]store.Job, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list := s.d.listMatching(func(j *store.Job) bool { return slices.Contains(ids, j.ID) })
	slices.Reverse(list)
	return list, nil
}

// UsersOf implements store.Store.
func (s *Store) UsersOf(ctx context.Context, ids []core.JobID) (map[core.JobID]string, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	users := map[core.JobID]string{}
	for _, id := range ids {
		if j, there := s.d.jobs[id]; there {
			users[id] = j.User
		}
	}
	return users, nil
}

// CountJobs implements store.Store.
func (s *Store) CountJobs(ctx context.Context) ([]store.JobCount, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	counts := map[store.JobCount]int{}
	for _, j := range s.d.jobs { // order-free: counted
		counts[store.JobCount{User: j.User, State: j.State}]++
	}
	var all []store.JobCount
	for c, n := range counts { // order-free: sorted next
		c.N = n
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y store.JobCount) int {
		return cmp.Or(cmp.Compare(x.User, y.User), cmp.Compare(x.State, y.State))
	})
	return all, nil
}

// ListEvents implements store.Store.
func (s *Store) ListEvents(ctx context.Context, n uint64, limit int) ([]core.Event, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	from := n + 1
	if from >= s.d.nextEvent() {
		return nil, nil
	}
	if from < s.d.first {
		return nil, store.ErrDropped
	}
	return slices.Clone(firstN(s.d.events[from-s.d.first:], limit)), nil
}

type outlookID struct {
	job core.JobID
	at  core.Time
}

// ListOutlooks implements store.Store.
func (s *Store) ListOutlooks(ctx context.Context, id core.JobID) ([]store.Outlook, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var all []store.Outlook
	for _, o := range slices.SortedFunc(maps.Values(s.d.outlooks), func(x, y store.Outlook) int {
		return cmp.Compare(x.At, y.At)
	}) {
		if o.Job == id {
			all = append(all, o)
		}
	}
	return all, nil
}
