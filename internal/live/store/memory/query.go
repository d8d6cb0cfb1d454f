package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ListEntries implements store.Store.
func (s *Store) ListEntries(ctx context.Context, id core.JobID) ([]wire.Entry, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(s.d.entries[id]), nil
}

// ListCheckpoints implements store.Store.
func (s *Store) ListCheckpoints(ctx context.Context, id core.JobID) ([]wire.Saved, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []wire.Saved
	for key, c := range s.d.saved {
		if key.Job == id {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b wire.Saved) int { return b.N - a.N })
	return list, nil
}

// ListRoots implements store.Store.
func (s *Store) ListRoots(ctx context.Context) ([]string, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	needed := map[string]bool{}
	for _, j := range s.d.jobs {
		if j.IsOpen() {
			needed[j.Work], needed[j.Result] = true, true
		}
	}
	for _, a := range s.d.arrays {
		needed[a.Template.Work] = true
	}
	for _, c := range s.d.saved {
		needed[c.Work], needed[c.Image] = true, true
	}
	s.d.addFlowRoots(needed)
	delete(needed, "")
	return slices.Sorted(maps.Keys(needed)), nil
}

// GetSetting implements store.Store.
func (s *Store) GetSetting(ctx context.Context, name string) (string, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	return s.d.settings[name], nil
}

// ListRuns implements store.Store.
func (s *Store) ListRuns(ctx context.Context, f store.Past) ([]history.Run, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []history.Run
	for _, r := range s.d.runs {
		if f.MatchesRun(r.Job, r.Program, r.User, r.Ended, r.Cluster) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b history.Run) int {
		return cmp.Or(cmp.Compare(b.Ended, a.Ended), cmp.Compare(b.Job, a.Job), cmp.Compare(b.Epoch, a.Epoch))
	})
	return firstN(list, f.Limit), nil
}

// ListTransfers implements store.Store.
func (s *Store) ListTransfers(ctx context.Context, f store.Past) ([]history.Transfer, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []history.Transfer
	for _, t := range slices.Backward(s.d.transfers) {
		if f.MatchesRun(t.Job, t.Program, "", t.At, t.From, t.To) {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b history.Transfer) int { return cmp.Compare(b.At, a.At) })
	return firstN(list, f.Limit), nil
}

// ListQuotes implements store.Store.
func (s *Store) ListQuotes(ctx context.Context, f store.Past) ([]history.Quote, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []history.Quote
	for _, q := range s.d.quotes {
		if f.MatchesRun(q.Job, q.Program, "", q.At, q.Cluster) {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(a, b history.Quote) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Job, a.Job), cmp.Compare(a.Cluster, b.Cluster),
			cmp.Compare(a.Kind, b.Kind))
	})
	return firstN(list, f.Limit), nil
}
