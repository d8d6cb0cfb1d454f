package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/storetest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// place is a file in a folder of the test.
type place struct {
	path string
	open *Store
}

func (p *place) Open() (store.Store, error) {
	s, err := Open(context.Background(), p.path)
	if err != nil {
		return nil, err
	}
	p.open = s
	return s, nil
}

// CrashStore lets go of the file as the kernel does when a process is killed:
// nothing is written any more.
func (p *place) CrashStore() { _ = p.open.Close() }

func newPlace(t testing.TB) *place {
	return &place{path: filepath.Join(t.TempDir(), "a ?folder#with %41 ü.db")}
}

func TestTheStoreInAFilePassesTheSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Backend { return newPlace(t) })
}

func TestEveryCommitIsSyncedToTheDisk(t *testing.T) {
	s := opened(t, newPlace(t).path)
	defer s.Close()
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "busy_timeout": "5000"} {
		var got string
		must(t, s.write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

// Events that no snapshot needs are dropped, the oldest first and some at a time: whoever dies
// in between leaves a log without gaps.
func TestEventsThatNoSnapshotNeedsAreDroppedSomeAtATime(t *testing.T) {
	s := opened(t, newPlace(t).path)
	defer s.Close()
	const last = 2*eventsPerDrop + 10
	b := &store.Batch{First: 1}
	for range last {
		b.Events = append(b.Events, core.Event{Kind: core.QueueScanned})
	}
	must(t, s.CommitBatch(t.Context(), b))
	firstLeft := func() uint64 {
		l, err := s.LoadState(t.Context())
		must(t, err)
		return l.First
	}
	must(t, s.SaveSnapshot(t.Context(), last-1, []byte("one")))
	must(t, s.putSnapshot(t.Context(), last, []byte("two")))
	if first := firstLeft(); first != 1 {
		t.Errorf("the log begins with event %d", first)
	}
	more, err := s.dropEvents(t.Context())
	if first := firstLeft(); err != nil || !more || first != 1+eventsPerDrop {
		t.Errorf("the log begins with event %d, more are to go: %v, %v", first, more, err)
	}
	must(t, s.SaveSnapshot(t.Context(), last, []byte("two again")))
	if first := firstLeft(); first != last {
		t.Errorf("the log begins with event %d of %d", first, last)
	}
}

func TestWhatOneUserAsksForIsFoundWithoutLookingAtWhatOthersHave(t *testing.T) {
	s := opened(t, newPlace(t).path)
	defer s.Close()
	var jobs conditions
	jobs.addCondition("user = ?", "ada")
	runs := pastConditions(&store.Past{Program: "sh"}, "ended")
	runs.addCondition("user = ?", "ada")
	for _, c := range []struct {
		query, index string
		args         []any
	}{
		{"SELECT body FROM jobs" + jobs.whereClause("number DESC", 20), "jobs_user", jobs.args},
		{"SELECT body FROM runs" + runs.whereClause("ended DESC, job DESC, epoch DESC", 9), "runs_user", runs.args},
	} {
		var plan string
		err := eachRow(t.Context(), s.read, "EXPLAIN QUERY PLAN "+c.query, c.args, func(rows *sql.Rows) error {
			var id, parent, unused int
			var step string
			err := rows.Scan(&id, &parent, &unused, &step)
			plan += step + "; "
			return err
		})
		if err != nil || !strings.Contains(plan, c.index) {
			t.Errorf("%s: %s %v", c.query, plan, err)
		}
	}
}
