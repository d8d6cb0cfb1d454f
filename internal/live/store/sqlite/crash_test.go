package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// childStore names the store of a child process that commits until it is
// killed.
const childStore = "GODWIT_TEST_CHILD_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childStore); path != "" {
		fmt.Println(commitForEver(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// batchOf is the k-th batch of the child: from k alone follows what must be in
// it.
func batchOf(k int, first uint64) *store.Batch {
	b := &store.Batch{First: first, Settings: map[string]string{"last": strconv.Itoa(k)}}
	for i := range 1 + k%5 {
		b.Events = append(b.Events, core.Event{At: core.Time(k), Kind: core.JobProgressed, Job: core.JobID(k), Part: i})
	}
	for i := range 1 + k%7 {
		b.Entries = append(b.Entries, store.Entry{Job: core.JobID(k), Entry: wire.Entry{At: core.Time(i), Kind: "note"}})
	}
	b.Jobs = []store.Job{{ID: core.JobID(k), Unique: fmt.Sprintf("id%d", k),
		Spec: &jobfile.Job{Argv: make([]string, k%300)}, State: core.Running, Seq: uint64(k)}}
	if k > 1 {
		b.Jobs = append(b.Jobs, store.Job{ID: core.JobID(k - 1), Unique: fmt.Sprintf("id%d", k-1), State: core.Done,
			Seq: uint64(k)})
		b.Sent = []uint64{uint64(k - 1)}
	}
	b.Send = []store.Outbound{{ID: uint64(k), Command: core.Command{Kind: core.Start, Job: core.JobID(k), Epoch: 1}}}
	b.Runs = []history.Run{{Job: core.JobID(k), Epoch: 1, Ended: core.Time(k)}}
	return b
}

// commitForEver commits batch after batch and says so on stdout once one is
// acknowledged.
func commitForEver(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	l, err := s.LoadState(ctx)
	if err != nil {
		return err
	}
	next := l.NextEvent()
	for k := int(l.NextJob); ; k++ {
		b := batchOf(k, next)
		if err := s.CommitBatch(ctx, b); err != nil {
			return err
		}
		next += uint64(len(b.Events))
		if _, err := fmt.Println(k); err != nil {
			return err
		}
		if k%20 == 0 {
			state, err := json.Marshal(k)
			if err != nil {
				return err
			}
			if err := s.SaveSnapshot(ctx, next-1, state); err != nil {
				return err
			}
		}
	}
}

// startChild starts a process that commits to the store; it ends when the test
// does.
func startChild(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childStore+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func TestWhatWasAcknowledgedIsThereAfterAKillAtAnyMoment(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	path := filepath.Join(t.TempDir(), "store.db")
	random := rand.New(rand.NewPCG(7, 11))
	acknowledged := 0
	for range rounds {
		cmd, acks := startChild(t, path)
		kill := max(0, random.IntN(60)-10)
		for seen := 0; seen < kill && acks.Scan(); seen++ {
			acknowledged = mustNumber(t, acks.Text())
		}
		most := 3000 // microseconds: somewhere within the next commit or snapshot
		if kill == 0 {
			most = 30000 // or while it opens the store
		}
		time.Sleep(time.Duration(random.IntN(most)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for acks.Scan() { // what it said before it died
			acknowledged = mustNumber(t, acks.Text())
		}
		_ = cmd.Wait() // killed
		if last := everyBatchIsWhole(t, path); last < acknowledged || last > acknowledged+1 {
			t.Fatalf("batch %d was acknowledged, %d is the last in the store", acknowledged, last)
		} else {
			acknowledged = last // the next child begins behind it, and may die before it says anything
		}
	}
	t.Logf("%d batches, killed %d times", acknowledged, rounds)
}

func mustNumber(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("the child says %q", text)
	}
	return n
}

// everyBatchIsWhole checks the store against what the child must have written,
// and returns the number of its last batch.
func everyBatchIsWhole(t *testing.T, path string) int {
	t.Helper()
	ctx := t.Context()
	s, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.LoadState(ctx)
	if err != nil {
		t.Fatal(err)
	}
	setting, err := s.GetSetting(ctx, "last")
	if err != nil {
		t.Fatal(err)
	}
	last, _ := strconv.Atoi(setting)
	total := uint64(1)
	for k := 1; k <= last; k++ {
		total += uint64(1 + k%5)
	}
	if l.NextEvent() != total || int(l.NextJob) != last+1 || len(l.Jobs) > 1 || len(l.Outbox) != min(1, last) {
		t.Fatalf("after batch %d: next event %d, want %d; next job %d, %d open, %d in the outbox", last, l.NextEvent(), total,
			l.NextJob, len(l.Jobs), len(l.Outbox))
	}
	count := map[core.JobID]int{}
	for _, ev := range l.Events {
		count[ev.Job]++
	}
	if len(l.Events) > 0 {
		delete(count, l.Events[0].Job) // a snapshot may have cut that one
	}
	for job, n := range count {
		if n != 1+int(job)%5 {
			t.Errorf("batch %d has %d events", job, n)
		}
	}
	for k := max(1, last-70); k <= last; k++ {
		entries, err1 := s.ListEntries(ctx, core.JobID(k))
		j, err2 := s.FindJob(ctx, strconv.Itoa(k))
		runs, err3 := s.ListRuns(ctx, store.Past{Job: core.JobID(k)})
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1+k%7 || len(j.Spec.Argv) != k%300 || len(runs) != 1 ||
			(k < last) != (j.State == core.Done && j.Seq == uint64(k+1)) {
			t.Fatalf("batch %d of %d: %d entries, job %+v, %d runs", k, last, len(entries), j, len(runs))
		}
	}
	for _, snap := range l.Snapshots {
		if after, ok := l.EventsAfter(snap.UpTo); !ok || len(after) > 0 && mustNumber(t, string(snap.State))+
			1 != int(after[0].Job) {
			t.Fatalf("after the snapshot of batch %s come %v", snap.State, after)
		}
	}
	return last
}

func TestAStoreThatAnotherProcessHasOpenIsRefusedWithTheReason(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	cmd, acks := startChild(t, path)
	if !acks.Scan() {
		t.Fatal("the child says nothing")
	}
	if _, err := Open(t.Context(), path); !errors.Is(err, store.ErrLocked) {
		t.Errorf("opened beside another process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for acks.Scan() {
		continue
	}
	_ = cmd.Wait()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatalf("the other process is dead, and still: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
