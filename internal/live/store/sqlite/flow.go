package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// jobsOfOpenFlows finds the jobs whose files later tasks may need.
const jobsOfOpenFlows = `SELECT flow_tasks.job FROM flow_tasks JOIN flows ON flows.number = flow_tasks.flow
	WHERE flows.open = 1 AND flow_tasks.job <> 0`

// putFlows stores what there is of workflows.
func (s *Store) putFlows(ctx context.Context, b *store.Batch) error {
	for i := range b.Flows {
		if err := s.putFlow(ctx, &b.Flows[i]); err != nil {
			return fmt.Errorf("workflow %d: %w", b.Flows[i].ID, err)
		}
	}
	for i := range b.FlowTasks {
		t := &b.FlowTasks[i]
		body, err := encodeBody(t)
		if err != nil {
			return err
		}
		if _, err := s.stmts.flowTask.ExecContext(ctx, t.Flow, t.N, int64(t.Job), bodyChecksum(body), body); err != nil {
			return err
		}
	}
	for i := range b.FlowEntries {
		if err := insertRecord(ctx, s.stmts.flowEntry, &b.FlowEntries[i], b.FlowEntries[i].Flow); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putFlow(ctx context.Context, f *store.Flow) error {
	body, err := encodeBody(f)
	if err != nil {
		return err
	}
	open, work := 0, ""
	if !f.State.IsOver() {
		open, work = 1, f.Work
	}
	row := []any{f.ID, int64(f.Owner), f.Key, f.User, int64(f.Submitted), open, work, body, bodyChecksum(body)}
	if f.Spec != nil {
		_, err := s.stmts.flow.ExecContext(ctx, append(row, bodyChecksum(f.Spec), f.Spec)...)
		return err
	}
	done, err := s.stmts.flowKeep.ExecContext(ctx, row...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return errors.New("is new and has no description")
}

// scanFlow reads a row of the columns that flowColumns names.
func scanFlow(rows *sql.Rows, more ...any) (store.Flow, error) {
	var f store.Flow
	var body sql.RawBytes
	var check int64
	if err := rows.Scan(append([]any{&f.ID, &f.Owner, &f.Key, &f.User, &f.Submitted, &body, &check},
		more...)...); err != nil {
		return f, err
	}
	return f, decodeBody(body, check, &f, "workflow %d", f.ID)
}

const flowColumns = "number, owner, key, user, submitted, body, sum"

// FindFlow implements store.Store.
func (s *Store) FindFlow(ctx context.Context, id int64) (*store.Flow, error) {
	var found *store.Flow
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT "+flowColumns+", spec, spec_sum FROM flows WHERE number = ?", []any{id},
			func(rows *sql.Rows) error {
				var spec sql.RawBytes
				var check int64
				f, err := scanFlow(rows, &spec, &check)
				if err != nil {
					return err
				}
				if bodyChecksum(spec) != check {
					return damagedError("workflow %d is not what was written", id)
				}
				f.Spec = bytes.Clone(spec)
				found = &f
				return nil
			})
	})
	if err == nil && found == nil {
		err = fmt.Errorf("%w: %d", store.ErrNoFlow, id)
	}
	return found, err
}

// flowConditions is what a filter asks of a row.
func flowConditions(f store.FlowFilter) conditions {
	var c conditions
	if f.Open {
		c.addCondition("open = 1")
	}
	if !f.AllOwners {
		c.addCondition("owner = ?", int64(f.Owner))
	}
	if f.Key != "" {
		c.addCondition("key = ?", f.Key)
	}
	return c
}

// ListFlows implements store.Store.
func (s *Store) ListFlows(ctx context.Context, f store.FlowFilter) ([]store.Flow, error) {
	c := flowConditions(f)
	var all []store.Flow
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT "+flowColumns+" FROM flows"+c.whereClause("number DESC", f.Limit), c.args,
			func(rows *sql.Rows) error {
				flow, err := scanFlow(rows)
				all = append(all, flow)
				return err
			})
	})
	return all, err
}

// ListFlowTasks implements store.Store.
func (s *Store) ListFlowTasks(ctx context.Context, id int64) ([]store.FlowTask, error) {
	var all []store.FlowTask
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT n, body, sum FROM flow_tasks WHERE flow = ? ORDER BY n", []any{id},
			func(rows *sql.Rows) error {
				t := store.FlowTask{Flow: id}
				var body sql.RawBytes
				var check int64
				if err := rows.Scan(&t.N, &body, &check); err != nil {
					return err
				}
				if err := decodeBody(body, check, &t, "task %d of workflow %d", t.N, id); err != nil {
					return err
				}
				all = append(all, t)
				return nil
			})
	})
	return all, err
}

// ListFlowEntries implements store.Store.
func (s *Store) ListFlowEntries(ctx context.Context, id int64) ([]store.FlowEntry, error) {
	list, err := listBodies[store.FlowEntry](ctx, s, "SELECT body FROM flow_entries WHERE flow = ? ORDER BY n", id)
	for i := range list {
		list[i].Flow = id
	}
	return list, err
}
