package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// statements are what a commit is made of, prepared once.
type statements struct {
	event, send, sent, job, jobKeep, entry, checkpoint, forget *sql.Stmt
	run, transfer, quote, setting, unset                       *sql.Stmt
	reading, thin, drop, array, arrayDone                      *sql.Stmt
	flow, flowKeep, flowTask, flowEntry, steps                 *sql.Stmt
	pool, poolKeep, poolChunk                                  *sql.Stmt
	listing, listingKeep, listingName, listingLabels, outlook  *sql.Stmt
	begin, commit                                              *sql.Stmt
}

// statementTexts pairs each statement with its text.
func (t *statements) statementTexts() map[**sql.Stmt]string {
	return map[**sql.Stmt]string{
		&t.event: "INSERT INTO events (n, body, sum) VALUES (?, ?, ?)",
		&t.steps: "INSERT INTO steps (n, first, sum, body) VALUES (?, ?, ?, ?)",
		&t.send:  "INSERT INTO outbox (id, body, sum) VALUES (?, ?, ?)",
		&t.sent:  "DELETE FROM outbox WHERE id = ?",
		&t.job: `INSERT INTO jobs (number, unique_id, user, submitted, parent, open, work, result, body, sum, spec_sum, spec)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (number) DO UPDATE SET unique_id = excluded.unique_id, user = excluded.user, submitted = excluded.submitted,
			parent = excluded.parent, open = excluded.open, work = excluded.work, result = excluded.result, body = excluded.body, sum = excluded.sum,
			spec = excluded.spec, spec_sum = excluded.spec_sum`,
		// What never changes of a job is left alone: SQLite writes the indexes of each column that is set.
		&t.jobKeep: `UPDATE jobs SET open = ?2, work = ?3, result = ?4, body = ?5, sum = ?6 WHERE number = ?1`,
		&t.array: `INSERT INTO arrays (number, work, sum, body) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET work = excluded.work, sum = excluded.sum, body = excluded.body`,
		&t.arrayDone: "DELETE FROM arrays WHERE number = ?",
		&t.entry:     "INSERT INTO entries (job, body) VALUES (?, ?)",
		&t.checkpoint: `INSERT INTO checkpoints (job, n, image, work, body) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET image = excluded.image, work = excluded.work, body = excluded.body`,
		&t.forget: "DELETE FROM checkpoints WHERE job = ? AND n = ?",
		&t.run: `INSERT INTO runs (job, epoch, ended, cluster, program, user, body) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET ended = excluded.ended, cluster = excluded.cluster, program = excluded.program, user = excluded.user, body = excluded.body`,
		&t.transfer: "INSERT INTO transfers (at, job, program, origin, target, body) VALUES (?, ?, ?, ?, ?, ?)",
		&t.quote: `INSERT INTO quotes (job, at, cluster, kind, program, body) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET program = excluded.program, body = excluded.body`,
		&t.setting: "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
		&t.unset:   "DELETE FROM settings WHERE name = ?",
		&t.reading: "INSERT INTO weather (what, origin, target, at, value) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE " +
			"SET value = excluded.value",
		&t.thin: `DELETE FROM weather WHERE at < ?1 AND EXISTS (SELECT 1 FROM weather AS w WHERE w.what = weather.what AND w.origin = weather.origin
			AND w.target = weather.target AND w.at >= weather.at / ?2 * ?2 AND w.at < weather.at)`,
		&t.flow: `INSERT INTO flows (number, owner, key, user, submitted, open, work, body, sum, spec_sum, spec)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (number) DO UPDATE SET owner = excluded.owner, key = excluded.key, user = excluded.user, submitted = excluded.submitted,
			open = excluded.open, work = excluded.work, body = excluded.body, sum = excluded.sum,
			spec = excluded.spec, spec_sum = excluded.spec_sum`,
		&t.flowKeep: `UPDATE flows SET owner = ?2, key = ?3, user = ?4, submitted = ?5, open = ?6, work = ?7, body = ?8, sum = ?9
			WHERE number = ?1`,
		&t.flowTask: `INSERT INTO flow_tasks (flow, n, job, sum, body) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET job = excluded.job, sum = excluded.sum, body = excluded.body`,
		&t.flowEntry: "INSERT INTO flow_entries (flow, body) VALUES (?, ?)",
		&t.pool: `INSERT INTO pools (number, owner, key, user, submitted, open, work, body, sum, spec_sum, spec)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (number) DO UPDATE SET owner = excluded.owner, key = excluded.key, user = excluded.user, submitted = excluded.submitted,
			open = excluded.open, work = excluded.work, body = excluded.body, sum = excluded.sum,
			spec = excluded.spec, spec_sum = excluded.spec_sum`,
		&t.poolKeep: `UPDATE pools SET owner = ?2, key = ?3, user = ?4, submitted = ?5, open = ?6, work = ?7, body = ?8, sum = ?9
			WHERE number = ?1`,
		&t.poolChunk: `INSERT INTO pool_chunks (pool, n, sum, body) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET sum = excluded.sum, body = excluded.body`,
		&t.listing: `INSERT INTO listing (number, user, state, cluster, name, program, deadline, ended, labels)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET user = excluded.user, state = excluded.state, cluster = excluded.cluster,
			name = excluded.name, program = excluded.program, deadline = excluded.deadline, ended = excluded.ended,
			labels = excluded.labels`,
		&t.listingName:   "UPDATE listing SET name = ?2 WHERE number = ?1 AND name <> ?2",
		&t.listingLabels: "UPDATE listing SET labels = ?2 WHERE number = ?1 AND labels <> ?2",
		&t.listingKeep: `UPDATE listing SET state = ?2, cluster = ?3, deadline = ?4, ended = ?5
			WHERE number = ?1 AND (state <> ?2 OR cluster <> ?3 OR deadline <> ?4 OR ended <> ?5)`,
		&t.outlook: `INSERT INTO outlooks (job, at, early, middle, late, chance) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET early = excluded.early, middle = excluded.middle, late = excluded.late,
			chance = excluded.chance`,
		&t.begin: "BEGIN IMMEDIATE", &t.commit: "COMMIT",
		&t.drop: "DELETE FROM weather WHERE at < ?",
	}
}

