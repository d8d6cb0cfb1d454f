package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func testPast(f *fixture) {
	b := &store.Batch{}
	for i := range 12 {
		at, job, cluster := core.Time(100+i/2), core.JobID(i), []string{"uh", "utk", "leeds"}[i%3]
		program, user := []string{"qr", "pi"}[i%2], []string{"ada", "bob"}[i/6]
		b.Runs = append(b.Runs, history.Run{Job: job, Epoch: 1, Ended: at, Cluster: cluster, Program: program, User: user})
		b.Transfers = append(b.Transfers,
			history.Transfer{At: at, Job: job, From: cluster, To: []string{"uh", "utk", "leeds"}[(i+1)%3], Program: program})
		b.Quotes = append(b.Quotes, history.Quote{At: at, Job: job, Cluster: cluster, Kind: "quote", Program: program})
	}
	f.commitBatch(b)
	for _, c := range []struct {
		past                    store.Past
		runs, transfers, quotes string
	}{
		{store.Past{}, "11 10 9 8 7 6 5 4 3 2 1 0", "11 10 9 8 7 6 5 4 3 2 1 0", "11 10 9 8 7 6 5 4 3 2 1 0"},
		{store.Past{Limit: 3}, "11 10 9", "11 10 9", "11 10 9"},
		{store.Past{Since: 104}, "11 10 9 8", "11 10 9 8", "11 10 9 8"},
		{store.Past{Cluster: "uh"}, "9 6 3 0", "11 9 8 6 5 3 2 0", "9 6 3 0"},
		{store.Past{Program: "pi", Limit: 2}, "11 9", "11 9", "11 9"},
		{store.Past{Cluster: "utk", Program: "qr"}, "10 4", "10 6 4 0", "10 4"},
		{store.Past{User: "ada"}, "5 4 3 2 1 0", "", ""},
		{store.Past{Job: 7}, "7", "7", "7"},
		{store.Past{Cluster: "nowhere"}, "", "", ""},
	} {
		var runs, transfers, quotes string
		for _, r := range mustGet[[]history.Run](f)(f.s.ListRuns(f.ctx, c.past)) {
			runs += fmt.Sprintf(" %d", r.Job)
		}
		for _, r := range mustGet[[]history.Transfer](f)(f.s.ListTransfers(f.ctx, c.past)) {
			transfers += fmt.Sprintf(" %d", r.Job)
		}
		for _, r := range mustGet[[]history.Quote](f)(f.s.ListQuotes(f.ctx, c.past)) {
			quotes += fmt.Sprintf(" %d", r.Job)
		}
		for what, pair := range map[string][2]string{"runs": {runs, c.runs}, "transfers": {transfers, c.transfers},
			"quotes": {quotes, c.quotes}} {
			if pair[0] != pair[1] && pair[0] != " "+pair[1] {
				f.Errorf("%+v lists %s%s, want %s", c.past, what, pair[0], pair[1])
			}
		}
	}
	changed := b.Quotes[3]
	changed.Ended = 777
	f.commitBatch(&store.Batch{Quotes: []history.Quote{changed},
		Runs: []history.Run{{Job: 3, Epoch: 1, Ended: 500, Cluster: "uh"}, {Job: 3, Epoch: 2, Ended: 501}}})
	if q := mustGet[[]history.Quote](f)(f.s.ListQuotes(f.ctx, store.Past{Job: 3})); len(q) != 1 || q[0].Ended != 777 {
		f.Errorf("a quote whose outcome is known is %+v", q)
	}
	if r := mustGet[[]history.Run](f)(f.s.ListRuns(f.ctx, store.Past{Job: 3})); len(r) != 2 || r[0].Epoch != 2 ||
		r[1].Ended != 500 {
		f.Errorf("the runs of one job are %+v", r)
	}
}

func testSettings(f *fixture) {
	f.commitBatch(&store.Batch{Settings: map[string]string{"a": "1", "b": "two\nlines"}})
	f.commitBatch(&store.Batch{Settings: map[string]string{"a": "", "b": "x", "c": "3"}})
	f.crashStore()
	for name, want := range map[string]string{"a": "", "b": "x", "c": "3", "d": ""} {
		if got := mustGet[string](f)(f.s.GetSetting(f.ctx, name)); got != want {
			f.Errorf("setting %s is %q, want %q", name, got, want)
		}
	}
}

func testClosed(f *fixture) {
	s := f.s
	f.s = nil
	f.mustSucceed(s.Close())
	f.mustSucceed(s.Close())
	_, load := s.LoadState(f.ctx)
	_, job := s.FindJob(f.ctx, "1")
	_, runs := s.ListRuns(f.ctx, store.Past{})
	for _, err := range []error{s.CommitBatch(f.ctx, fullBatch()), s.SaveSnapshot(f.ctx, 0, nil), load, job, runs} {
		if !errors.Is(err, store.ErrClosed) {
			f.Errorf("a closed store says %v", err)
		}
	}
	gone, cancel := context.WithCancel(f.ctx)
	cancel()
	f.openStore()
	if err := f.s.CommitBatch(gone, fullBatch()); !errors.Is(err, context.Canceled) {
		f.Errorf("a caller who is gone is told %v", err)
	}
	if l := f.loadState(); len(l.Events) > 0 {
		f.Error("what a caller wanted who was gone was stored all the same")
	}
}

func secondOpener(f *fixture) {
	if s, err := f.place.Open(); !errors.Is(err, store.ErrLocked) {
		f.Errorf("opened twice: %v, %v", s, err)
	}
	f.commitBatch(fullBatch())
}

// testConcurrentReads asks while somebody writes: every answer must be of one moment.
func testConcurrentReads(f *fixture) {
	const rounds = 60
	var asking sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				entries, err1 := f.s.ListEntries(f.ctx, 1)
				list, err2 := f.s.ListJobs(f.ctx, store.Filter{})
				if err := errors.Join(err1, err2); err != nil {
					f.Error(err)
					return
				}
				if len(entries)%2 != 0 || len(list) > 0 && len(list) != 2 {
					f.Errorf("%d entries and %d jobs are seen, they come in pairs", len(entries), len(list))
					return
				}
			}
		})
	}
	for i := range rounds {
		e := store.Entry{Job: 1, Entry: wire.Entry{At: core.Time(i), Kind: "note"}}
		f.commitBatch(&store.Batch{Entries: []store.Entry{e, e}, Jobs: []store.Job{aJob(1), aJob(2)}})
	}
	close(stop)
	asking.Wait()
	if n := len(mustGet[[]wire.Entry](f)(f.s.ListEntries(f.ctx, 1))); n != 2*rounds {
		f.Errorf("%d entries, want %d", n, 2*rounds)
	}
}
