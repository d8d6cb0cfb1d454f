package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// querier is a connection or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow calls f for every row.
func eachRow(ctx context.Context, q querier, query string, args []any, f func(*sql.Rows) error) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// listBodies reads rows that are one body each.
func listBodies[T any](ctx context.Context, s *Store, query string, args ...any) ([]T, error) {
	var all []T
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, query, args, func(rows *sql.Rows) error {
			var body sql.RawBytes
			if err := rows.Scan(&body); err != nil {
				return err
			}
			var v T
			if err := json.Unmarshal(body, &v); err != nil {
				return damagedError("%T cannot be read: %w", v, err)
			}
			all = append(all, v)
			return nil
		})
	})
	return all, err
}

// queryReaders puts a question to the readers.
func (s *Store) queryReaders(ctx context.Context, question func() error) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	err := question()
	if err != nil && s.closed.Load() {
		return store.ErrClosed
	}
	return explainError(s.path, err)
}

// queryJobs reads the jobs that a condition finds.
func queryJobs(ctx context.Context, q querier, where string, args ...any) ([]store.Job, error) {
	return scanJobs(ctx, q, func(text []byte) (*jobfile.Job, error) {
		spec := &jobfile.Job{}
		err := json.Unmarshal(text, spec)
		return spec, err
	}, where, args...)
}

// scanJobs is queryJobs with a way of reading descriptions.
func scanJobs(ctx context.Context, q querier, decode func([]byte) (*jobfile.Job, error), where string,
	args ...any) ([]store.Job, error) {
	var all []store.Job
	var lastSpec []byte
	err := eachRow(ctx, q, "SELECT number, unique_id, user, submitted, parent, body, sum, spec, spec_sum FROM jobs "+where,
		args, func(rows *sql.Rows) error {
			var j store.Job
			var body, spec sql.RawBytes
			var check, specCheck sql.NullInt64 // not there in rows of an earlier form
			if err := rows.Scan(&j.ID, &j.Unique, &j.User, &j.Submitted, &j.Parent, &body, &check, &spec,
				&specCheck); err != nil {
				return err
			}
			if check.Valid && check.Int64 != bodyChecksum(body) || specCheck.Valid && specCheck.Int64 != bodyChecksum(spec) {
				return damagedError("job %d is not what was written", j.ID)
			}
			if err := json.Unmarshal(body, &j); err != nil {
				return damagedError("job %d cannot be read: %w", j.ID, err)
			}
			if len(all) > 0 && bytes.Equal(spec, lastSpec) { // of the same array: descriptions never change
				j.Spec = all[len(all)-1].Spec
			} else {
				lastSpec = bytes.Clone(spec)
				var err error
				if j.Spec, err = decode(spec); err != nil {
					return damagedError("job %d cannot be read: %w", j.ID, err)
				}
			}
			all = append(all, j)
			return nil
		})
	return all, err
}

// FindJob implements store.Store.
func (s *Store) FindJob(ctx context.Context, ref string) (*store.Job, error) {
	return s.findJob(ctx, ref, "")
}

// FindJobOf implements store.Store.
func (s *Store) FindJobOf(ctx context.Context, user, ref string) (*store.Job, error) {
	return s.findJob(ctx, ref, " AND +user = ?", user) // +: by the number or the unique id, not by the index of users
}