func (t *statements) prepareAll(ctx context.Context, c *sql.Conn) error {
	for stmt, text := range t.statementTexts() {
		var err error
		if *stmt, err = c.PrepareContext(ctx, text); err != nil {
			return fmt.Errorf("preparing %q: %w", text, err)
		}
	}
	return nil
}

func (t *statements) closeAll() error {
	var errs []error
	for stmt := range t.statementTexts() {
		if *stmt != nil {
			errs = append(errs, (*stmt).Close())
		}
	}
	return errors.Join(errs...)
}

// CommitBatch implements store.Store.
func (s *Store) CommitBatch(ctx context.Context, b *store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return err
	}
	if err := b.CheckNumbers(s.next, s.nextSend); err != nil {
		return err
	}
	put := func() error {
		return explainError(s.path, s.inTransaction(ctx, func(ctx context.Context) error { return s.putBatch(ctx, b) }))
	}
	err := put()
	if errors.Is(err, store.ErrFull) && s.emptyLog(ctx) {
		err = put()
	}
	if err != nil {
		return err
	}
	s.next += uint64(len(b.Events))
	s.nextSend = b.NextSend(s.nextSend)
	s.commits++
	_ = s.witness.writeCount(s.commits) // it may say too little
	_ = s.reserve.fill()                // who takes in new work asks again
	return nil
}

func (s *Store) checkUsable(ctx context.Context) error {
	switch {
	case s.write == nil:
		return store.ErrClosed
	case s.broken != nil:
		return s.broken
	}
	return ctx.Err()
}

// inTransaction carries all of do out, or nothing of it. It is not given up
// half-way when the caller loses patience: then nobody would know what is
// stored.
func (s *Store) inTransaction(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := s.stmts.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := do(ctx)
	if err == nil {
		_, err = s.stmts.commit.ExecContext(ctx)
	}
	if err == nil {
		return nil
	}
	// SQLite rolls back by itself after some errors; then this fails, and only a
	// look at the connection tells whether a transaction is still open.
	if _, rollback := s.write.ExecContext(ctx, "ROLLBACK"); rollback != nil {
		if _, begin := s.write.ExecContext(ctx, "BEGIN; ROLLBACK"); begin != nil {
			s.broken = fmt.Errorf("store %s: neither stored nor rolled back: %w", s.path, errors.Join(err, rollback))
		}
	}
	return err
}

