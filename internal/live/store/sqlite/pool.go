package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// putPools stores what there is of pools.
func (s *Store) putPools(ctx context.Context, b *store.Batch) error {
	for i := range b.Pools {
		if err := s.putPool(ctx, &b.Pools[i]); err != nil {
			return fmt.Errorf("pool %d: %w", b.Pools[i].ID, err)
		}
	}
	for i := range b.PoolChunks {
		c := &b.PoolChunks[i]
		body, err := encodeBody(c)
		if err != nil {
			return err
		}
		if _, err := s.stmts.poolChunk.ExecContext(ctx, c.Pool, c.N, bodyChecksum(body), body); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putPool(ctx context.Context, p *store.Pool) error {
	body, err := encodeBody(p)
	if err != nil {
		return err
	}
	open, work := 0, ""
	if !p.State.IsOver() {
		open, work = 1, p.Work
	}
	row := []any{p.ID, int64(p.Owner), p.Key, p.User, int64(p.Submitted), open, work, body, bodyChecksum(body)}
	if p.Spec != nil {
		_, err := s.stmts.pool.ExecContext(ctx, append(row, bodyChecksum(p.Spec), p.Spec)...)
		return err
	}
	done, err := s.stmts.poolKeep.ExecContext(ctx, row...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return errors.New("is new and has no description")
}

// scanPool reads a row of the columns that flowColumns names, which are those of pools too.
func scanPool(rows *sql.Rows, more ...any) (store.Pool, error) {
	var p store.Pool
	var body sql.RawBytes
	var check int64
	if err := rows.Scan(append([]any{&p.ID, &p.Owner, &p.Key, &p.User, &p.Submitted, &body, &check},
		more...)...); err != nil {
		return p, err
	}
	return p, decodeBody(body, check, &p, "pool %d", p.ID)
}

// FindPool implements store.Store.
func (s *Store) FindPool(ctx context.Context, id int64) (*store.Pool, error) {
	var found *store.Pool
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT "+flowColumns+", spec, spec_sum FROM pools WHERE number = ?", []any{id},
			func(rows *sql.Rows) error {
				var spec sql.RawBytes
				var check int64
				p, err := scanPool(rows, &spec, &check)
				if err != nil {
					return err
				}
				if bodyChecksum(spec) != check {
					return damagedError("pool %d is not what was written", id)
				}
				p.Spec = bytes.Clone(spec)
				found = &p
				return nil
			})
	})
	if err == nil && found == nil {
		err = fmt.Errorf("%w: %d", store.ErrNoPool, id)
	}
	return found, err
}

// ListPools implements store.Store.
func (s *Store) ListPools(ctx context.Context, f store.FlowFilter) ([]store.Pool, error) {
	c := flowConditions(f)
	var all []store.Pool
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT "+flowColumns+" FROM pools"+c.whereClause("number DESC", f.Limit), c.args,
			func(rows *sql.Rows) error {
				p, err := scanPool(rows)
				all = append(all, p)
				return err
			})
	})
	return all, err
}

// ListPoolChunks implements store.Store.
func (s *Store) ListPoolChunks(ctx context.Context, id int64) ([]store.PoolChunk, error) {
	var all []store.PoolChunk
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT n, body, sum FROM pool_chunks WHERE pool = ? ORDER BY n", []any{id},
			func(rows *sql.Rows) error {
				c := store.PoolChunk{Pool: id}
				var body sql.RawBytes
				var check int64
				if err := rows.Scan(&c.N, &body, &check); err != nil {
					return err
				}
				if err := decodeBody(body, check, &c, "chunk %d of pool %d", c.N, id); err != nil {
					return err
				}
				all = append(all, c)
				return nil
			})
	})
	return all, err
}