func (s *Store) findJob(ctx context.Context, ref, owned string, args ...any) (*store.Job, error) {
	var found []store.Job
	err := s.queryReaders(ctx, func() (err error) {
		if n, notNumber := strconv.ParseInt(ref, 10, 64); notNumber == nil {
			found, err = queryJobs(ctx, s.read, "WHERE number = ?"+owned, append([]any{n}, args...)...)
		}
		if err != nil || len(found) > 0 || ref == "" {
			return err
		}
		// Whatever begins with ref lies between it and it with its end raised.
		found, err = queryJobs(ctx, s.read, "WHERE unique_id >= ? AND unique_id < ?"+owned+" ORDER BY unique_id LIMIT 2",
			append([]any{ref, ref + "\U0010ffff"}, args...)...)
		if len(found) > 1 && found[0].Unique == ref {
			found = found[:1]
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %q", store.ErrNoJob, ref)
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %q", store.ErrManyJobs, ref)
	}
	return &found[0], nil
}

// ListJobs implements store.Store.
func (s *Store) ListJobs(ctx context.Context, f store.Filter) ([]store.Job, error) {
	var c conditions
	if f.Open {
		c.addCondition("open = 1")
	}
	if f.User != "" {
		c.addCondition("user = ?", f.User)
	}
	if f.Parent != 0 {
		c.addCondition("parent = ?", int64(f.Parent))
	}
	if f.From != 0 {
		c.addCondition("number >= ?", int64(f.From))
	}
	if f.Below != 0 {
		c.addCondition("number < ?", int64(f.Below))
	}
	order := "number DESC"
	if f.OldestFirst {
		order = "number"
	}
	var all []store.Job
	err := s.queryReaders(ctx, func() (err error) {
		all, err = queryJobs(ctx, s.read, c.whereClause(order, f.Limit), c.args...)
		return err
	})
	return all, err
}

// conditions are what rows must meet, and their arguments.
type conditions struct {
	texts []string
	args  []any
}

func (c *conditions) addCondition(text string, args ...any) {
	c.texts = append(c.texts, text)
	c.args = append(c.args, args...)
}

func (c *conditions) whereClause(order string, limit int) string {
	var b strings.Builder
	if len(c.texts) > 0 {
		b.WriteString(" WHERE " + strings.Join(c.texts, " AND "))
	}
	b.WriteString(" ORDER BY " + order)
	if limit > 0 {
		b.WriteString(" LIMIT " + strconv.Itoa(limit))
	}
	return b.String()
}

// pastConditions is the conditions that all history has.
func pastConditions(f *store.Past, time string) *conditions {
	c := &conditions{}
	if f.Job != 0 {
		c.addCondition("job = ?", int64(f.Job))
	}
	if f.Program != "" {
		c.addCondition("program = ?", f.Program)
	}
	if f.Since != 0 {
		c.addCondition(time+" >= ?", int64(f.Since))
	}
	return c
}

// ListEntries implements store.Store.
func (s *Store) ListEntries(ctx context.Context, id core.JobID) ([]wire.Entry, error) {
	return listBodies[wire.Entry](ctx, s, "SELECT body FROM entries WHERE job = ? ORDER BY n", int64(id))
}

// ListCheckpoints implements store.Store.
func (s *Store) ListCheckpoints(ctx context.Context, id core.JobID) ([]wire.Saved, error) {
	return listBodies[wire.Saved](ctx, s, "SELECT body FROM checkpoints WHERE job = ? ORDER BY n DESC", int64(id))
}

// ListRoots implements store.Store.
func (s *Store) ListRoots(ctx context.Context) ([]string, error) {
	var all []string
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, `SELECT tree FROM (
			SELECT work AS tree FROM jobs WHERE open = 1 UNION SELECT work FROM arrays UNION SELECT result FROM jobs WHERE open = 1
			UNION SELECT work FROM checkpoints UNION SELECT image FROM checkpoints
			UNION SELECT work FROM flows WHERE open = 1 UNION SELECT work FROM pools WHERE open = 1
			UNION SELECT result FROM jobs WHERE number IN (`+jobsOfOpenFlows+`)
			UNION SELECT work FROM jobs WHERE number IN (`+jobsOfOpenFlows+`)) WHERE tree <> '' ORDER BY tree`, nil, func(rows *sql.Rows) error {
			var tree string
			if err := rows.Scan(&tree); err != nil {
				return err
			}
			all = append(all, tree)
			return nil
		})
	})
	return all, err
}

// GetSetting implements store.Store.
func (s *Store) GetSetting(ctx context.Context, name string) (string, error) {
	var value string
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT value FROM settings WHERE name = ?", []any{name}, func(rows *sql.Rows) error {
			return rows.Scan(&value)
		})
	})
	return value, err
}

// ListRuns implements store.Store.
func (s *Store) ListRuns(ctx context.Context, f store.Past) ([]history.Run, error) {
	c := pastConditions(&f, "ended")
	if f.Cluster != "" {
		c.addCondition("cluster = ?", f.Cluster)
	}
	if f.User != "" {
		c.addCondition("user = ?", f.User)
	}
	return listBodies[history.Run](ctx, s, "SELECT body FROM runs"+
		c.whereClause("ended DESC, job DESC, epoch DESC", f.Limit), c.args...)
}

// ListTransfers implements store.Store.
func (s *Store) ListTransfers(ctx context.Context, f store.Past) ([]history.Transfer, error) {
	c := pastConditions(&f, "at")
	if f.Cluster != "" {
		c.addCondition("(origin = ? OR target = ?)", f.Cluster, f.Cluster)
	}
	if f.User != "" {
		return nil, nil
	}
	return listBodies[history.Transfer](ctx, s, "SELECT body FROM transfers"+c.whereClause("at DESC, n DESC", f.Limit),
		c.args...)
}

// ListQuotes implements store.Store.
func (s *Store) ListQuotes(ctx context.Context, f store.Past) ([]history.Quote, error) {
	c := pastConditions(&f, "at")
	if f.Cluster != "" {
		c.addCondition("cluster = ?", f.Cluster)
	}
	if f.User != "" {
		return nil, nil
	}
	return listBodies[history.Quote](ctx, s, "SELECT body FROM quotes"+
		c.whereClause("at DESC, job DESC, cluster, kind", f.Limit), c.args...)
}
