package sqlite

import (
	"context"
	"database/sql"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// putSteps stores the steps of a batch as one row, which has the number of the commit. Without
// steps the row is empty.
func (s *Store) putSteps(ctx context.Context, b *store.Batch) error {
	body := []byte("[]")
	if len(b.Steps) > 0 {
		var err error
		if body, err = encodeBody(b.Steps); err != nil {
			return err
		}
	}
	_, err := s.stmts.steps.ExecContext(ctx, int64(s.commits)+1, int64(s.next), bodyChecksum(body), body)
	return err
}

// dropSteps is a part of dropEvents. The last row stays: it counts the commits.
func (s *Store) dropSteps(ctx context.Context) (int64, error) {
	done, err := s.write.ExecContext(ctx, `DELETE FROM steps WHERE first <= (SELECT min(up_to) FROM snapshots)
		AND (SELECT count(*) FROM snapshots) > 1 AND n < ? + (SELECT min(n) FROM steps) AND n < (SELECT max(n) FROM steps)`, eventsPerDrop)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// ReadLog implements store.Store. It reads in one transaction: what is written or dropped
// meanwhile changes nothing.
func (s *Store) ReadLog(ctx context.Context, see func(*store.LogPart) error) error {
	return s.queryReaders(ctx, func() error {
		tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // only read from
		return (&logReader{tx: tx}).readAll(ctx, see)
	})
}

type logReader struct{ tx *sql.Tx }

func (r *logReader) readAll(ctx context.Context, see func(*store.LogPart) error) error {
	var from, next uint64
	if err := r.tx.QueryRowContext(ctx, `SELECT coalesce((SELECT min(n) FROM events), 0),
		1 + max(coalesce((SELECT max(n) FROM events), 0), coalesce((SELECT max(up_to) FROM snapshots), 0))`).Scan(&from,
		&next); err != nil {
		return err
	}
	if from == 0 {
		from = next
	}
	snapshot, err := r.oldestSnapshot(ctx, from)
	if err != nil {
		return err
	}
	if snapshot != nil {
		from = snapshot.UpTo + 1
	} else if from > 1 {
		return damagedError("no snapshot can be read and the events before number %d are gone", from)
	}
	if err := see(&store.LogPart{Snapshot: snapshot, First: from}); err != nil {
		return err
	}
	rows := func(yield func(store.LogRow) error) error { return r.eachStepRow(ctx, yield) }
	return store.JoinLog(rows, from, next,
		func(from, below uint64) ([]core.Event, error) { return r.listEvents(ctx, from, below) }, see)
}

// oldestSnapshot is the oldest one that can be read and whose events are there; nil if there is none.
func (r *logReader) oldestSnapshot(ctx context.Context, from uint64) (*store.Snapshot, error) {
	var found *store.Snapshot
	err := eachRow(ctx, r.tx, "SELECT up_to, state, sum FROM snapshots ORDER BY up_to DESC", nil,
		func(rows *sql.Rows) error {
			var snap store.Snapshot
			var check int64
			if err := rows.Scan(&snap.UpTo, &snap.State, &check); err != nil {
				return err
			}
			if bodyChecksum(snap.State) == check && snap.UpTo+1 >= from {
				found = &snap
			}
			return nil
		})
	return found, err
}

// rowsPerRead is how many rows of steps are read at once: their events are read in between.
const rowsPerRead = 100

func (r *logReader) eachStepRow(ctx context.Context, yield func(store.LogRow) error) error {
	for last := int64(0); ; {
		var page []store.LogRow
		err := eachRow(ctx, r.tx, "SELECT n, first, sum, body FROM steps WHERE n > ? AND length(body) > 2 ORDER BY n LIMIT ?",
			[]any{last, rowsPerRead}, func(rows *sql.Rows) error {
				var row store.LogRow
				var check int64
				var body sql.RawBytes
				if err := rows.Scan(&last, &row.First, &check, &body); err != nil {
					return err
				}
				page = append(page, row)
				return decodeBody(body, check, &page[len(page)-1].Steps, "what the engine was told before event %d", row.First)
			})
		if err != nil {
			return err
		}
		for i := range page {
			if err := yield(page[i]); err != nil {
				return err
			}
		}
		if len(page) < rowsPerRead {
			return nil
		}
	}
}

func (r *logReader) listEvents(ctx context.Context, from, below uint64) ([]core.Event, error) {
	var list []core.Event
	if from >= below {
		return nil, nil
	}
	err := eachRow(ctx, r.tx, "SELECT n, body, sum FROM events WHERE n >= ? AND n < ? ORDER BY n", []any{from, below},
		func(rows *sql.Rows) error {
			var n uint64
			var body sql.RawBytes
			var check int64
			if err := rows.Scan(&n, &body, &check); err != nil {
				return err
			}
			if n != from+uint64(len(list)) {
				return damagedError("event %d is missing", from+uint64(len(list)))
			}
			list = append(list, core.Event{})
			return decodeBody(body, check, &list[len(list)-1], "event %d", n)
		})
	return list, err
}
