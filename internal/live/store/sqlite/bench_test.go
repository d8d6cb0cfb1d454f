package sqlite

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// life is about what a broker stores for n short jobs from their submission to
// their end.
func life(first uint64, id core.JobID, n int) *store.Batch {
	b := &store.Batch{First: first}
	for range n {
		spec := &core.Job{ID: id, User: "ada", App: "true", Components: []core.Component{{Min: 1, Max: 1}}}
		b.Events = append(b.Events, core.Event{Kind: core.JobSubmitted, Job: id, Spec: spec})
		for to := core.Selected; to <= core.Running; to++ {
			b.Events = append(b.Events, core.Event{Kind: core.JobBecame, Job: id, From: to - 1, To: to,
				Why: core.Reason{Code: core.MakeRoom}})
		}
		b.Events = append(b.Events, core.Event{Kind: core.PartHeld, Job: id, Epoch: 1, Procs: core.ProcSet{{Lo: 1, Hi: 2}}})
		j := store.Job{ID: id, Unique: fmt.Sprintf("%016x", uint64(id)*0x9e3779b97f4a7c15), User: "ada", State: core.Running,
			Cluster: "local", Epoch: 1,
			Spec: &jobfile.Job{Argv: []string{"true"}, Workdir: "/home/ada", Min: 1, Max: 1,
				Checkpoint: jobfile.Checkpoint{Method: "auto"}}}
		b.Jobs = append(b.Jobs, j)
		b.Entries = append(b.Entries, store.Entry{Job: id,
			Entry: wire.Entry{Kind: "place", Choice: "local", Why: "most idle processors", Inputs: map[string]any{"idle": 2}}})
		b.Send = append(b.Send, store.Outbound{ID: uint64(id), Command: core.Command{Kind: core.Start, Job: id, Epoch: 1}})
		b.Sent = append(b.Sent, uint64(id))
		id++
	}
	return b
}

func rows(b *store.Batch) int {
	return len(b.Events) + len(b.Jobs) + len(b.Entries) + len(b.Send) + len(b.Sent)
}

// BenchmarkCommit tells how many batches, jobs and rows a second become
// durable, by how many jobs are committed together.
func BenchmarkCommit(b *testing.B) {
	for _, together := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("jobs=%d", together), func(b *testing.B) {
			s, err := Open(b.Context(), newPlace(b).path)
			if err != nil {
				b.Fatal(err)
			}
			next, id, count := uint64(1), core.JobID(1), 0
			for b.Loop() {
				batch := life(next, id, together)
				if err := s.CommitBatch(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				next, id, count = next+uint64(len(batch.Events)), id+core.JobID(together), count+rows(batch)
			}
			seconds := b.Elapsed().Seconds()
			b.ReportMetric(float64(b.N)/seconds, "commits/s")
			b.ReportMetric(float64(b.N*together)/seconds, "jobs/s")
			b.ReportMetric(float64(count)/seconds, "rows/s")
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkLoad reads what a broker finds that had 1,000 open jobs and 7,000
// events since its snapshot.
func BenchmarkLoad(b *testing.B) {
	s, err := Open(b.Context(), newPlace(b).path)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.CommitBatch(b.Context(), life(1, 1, 1000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if l, err := s.LoadState(b.Context()); err != nil || len(l.Jobs) != 1000 {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFind finds a page of 200 among as many jobs as GODWIT_BENCH_JOBS says.
func BenchmarkFind(b *testing.B) {
	n := 20_000
	if text := os.Getenv("GODWIT_BENCH_JOBS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	s, err := Open(b.Context(), newPlace(b).path)
	if err != nil {
		b.Fatal(err)
	}
	const together = 5000
	for from := 1; from <= n; from += together {
		batch := &store.Batch{}
		for id := from; id < min(n+1, from+together); id++ {
			state := core.Done
			if id > n-1000 || id%100 == 0 {
				state = []core.State{core.Failed, core.Running}[id%2]
			}
			batch.Jobs = append(batch.Jobs, store.Job{ID: core.JobID(id), Unique: fmt.Sprintf("%016x", uint64(id)*0x9e3779b97f4a7c15),
				User: []string{"ada", "bob"}[id%2], State: state, Cluster: "local", StagedOut: true, Reason: "exited with code 0",
				Spec: &jobfile.Job{Name: fmt.Sprintf("sweep-%d", id%1000), Argv: []string{"python3", "train.py", "--seed", "7"},
					Workdir: "/home/ada", Min: 1, Max: 1, Caller: map[string]string{"PATH": strings.Repeat("/usr/bin:", 100)}}})
		}
		if err := s.CommitBatch(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	for _, q := range []struct {
		name string
		store.Search
	}{{name: "all"}, {name: "user", Search: store.Search{Users: []string{"ada"}}},
		{name: "state", Search: store.Search{Users: []string{"ada", "bob"}, States: []core.State{core.Failed}}},
		{name: "name", Search: store.Search{Users: []string{"ada"}, Name: "sweep-34"}},
		{name: "cluster", Search: store.Search{Cluster: "local", Users: []string{"bob"}}},
		{name: "text", Search: store.Search{Text: "sweep-77", Below: core.JobID(n / 2)}},
		{name: "nothing", Search: store.Search{Text: "nothing like it"}}} {
		b.Run(q.name, func(b *testing.B) {
			q.Limit = 200
			for b.Loop() {
				found, err := s.FindNumbers(b.Context(), &q.Search)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.ReadJobs(b.Context(), found.Numbers); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.CountJobs(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