func (s *Store) putBatch(ctx context.Context, b *store.Batch) error {
	for i := range b.Events {
		if err := keepChecked(ctx, s.stmts.event, b.First+uint64(i), &b.Events[i]); err != nil {
			return err
		}
	}
	if err := s.putSteps(ctx, b); err != nil {
		return err
	}
	for i := range b.Send {
		if err := keepChecked(ctx, s.stmts.send, b.Send[i].ID, &b.Send[i].Command); err != nil {
			return err
		}
	}
	for _, id := range b.Sent {
		if _, err := s.stmts.sent.ExecContext(ctx, id); err != nil {
			return err
		}
	}
	for i := range b.Jobs {
		if err := s.putJob(ctx, &b.Jobs[i]); err != nil {
			return fmt.Errorf("job %d: %w", b.Jobs[i].ID, err)
		}
		if err := s.putListing(ctx, &b.Jobs[i]); err != nil {
			return fmt.Errorf("job %d in lists: %w", b.Jobs[i].ID, err)
		}
	}
	for i := range b.Arrays {
		if err := s.putArray(ctx, &b.Arrays[i]); err != nil {
			return fmt.Errorf("array %d: %w", b.Arrays[i].ID, err)
		}
	}
	if err := s.putEntries(ctx, b); err != nil {
		return err
	}
	if err := s.putFlows(ctx, b); err != nil {
		return err
	}
	if err := s.putPools(ctx, b); err != nil {
		return err
	}
	if err := s.putHistory(ctx, b); err != nil {
		return err
	}
	if err := s.putWeather(ctx, b); err != nil {
		return err
	}
	if err := s.putOutlooks(ctx, b); err != nil {
		return err
	}
	return s.putSettings(ctx, b.Settings)
}

// insertRecord stores a record as the last of the statement's columns.
func insertRecord(ctx context.Context, stmt *sql.Stmt, record any, columns ...any) error {
	body, err := encodeBody(record)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, append(columns, body)...)
	return err
}

// keepChecked stores a numbered record with its checksum.
func keepChecked(ctx context.Context, stmt *sql.Stmt, n uint64, record any) error {
	body, err := encodeBody(record)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, n, body, bodyChecksum(body))
	return err
}

func (s *Store) putJob(ctx context.Context, j *store.Job) error {
	body, err := encodeBody(j)
	if err != nil {
		return err
	}
	open := 0
	if j.IsOpen() {
		open = 1
	}
	if j.Spec != nil {
		spec, err := encodeBody(j.Spec)
		if err != nil {
			return err
		}
		_, err = s.stmts.job.ExecContext(ctx, int64(j.ID), j.Unique, j.User, int64(j.Submitted), int64(j.Parent), open,
			j.Work, j.Result, body, bodyChecksum(body), bodyChecksum(spec), spec)
		return err
	}
	done, err := s.stmts.jobKeep.ExecContext(ctx, int64(j.ID), open, j.Work, j.Result, body, bodyChecksum(body))
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return errors.New("is new and has no description")
}

func (s *Store) putArray(ctx context.Context, a *store.Array) error {
	if a.IsComplete() {
		_, err := s.stmts.arrayDone.ExecContext(ctx, int64(a.ID))
		return err
	}
	body, err := encodeBody(a)
	if err != nil {
		return err
	}
	_, err = s.stmts.array.ExecContext(ctx, int64(a.ID), a.Template.Work, bodyChecksum(body), body)
	return err
}

// putEntries stores what is told of jobs: decisions and checkpoints.
func (s *Store) putEntries(ctx context.Context, b *store.Batch) error {
	for i := range b.Entries {
		if err := insertRecord(ctx, s.stmts.entry, &b.Entries[i].Entry, int64(b.Entries[i].Job)); err != nil {
			return err
		}
	}
	for i := range b.Checkpoints {
		c := &b.Checkpoints[i]
		if err := insertRecord(ctx, s.stmts.checkpoint, &c.Saved, int64(c.Job), c.N, c.Image, c.Work); err != nil {
			return err
		}
	}
	for _, id := range b.Forget {
		if _, err := s.stmts.forget.ExecContext(ctx, int64(id.Job), id.N); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putHistory(ctx context.Context, b *store.Batch) error {
	for i := range b.Runs {
		r := &b.Runs[i]
		if err := insertRecord(ctx, s.stmts.run, r, int64(r.Job), int64(r.Epoch), int64(r.Ended), r.Cluster, r.Program,
			r.User); err != nil {
			return err
		}
	}
	for i := range b.Transfers {
		t := &b.Transfers[i]
		if err := insertRecord(ctx, s.stmts.transfer, t, int64(t.At), int64(t.Job), t.Program, t.From, t.To); err != nil {
			return err
		}
	}
	for i := range b.Quotes {
		q := &b.Quotes[i]
		if err := insertRecord(ctx, s.stmts.quote, q, int64(q.Job), int64(q.At), q.Cluster, q.Kind, q.Program); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putSettings(ctx context.Context, settings map[string]string) error {
	for name, value := range settings {
		var err error
		if value == "" {
			_, err = s.stmts.unset.ExecContext(ctx, name)
		} else {
			_, err = s.stmts.setting.ExecContext(ctx, name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func encodeBody(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be stored: %w", v, err)
	}
	return body, nil
}

// bodyChecksum is the checksum of a body.
func bodyChecksum(body []byte) int64 {
	return int64(crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}
