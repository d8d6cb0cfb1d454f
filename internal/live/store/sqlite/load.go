package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// loadNumbers finds the numbers of the next event and the next command.
func (s *Store) loadNumbers(ctx context.Context) error {
	return s.write.QueryRowContext(ctx, `SELECT
		1 + max(coalesce((SELECT max(n) FROM events), 0), coalesce((SELECT max(up_to) FROM snapshots), 0)),
		1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0)`).Scan(&s.next, &s.nextSend)
}

// LoadState implements store.Store.
func (s *Store) LoadState(ctx context.Context) (*store.Loaded, error) {
	l, err := s.loadAll(ctx)
	if err != nil {
		return nil, explainError(s.path, err)
	}
	return l, nil
}

func (s *Store) loadAll(ctx context.Context) (*store.Loaded, error) {
	s.mu.Lock() // nothing is written while it is read
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, err
	}
	l := &store.Loaded{}
	for _, part := range []func(context.Context, *store.Loaded) error{s.loadSnapshots, s.loadEvents, s.loadOutbox,
		s.loadJobs} {
		if err := part(ctx, l); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// loadSnapshots leaves damaged snapshots out: that is what the one before is
// kept for.
func (s *Store) loadSnapshots(ctx context.Context, l *store.Loaded) error {
	return eachRow(ctx, s.write, "SELECT up_to, state, sum FROM snapshots ORDER BY up_to DESC", nil,
		func(rows *sql.Rows) error {
			var snap store.Snapshot
			var check int64
			if err := rows.Scan(&snap.UpTo, &snap.State, &check); err != nil {
				return err
			}
			if bodyChecksum(snap.State) == check {
				l.Snapshots = append(l.Snapshots, snap)
			}
			return nil
		})
}

func (s *Store) loadEvents(ctx context.Context, l *store.Loaded) error {
	l.First = s.next
	err := eachRow(ctx, s.write, "SELECT n, body, sum FROM events ORDER BY n", nil, func(rows *sql.Rows) error {
		var n uint64
		var body sql.RawBytes
		var check int64
		if err := rows.Scan(&n, &body, &check); err != nil {
			return err
		}
		if len(l.Events) == 0 {
			l.First = n
		}
		if want := l.NextEvent(); n != want {
			return damagedError("event %d is missing", want)
		}
		l.Events = append(l.Events, core.Event{})
		return decodeBody(body, check, &l.Events[len(l.Events)-1], "event %d", n)
	})
	if err == nil && l.NextEvent() != s.next {
		err = damagedError("event %d is missing", l.NextEvent())
	}
	return err
}

func (s *Store) loadOutbox(ctx context.Context, l *store.Loaded) error {
	l.NextSend = s.nextSend
	return eachRow(ctx, s.write, "SELECT id, body, sum FROM outbox ORDER BY id", nil, func(rows *sql.Rows) error {
		var o store.Outbound
		var body sql.RawBytes
		var check int64
		if err := rows.Scan(&o.ID, &body, &check); err != nil {
			return err
		}
		if err := decodeBody(body, check, &o.Command, "command %d of the outbox", o.ID); err != nil {
			return err
		}
		l.Outbox = append(l.Outbox, o)
		return nil
	})
}

func (s *Store) loadJobs(ctx context.Context, l *store.Loaded) (err error) {
	if l.Jobs, err = queryJobs(ctx, s.write, "WHERE open = 1 ORDER BY number"); err != nil {
		return err
	}
	const next = "SELECT 1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0)"
	if err := s.write.QueryRowContext(ctx, next).Scan(&l.NextJob); err != nil {
		return err
	}
	return eachRow(ctx, s.write, "SELECT number, body, sum FROM arrays ORDER BY number", nil, func(rows *sql.Rows) error {
		var a store.Array
		var body sql.RawBytes
		var check int64
		if err := rows.Scan(&a.ID, &body, &check); err != nil {
			return err
		}
		if err := decodeBody(body, check, &a, "array %d", a.ID); err != nil {
			return err
		}
		l.NextJob = max(l.NextJob, a.EndID())
		l.Arrays = append(l.Arrays, a)
		return nil
	})
}

// decodeBody reads a body back, if it is what was written.
func decodeBody(body []byte, check int64, into any, what string, args ...any) error {
	if bodyChecksum(body) != check {
		return damagedError("%s is not what was written", fmt.Sprintf(what, args...))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return damagedError("%s cannot be read: %w", fmt.Sprintf(what, args...), err)
	}
	return nil
}

// eventsPerDrop is how many events are dropped at once: commits wait meanwhile.
const eventsPerDrop = 2_500

// SaveSnapshot implements store.Store.
func (s *Store) SaveSnapshot(ctx context.Context, upTo uint64, state []byte) error {
	err := s.putSnapshot(ctx, upTo, state)
	// Whoever is killed or stopped here leaves events that nobody needs: they are dropped with the
	// next snapshot.
	for more := true; err == nil && more && ctx.Err() == nil; {
		more, err = s.dropEvents(ctx)
	}
	return err
}

func (s *Store) putSnapshot(ctx context.Context, upTo uint64, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return err
	}
	var newest uint64
	if err := s.write.QueryRowContext(ctx, "SELECT coalesce(max(up_to), 0) FROM snapshots").Scan(&newest); err != nil {
		return explainError(s.path, err)
	}
	if upTo >= s.next || upTo < newest {
		return fmt.Errorf("%w: a snapshot after event %d of %d", store.ErrNumber, upTo, s.next-1)
	}
	if state == nil {
		state = []byte{}
	}
	return explainError(s.path, s.inTransaction(ctx, func(ctx context.Context) error {
		if _, err := s.write.ExecContext(ctx, "INSERT OR REPLACE INTO snapshots (up_to, state, sum) VALUES (?, ?, ?)", upTo,
			state, bodyChecksum(state)); err != nil {
			return err
		}
		_, err := s.write.ExecContext(ctx,
			"DELETE FROM snapshots WHERE up_to NOT IN (SELECT up_to FROM snapshots ORDER BY up_to DESC LIMIT 2)")
		return err
	}))
}

// dropEvents drops some of the events that no snapshot needs, the oldest first, and reports
// whether more may be left.
func (s *Store) dropEvents(ctx context.Context) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return false, err
	}
	err = s.inTransaction(ctx, func(ctx context.Context) error {
		done, err := s.write.ExecContext(ctx, `DELETE FROM events WHERE n <= (SELECT min(up_to) FROM snapshots)
			AND (SELECT count(*) FROM snapshots) > 1 AND n < ? + (SELECT min(n) FROM events)`, eventsPerDrop)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return err
		}
		steps, err := s.dropSteps(ctx)
		more = max(n, steps) == eventsPerDrop
		return err
	})
	return more, explainError(s.path, err)
}
