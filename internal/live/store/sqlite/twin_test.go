package sqlite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// drawn is a random batch over few names, so that they meet.
func drawn(t *rapid.T, next uint64) *store.Batch {
	small := func(what string) int { return rapid.IntRange(0, 6).Draw(t, what) }
	word := func(what string) string {
		return rapid.SampledFrom([]string{"", "a", "ab", "ünï", "a'b"}).Draw(t, what)
	}
	b := &store.Batch{First: next, Settings: map[string]string{}}
	if small("wrong number") == 0 {
		b.First++
	}
	for range small("events") {
		b.Events = append(b.Events, core.Event{Kind: core.JobProgressed, Job: core.JobID(small("job"))})
	}
	if small("send") > 3 {
		b.Send = append(b.Send, store.Outbound{ID: uint64(rapid.IntRange(0, 50).Draw(t, "id")),
			Command: core.Command{Kind: core.Start}})
	}
	for range small("sent") {
		b.Sent = append(b.Sent, uint64(rapid.IntRange(0, 50).Draw(t, "id")))
	}
	for range small("jobs") / 2 {
		j := store.Job{ID: core.JobID(small("number")), Unique: fmt.Sprint(word("unique"), small("unique")),
			User: word("user"), Parent: core.JobID(small("parent") / 3),
			State: core.State(1 + small("state")*2), Work: word("work"), Result: word("result"), StagedOut: small("home") > 3}
		if small("spec") > 1 {
			j.Spec = &jobfile.Job{Name: word("name")}
		}
		b.Jobs = append(b.Jobs, j)
	}
	if n := small("array"); n > 4 {
		b.Arrays = append(b.Arrays, store.Array{ID: core.JobID(small("number")), Spec: &jobfile.Job{}, Count: 9,
			Next:     small("next"),
			Template: store.Job{Work: word("work")}})
	}
	for range small("flows") / 2 {
		f := store.Flow{ID: int64(small("number")), Key: word("key"), Owner: uint32(small("owner") / 3), User: word("user"),
			Work:  word("work"),
			State: rapid.SampledFrom([]store.FlowState{"", store.FlowRunning, store.FlowFailed}).Draw(t, "state")}
		if small("spec") > 1 {
			f.Spec = []byte(word("spec"))
		}
		b.Flows = append(b.Flows, f)
		b.FlowTasks = append(b.FlowTasks,
			store.FlowTask{Flow: f.ID, N: small("n"), Job: core.JobID(small("job")), Why: word("why")})
		b.FlowEntries = append(b.FlowEntries, store.FlowEntry{Flow: f.ID, Entry: wire.Entry{Kind: word("kind")}})
	}
	for range small("pools") / 2 {
		p := store.Pool{ID: int64(small("number")), Key: word("key"), Owner: uint32(small("owner") / 3), User: word("user"),
			Work: word("work"), Items: small("items"),
			State: rapid.SampledFrom([]store.PoolState{"", store.PoolRunning, store.PoolFailed}).Draw(t, "state")}
		if small("spec") > 1 {
			p.Spec = []byte(word("spec"))
		}
		b.Pools = append(b.Pools, p)
		b.PoolChunks = append(b.PoolChunks, store.PoolChunk{Pool: p.ID, N: small("n"), Counted: []uint64{uint64(small("bits"))},
			Failed: []store.PoolFailure{{Item: small("item"), Code: small("code")}}})
	}
	for range small("tales") {
		id := core.JobID(small("job"))
		b.Entries = append(b.Entries, store.Entry{Job: id, Entry: wire.Entry{Kind: word("kind")}})
		b.Checkpoints = append(b.Checkpoints,
			store.Checkpoint{Job: id, Saved: wire.Saved{N: small("n"), Image: word("image"), Work: word("work")}})
		b.Forget = append(b.Forget, store.CheckpointID{Job: core.JobID(small("job")), N: small("n")})
		b.Settings[word("setting")] = word("value")
	}
	for range small("weather") {
		b.Weather = append(b.Weather, store.Reading{What: word("what"), From: word("from"), To: word("to"),
			At: core.Time(rapid.IntRange(0, 40).Draw(t, "at")), Value: float64(small("value"))})
	}
	if n := small("thin"); n > 3 {
		b.Thin = &store.Thin{Before: core.Time(10 * n), Step: time.Duration(small("step")), Drop: core.Time(small("drop"))}
	}
	for range small("history") {
		id, at := core.JobID(small("job")), core.Time(small("at"))
		b.Runs = append(b.Runs, history.Run{Job: id, Epoch: core.Epoch(small("epoch")), Ended: at, Cluster: word("cluster"),
			Program: word("program"), User: word("user")})
		b.Transfers = append(b.Transfers,
			history.Transfer{Job: id, At: at, From: word("from"), To: word("to"), Program: word("program")})
		b.Quotes = append(b.Quotes, history.Quote{Job: id, At: at, Cluster: word("cluster"), Kind: word("kind"),
			Program: word("program"), Chance: float64(small("chance"))})
	}
	return b
}

