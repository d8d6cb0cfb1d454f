package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// filled is a closed store with a few jobs and two snapshots.
func filled(t testing.TB) string {
	t.Helper()
	p := newPlace(t)
	s := opened(t, p.path)
	b := life(1, 1, 20)
	for i := range b.Entries {
		b.Entries[i].Why = fmt.Sprintf("needle%02d", i)
	}
	for _, err := range []error{
		s.CommitBatch(t.Context(), b), s.SaveSnapshot(t.Context(), 10, []byte("the state after event 10")),
		s.SaveSnapshot(t.Context(), 20, []byte("the state after event 20")), s.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return p.path
}

func opened(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// raw runs statements on a store behind its back.
func raw(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
}

// flip changes one byte of what stands in the file.
func flip(t *testing.T, path, what string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(what))
	if at < 0 {
		t.Fatalf("%q is not in the file", what)
	}
	data[at+len(what)-1] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedFileGivesOneClearError(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"not a database": func(t *testing.T, path string) { write(t, path, strings.Repeat("rubbish ", 1000)) },
		"cut off":        func(t *testing.T, path string) { must(t, os.Truncate(path, 4096*3)) },
		"an event changed": func(t *testing.T, path string) {
			raw(t, path, `UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '"job":', '"job":1') AS BLOB) WHERE n = 26`)
		},
		"an event missing":     func(t *testing.T, path string) { raw(t, path, "DELETE FROM events WHERE n = 30") },
		"the last one missing": func(t *testing.T, path string) { raw(t, path, "DELETE FROM events WHERE n > 15") },
		"a job changed": func(t *testing.T, path string) {
			raw(t, path, `UPDATE jobs SET body = CAST(replace(CAST(body AS TEXT), '"', '" ') AS BLOB) WHERE number = 3`)
		},
		"a description changed": func(t *testing.T, path string) {
			raw(t, path, "UPDATE jobs SET spec = CAST('{}' AS BLOB) WHERE number = 3")
		},
		"a job unreadable": func(t *testing.T, path string) { raw(t, path, "UPDATE jobs SET body = x'00' WHERE number = 3") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			spoil(t, path)
			s, err := Open(t.Context(), path)
			if err == nil {
				_, err = s.LoadState(t.Context())
				must(t, s.Close())
			}
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestADamagedSnapshotIsNotUsedAndTheOneBeforeItIs(t *testing.T) {
	path := filled(t)
	flip(t, path, "the state after event 20")
	s := opened(t, path)
	defer s.Close()
	l, err := s.LoadState(t.Context())
	if err != nil || len(l.Snapshots) != 1 || l.Snapshots[0].UpTo != 10 {
		t.Fatalf("loaded %v, %v", l, err)
	}
	if after, ok := l.EventsAfter(10); !ok || len(after) != 20*7-10 {
		t.Errorf("%d events come after it, %v", len(after), ok)
	}
}

func TestAChangedBitInAnEventIsNoticed(t *testing.T) {
	path := filled(t)
	flip(t, path, `"kind":"job-became","job":17`) // still JSON, still an event
	s := opened(t, path)
	defer s.Close()
	if _, err := s.LoadState(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("the error is %v", err)
	}
}

func TestAStoreOfANewerVersionIsNotTouched(t *testing.T) {
	path := filled(t)
	raw(t, path, "PRAGMA user_version = 99")
	if _, err := Open(t.Context(), path); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "99") {
		t.Errorf("the error is %v", err)
	}
	list, err := migrationSteps(migrations)
	must(t, err)
	raw(t, path, fmt.Sprintf("PRAGMA user_version = %d", len(list)))
	must(t, opened(t, path).Close())
}

func TestAFileOfAnotherProgramIsNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	raw(t, path, "CREATE TABLE mine (x)")
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a store of Godwit") {
		t.Errorf("the error is %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "missing", "store.db")); err == nil ||
		!strings.Contains(err.Error(), "missing") {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

func TestOnlyTheOwnerMayReadTheStore(t *testing.T) {
	p := newPlace(t)
	write(t, p.path, "")
	must(t, os.Chmod(p.path, 0o644))
	s := opened(t, p.path)
	defer s.Close()
	must(t, s.CommitBatch(t.Context(), life(1, 1, 1)))
	files, err := os.ReadDir(filepath.Dir(p.path))
	must(t, err)
	if len(files) != 5 { // itself, its log, the index of that, the lock, the witness
		t.Errorf("there are %d files: %v", len(files), files)
	}
	for _, f := range files {
		info, err := f.Info()
		must(t, err)
		if info.Mode().Perm() != 0o600 || !strings.HasPrefix(f.Name(), filepath.Base(p.path)) {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
	}
}

func TestWhatFindsNoSpaceIsNotStoredAndTheStoreGoesOn(t *testing.T) {
	s := opened(t, newPlace(t).path)
	defer s.Close()
	must(t, s.CommitBatch(t.Context(), life(1, 1, 2)))
	var pages int
	must(t, s.write.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
	limit := func(n int) {
		if _, err := s.write.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 2)
	if err := s.CommitBatch(t.Context(), life(15, 3, 500)); !errors.Is(err, store.ErrFull) {
		t.Fatalf("a full disk gives %v", err)
	}
	l, err := s.LoadState(t.Context())
	if err != nil || l.NextEvent() != 15 || l.NextJob != 3 {
		t.Fatalf("loaded %+v, %v", l, err)
	}
	limit(1 << 30)
	must(t, s.CommitBatch(t.Context(), life(15, 3, 500)))
}

func TestMigrationsAreNumberedWithoutAGap(t *testing.T) {
	list, err := migrationSteps(migrations)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d migrations, %v", len(list), err)
	}
}

// FuzzDamagedFile: whatever a disk does to the file, the store gives an error
// or an answer.
func FuzzDamagedFile(f *testing.F) {
	path := filled(f)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte("x"))
	f.Add(uint32(100), bytes.Repeat([]byte{0xff}, 64))
	f.Add(uint32(57), []byte("000\xd3")) // a negative version
	f.Add(uint32(4096), make([]byte, 4096))
	f.Add(uint32(4096*5+8), []byte{0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at uint32, damage []byte) {
		data := bytes.Clone(whole)
		copy(data[int(at)%len(data):], damage)
		path := filepath.Join(t.TempDir(), "store.db")
		must(t, os.WriteFile(path, data, 0o600))
		s, err := Open(t.Context(), path)
		if err != nil {
			return
		}
		_, _ = s.LoadState(t.Context())
		_, _ = s.ListJobs(t.Context(), store.Filter{})
		_, _ = s.ListEntries(t.Context(), 5)
		_, _ = s.ListRoots(t.Context())
		_ = s.CommitBatch(t.Context(),
			&store.Batch{Entries: []store.Entry{{Job: core.JobID(5), Entry: wire.Entry{Kind: "note"}}}})
		_ = s.Close()
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// A write-ahead log that was cut off is, to SQLite, one that was never written further.
func TestACutLogIsNoticed(t *testing.T) {
	p := newPlace(t)
	s := opened(t, p.path)
	for i := range 20 {
		must(t, s.CommitBatch(t.Context(), life(uint64(1+7*i), core.JobID(1+i), 1)))
	}
	copied := filepath.Join(t.TempDir(), "copy.db") // as a kill would leave it: closing would empty the log
	for _, end := range []string{"", "-wal", ".commits"} {
		data, err := os.ReadFile(p.path + end)
		must(t, err)
		if end == "-wal" {
			data = data[:len(data)/2]
		}
		must(t, os.WriteFile(copied+end, data, 0o600))
	}
	must(t, s.Close())
	_, err := Open(t.Context(), copied)
	if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "commits") {
		t.Fatalf("the error is %v", err)
	}
	must(t, os.Remove(copied+".commits")) // as it says
	again := opened(t, copied)
	defer again.Close()
	if _, err := again.LoadState(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAStoreThatWasMovedAwayBeginsAnew(t *testing.T) {
	path := filled(t)
	must(t, os.Remove(path))
	must(t, opened(t, path).Close())
}

func TestAWitnessThatSaysNothingIsNoHarm(t *testing.T) {
	path := filled(t)
	write(t, path+".commits", "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00")
	must(t, opened(t, path).Close())
}

// The commits that a store of an earlier form has counted stay counted.
func TestCommitsStayCountedInANewForm(t *testing.T) {
	list, err := migrationSteps(migrations)
	must(t, err)
	for _, c := range []struct {
		witnessed uint64
		lost      bool
	}{{7, false}, {9, true}} {
		path := newPlace(t).path
		var earlier strings.Builder
		for _, m := range list[:8] {
			earlier.WriteString(m.sql)
		}
		raw(t, path, earlier.String(), "UPDATE commits SET n = 7", fmt.Sprintf("PRAGMA application_id = %d", applicationID),
			"PRAGMA user_version = 8")
		w, err := openWitness(path, true)
		must(t, err)
		must(t, errors.Join(w.writeCount(c.witnessed), w.closeFile()))
		s, err := Open(t.Context(), path)
		if c.lost {
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("with 7 of 9 commits the error is %v", err)
			}
			continue
		}
		must(t, err)
		if err := s.ReadLog(t.Context(), func(p *store.LogPart) error {
			if len(p.Events)+len(p.Steps) > 0 {
				t.Errorf("an empty log has %+v", p)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		must(t, errors.Join(s.CommitBatch(t.Context(), life(1, 1, 1)), s.Close()))
		if s = opened(t, path); s.commits != 8 {
			t.Errorf("%d commits are counted after the eighth", s.commits)
		}
		must(t, s.Close())
	}
}

// A log of which no snapshot needs anything still says how many commits there were.
func TestCommitsStayCountedWhenTheLogIsDropped(t *testing.T) {
	path := newPlace(t).path
	s := opened(t, path)
	must(t, s.CommitBatch(t.Context(), &store.Batch{First: 1,
		Events: slices.Repeat([]core.Event{{Kind: core.QueueScanned}}, 10)}))
	must(t, s.SaveSnapshot(t.Context(), 9, []byte("one")))
	must(t, s.SaveSnapshot(t.Context(), 10, []byte("two")))
	must(t, s.Close())
	if s = opened(t, path); s.commits != 1 {
		t.Errorf("%d commits are counted after one", s.commits)
	}
	must(t, s.Close())
}
