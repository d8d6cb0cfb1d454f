package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// searchJobs are jobs of two users, one in four of each of which has no deadline.
func searchJobs(n int) []store.Job {
	states := []core.State{core.Running, core.Done, core.Failed, core.Submitted}
	var all []store.Job
	for i := range n {
		j := aJob(core.JobID(i + 1))
		j.User, j.Cluster = []string{"ada", "bob"}[i%2], []string{"uh", "utk", "uiuc"}[i%3]
		j.State, j.Ended = states[i%5%4], 0
		if j.State.IsTerminal() {
			j.Ended = core.Time(i)
		}
		if j.Deadline = core.Time(10 + i/2); i%4 == 3 {
			j.Deadline = 0
		}
		spec := aSpec()
		spec.Labels = map[string]string{"sweep": fmt.Sprint(i % 3), "app": "qr"}
		spec.Name, spec.Argv = fmt.Sprintf("Job_%d%%", i%7), []string{"/bin/" + []string{"Qr", "lu"}[i%5%2], "1"}
		j.Spec = spec
		all = append(all, j)
	}
	return all
}

// testSearch compares what is found with what MatchesJob says of each job.
func testSearch(f *fixture) {
	jobs := searchJobs(60)
	f.commitBatch(&store.Batch{Jobs: jobs})
	jobs[7].State, jobs[7].Cluster, jobs[8].Ended, jobs[8].State = core.Done, "new", 3, core.Cancelled
	changed := []store.Job{jobs[7], jobs[8]}
	changed[0].Spec, changed[1].Spec = nil, nil
	changed[0].Changed = &store.Changed{Name: "other", Labels: map[string]string{"b": "1", "a": "2"}}
	changed[1].Changed = &store.Changed{NoneOf: true}
	jobs[7].Changed, jobs[8].Changed = changed[0].Changed, changed[1].Changed
	f.commitBatch(&store.Batch{Jobs: changed})
	for _, q := range []store.Search{
		{}, {Below: 20}, {Users: []string{"ada"}}, {Users: []string{"bob", "ada"}}, {Users: []string{"eve"}},
		{States: []core.State{core.Running}}, {States: []core.State{core.Done, core.Failed}, Users: []string{"bob"}},
		{Cluster: "uh"}, {Cluster: "new"}, {Name: "Job_3%"},
		{Name: "Job_3%", Users: []string{"ada"}, States: []core.State{core.Done}},
		{Program: "Qr", Users: []string{"ada", "bob"}}, {Program: "qr"}, {Text: "QR"},
		{Text: "job_3%"}, {Text: "_3"}, {Text: "%%"},
		{Label: "sweep=1"}, {Label: "sweep"}, {Label: "b=1"}, {Label: "a=2", Users: []string{"bob"}}, {Label: "p=qr"},
		{Name: "other"}, {Text: "nothing"},
		{Users: []string{"ada"}, Text: "lu", States: []core.State{core.Running, core.Cancelled}},
		{Deadline: store.WithDeadline}, {Deadline: store.NoDeadline, Users: []string{"ada"}},
		{Deadline: store.MetDeadline},
		{Deadline: store.MissedDeadline}, {Deadline: store.MissedDeadline, Now: 30},
		{Deadline: store.MissedDeadline, Cluster: "utk"},
	} {
		var want []core.JobID
		for i := range jobs {
			if q.MatchesJob(&jobs[i]) {
				want = append(want, jobs[i].ID)
			}
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 7, 1000} {
			if got := f.findAll(q, limit); !slices.Equal(got, want) {
				f.Errorf("%+v finds %v in pages of %d, want %v", q, got, limit, want)
			}
		}
	}
	some := []core.JobID{3, 59, 200, 8}
	if got := jobIDs(mustGet[[]store.Job](f)(f.s.ReadJobs(f.ctx, some))); !slices.Equal(got, []core.JobID{59, 8, 3}) {
		f.Errorf("read %v of %v", got, some)
	}
	of := mustGet[map[core.JobID]string](f)(f.s.UsersOf(f.ctx, some))
	if len(of) != 3 || of[3] != "ada" || of[8] != "bob" {
		f.Errorf("%v are those of %v", some, of)
	}
	counts := mustGet[[]store.JobCount](f)(f.s.CountJobs(f.ctx))
	total := 0
	for _, c := range counts {
		want := f.findAll(store.Search{Users: []string{c.User}, States: []core.State{c.State}}, 1000)
		if total += c.N; c.N != len(want) || c.N == 0 {
			f.Errorf("%s has %d jobs that are %v, %d are found", c.User, c.N, c.State, len(want))
		}
	}
	if total != len(jobs) {
		f.Errorf("%d jobs are counted of %d", total, len(jobs))
	}
}

// findAll follows a search from page to page.
func (f *fixture) findAll(q store.Search, limit int) []core.JobID {
	f.Helper()
	var all []core.JobID
	for q.Limit = limit; ; {
		found := mustGet[store.Found](f)(f.s.FindNumbers(f.ctx, &q))
		if len(found.Numbers) > limit || found.Next != 0 && q.Below != 0 && found.Next >= q.Below {
			f.Fatalf("%+v finds %+v", q, found)
		}
		all = append(all, found.Numbers...)
		if q.Below = found.Next; q.Below == 0 {
			return all
		}
	}
}

func testEventsSince(f *fixture) {
	b := &store.Batch{First: 1}
	for i := range 9 {
		b.Events = append(b.Events, core.Event{Kind: core.JobProgressed, Job: core.JobID(i + 1)})
	}
	f.commitBatch(b)
	jobsOf := func(n uint64, limit int) (ids []core.JobID) {
		for _, e := range mustGet[[]core.Event](f)(f.s.ListEvents(f.ctx, n, limit)) {
			ids = append(ids, e.Job)
		}
		return ids
	}
	if got := jobsOf(6, 100); !slices.Equal(got, []core.JobID{7, 8, 9}) {
		f.Errorf("after event 6: %v", got)
	}
	if got := jobsOf(0, 2); !slices.Equal(got, []core.JobID{1, 2}) {
		f.Errorf("the first two: %v", got)
	}
	if got := jobsOf(9, 5); got != nil {
		f.Errorf("after the last: %v", got)
	}
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 4, []byte(`"a"`)))
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 7, []byte(`"b"`)))
	if _, err := f.s.ListEvents(f.ctx, 1, 5); !errors.Is(err, store.ErrDropped) {
		f.Errorf("events that no snapshot needs: %v", err)
	}
	if got := jobsOf(7, 100); !slices.Equal(got, []core.JobID{8, 9}) {
		f.Errorf("after the snapshot: %v", got)
	}
}

func testOutlooks(f *fixture) {
	want := []store.Outlook{{Job: 2, At: 1, Early: 5, Middle: 6, Late: 9, Chance: 0.5},
		{Job: 2, At: 3, Early: 5, Middle: 7, Late: 9, Chance: -1}}
	f.commitBatch(&store.Batch{Outlooks: []store.Outlook{{Job: 1, At: 1}, want[1], {Job: 2, At: 1}}})
	f.commitBatch(&store.Batch{Outlooks: want[:1]})
	f.crashStore()
	if diff := cmp.Diff(want, mustGet[[]store.Outlook](f)(f.s.ListOutlooks(f.ctx, 2))); diff != "" {
		f.Errorf("(-want +got)\n%s", diff)
	}
	if err := f.s.CommitBatch(f.ctx, &store.Batch{Outlooks: []store.Outlook{{Chance: math.NaN()}}}); err == nil {
		f.Error("a chance that is no number was stored")
	}
}