// answers is everything that can be asked of a store.
func answers(t *rapid.T, s store.Store, p store.Past, f store.Filter) string {
	var all []any
	add := func(v any, err error) {
		if err != nil {
			v = "an error"
		}
		all = append(all, v)
	}
	ctx := t.Context()
	l, err := s.LoadState(ctx)
	add(l, err)
	for _, ref := range []string{"", "0", "1", "2", "3", "a", "ab", "ab1", "ü", "a'"} {
		j, err := s.FindJob(ctx, ref)
		if err == nil {
			add([]any{j, j.ID, j.Unique, j.User, j.Submitted, j.Parent, j.Spec}, nil)
		} else {
			add(nil, err)
		}
	}
	jobs, err := s.ListJobs(ctx, f)
	for i := range jobs {
		add(jobs[i].ID, err)
	}
	for id := range core.JobID(7) {
		entries, err1 := s.ListEntries(ctx, id)
		add(entries, err1)
		saved, err2 := s.ListCheckpoints(ctx, id)
		add(saved, err2)
	}
	roots, err := s.ListRoots(ctx)
	add(roots, err)
	for id := range int64(7) {
		f, err := s.FindFlow(ctx, id)
		if err == nil {
			add([]any{f, f.ID, f.Owner, f.Key, f.User, string(f.Spec)}, nil)
		} else {
			add(nil, err)
		}
		tasks, err := s.ListFlowTasks(ctx, id)
		add(tasks, err)
		entries, err := s.ListFlowEntries(ctx, id)
		add(entries, err)
	}
	for id := range int64(7) {
		p, err := s.FindPool(ctx, id)
		if err == nil {
			add([]any{p, p.ID, p.Owner, p.Key, p.User, string(p.Spec)}, nil)
		} else {
			add(nil, err)
		}
		chunks, err := s.ListPoolChunks(ctx, id)
		add(chunks, err)
	}
	for _, f := range []store.FlowFilter{{}, {AllOwners: true, Open: true}, {Owner: 1, Key: "a"},
		{AllOwners: true, Limit: 2}} {
		pools, err := s.ListPools(ctx, f)
		for i := range pools {
			add([]any{pools[i], pools[i].ID, pools[i].Key}, err)
		}
		flows, err := s.ListFlows(ctx, f)
		for i := range flows {
			add(flows[i].ID, err)
		}
	}
	for _, name := range []string{"", "a", "ab"} {
		value, err := s.GetSetting(ctx, name)
		add(value, err)
	}
	runs, err := s.ListRuns(ctx, p)
	add(runs, err)
	transfers, err := s.ListTransfers(ctx, p)
	add(transfers, err)
	quotes, err := s.ListQuotes(ctx, p)
	add(quotes, err)
	for _, series := range []store.Series{{}, {What: "a", Newest: 2}, {From: "ab", Since: p.Since},
		{To: "a'b", Newest: p.Limit, Since: p.Since}} {
		readings, err := s.ListReadings(ctx, series)
		add(readings, err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "[]", "null") // a list with nothing in it is no list
}

func TestTheStoreInAFileAnswersLikeThePlainOne(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		path := filepath.Join(folder, "store.db")
		file, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		plain := memory.New()
		next := uint64(1)
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			b := drawn(t, next)
			err1, err2 := file.CommitBatch(t.Context(), b), plain.CommitBatch(t.Context(), b)
			if (err1 == nil) != (err2 == nil) {
				t.Fatalf("the file says %v, the plain one %v", err1, err2)
			}
			if err1 == nil {
				next += uint64(len(b.Events))
			}
			if upTo := uint64(rapid.IntRange(0, 30).Draw(t, "snapshot")); upTo < 10 {
				err1, err2 := file.SaveSnapshot(t.Context(), upTo, []byte{1}), plain.SaveSnapshot(t.Context(), upTo, []byte{1})
				if (err1 == nil) != (err2 == nil) {
					t.Fatalf("a snapshot after %d: the file says %v, the plain one %v", upTo, err1, err2)
				}
			}
			if rapid.IntRange(0, 5).Draw(t, "reopen") == 0 {
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
				if file, err = Open(t.Context(), path); err != nil {
					t.Fatal(err)
				}
			}
		}
		p := store.Past{Cluster: rapid.SampledFrom([]string{"", "a"}).Draw(t, "cluster"),
			Program: rapid.SampledFrom([]string{"", "ab"}).Draw(t, "program"),
			User:    rapid.SampledFrom([]string{"", "", "a"}).Draw(t, "user"),
			Since:   core.Time(rapid.IntRange(0, 3).Draw(t, "since")), Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
		f := store.Filter{Open: rapid.Bool().Draw(t, "open"), User: p.User,
			Parent: core.JobID(rapid.IntRange(0, 1).Draw(t, "parent")), Limit: p.Limit}
		if a, b := answers(t, file, p, f), answers(t, plain, p, f); a != b {
			t.Fatalf("the file answers\n%s\nthe plain one\n%s", a, b)
		}
	})
}
