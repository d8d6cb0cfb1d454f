package sqlite

import (
	"context"
	"database/sql"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

func (s *Store) putWeather(ctx context.Context, b *store.Batch) error {
	for i := range b.Weather {
		r := &b.Weather[i]
		if _, err := s.stmts.reading.ExecContext(ctx, r.What, r.From, r.To, int64(r.At), r.Value); err != nil {
			return err
		}
	}
	if b.Thin == nil {
		return nil
	}
	if _, err := s.stmts.drop.ExecContext(ctx, int64(b.Thin.Drop)); err != nil {
		return err
	}
	_, err := s.stmts.thin.ExecContext(ctx, int64(b.Thin.Before), int64(b.Thin.Step))
	return err
}

// ListReadings implements store.Store.
func (s *Store) ListReadings(ctx context.Context, f store.Series) ([]store.Reading, error) {
	var c conditions
	for _, x := range []struct{ column, value string }{{"what", f.What}, {"origin", f.From}, {"target", f.To}} {
		if x.value != "" {
			c.addCondition(x.column+" = ?", x.value)
		}
	}
	if f.Since != 0 {
		c.addCondition("at >= ?", int64(f.Since))
	}
	query := "SELECT what, origin, target, at, value FROM weather" + c.whereClause("what, origin, target, at", 0)
	if f.Newest > 0 {
		query = "SELECT what, origin, target, at, value FROM (SELECT *, row_number() OVER (PARTITION BY what, origin, " +
			"target ORDER BY at DESC) AS age FROM weather" +
			c.whereClause("what", 0) + ") WHERE age <= ? ORDER BY what, origin, target, at"
		c.args = append(c.args, f.Newest)
	}
	var all []store.Reading
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, query, c.args, func(rows *sql.Rows) error {
			var r store.Reading
			if err := rows.Scan(&r.What, &r.From, &r.To, &r.At, &r.Value); err != nil {
				return err
			}
			all = append(all, r)
			return nil
		})
	})
	return all, err
}
