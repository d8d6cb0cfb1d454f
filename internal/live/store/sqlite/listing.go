package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// putListing brings the short row of a job up to date. Its index is written only where its state changes.
func (s *Store) putListing(ctx context.Context, j *store.Job) error {
	if j.Spec != nil {
		spec := j.CurrentSpec()
		_, err := s.stmts.listing.ExecContext(ctx, int64(j.ID), j.User, int64(j.State), j.Cluster, spec.Name,
			j.ProgramName(), int64(j.Deadline), int64(j.Ended), store.LabelText(spec.Labels))
		return err
	}
	if c := j.Changed; c != nil {
		if err := s.putChanged(ctx, j.ID, c); err != nil {
			return err
		}
	}
	_, err := s.stmts.listingKeep.ExecContext(ctx, int64(j.ID), int64(j.State), j.Cluster, int64(j.Deadline),
		int64(j.Ended))
	return err
}

// putChanged notes what the user of a job has changed of it.
func (s *Store) putChanged(ctx context.Context, id core.JobID, c *store.Changed) error {
	if c.Name != "" {
		if _, err := s.stmts.listingName.ExecContext(ctx, int64(id), c.Name); err != nil {
			return err
		}
	}
	if c.Labels == nil && !c.NoneOf {
		return nil
	}
	_, err := s.stmts.listingLabels.ExecContext(ctx, int64(id), store.LabelText(c.Labels))
	return err
}

const (
	// numbersPerScan is how many numbers are looked through at once for what no index finds.
	numbersPerScan = 2000
	// scanTime is from when on no more of them are: who asks goes on with the next page.
	scanTime = 8 * time.Millisecond
)

// FindNumbers implements store.Store.
func (s *Store) FindNumbers(ctx context.Context, q *store.Search) (store.Found, error) {
	var found store.Found
	err := s.queryReaders(ctx, func() (err error) {
		if q.NeedsScan() {
			found, err = s.scanNumbers(ctx, q)
			return err
		}
		found.Numbers, err = s.pickNumbers(ctx, q, 0, q.Below)
		if len(found.Numbers) == q.Limit {
			found.Next = found.Numbers[q.Limit-1]
		}
		return err
	})
	return found, err
}

// scanNumbers looks through a stretch of numbers after the other, for a while.
func (s *Store) scanNumbers(ctx context.Context, q *store.Search) (found store.Found, err error) {
	below := q.Below
	if below == 0 {
		if err := s.read.QueryRowContext(ctx, "SELECT 1 + coalesce(max(number), 0) FROM listing").Scan(&below); err != nil {
			return found, err
		}
	}
	now := clock.RealClock()
	for began := now(); below > 1; {
		from := max(1, below-numbersPerScan)
		list, err := s.pickNumbers(ctx, q, from, below)
		if err != nil {
			return found, err
		}
		found.Numbers = append(found.Numbers, list...)
		if len(found.Numbers) >= q.Limit {
			found.Numbers = found.Numbers[:q.Limit]
			found.Next = found.Numbers[q.Limit-1]
			return found, nil
		}
		if below = from; now.Since(began) > scanTime && below > 1 {
			found.Next = below
			return found, nil
		}
	}
	return found, nil
}

// pickNumbers finds numbers from one on and below another, newest first: for each user and state by itself,
// as the index has them, and merged.
func (s *Store) pickNumbers(ctx context.Context, q *store.Search, from, below core.JobID) ([]core.JobID, error) {
	var base conditions
	if from != 0 {
		base.addCondition("number >= ?", int64(from))
	}
	if below != 0 {
		base.addCondition("number < ?", int64(below))
	}
	addFilters(&base, q)
	if q.Users == nil {
		if q.States != nil {
			marks := strings.TrimSuffix(strings.Repeat("?,", len(q.States)), ",")
			base.texts = append(base.texts, "state IN ("+marks+")")
			for _, state := range q.States {
				base.args = append(base.args, int64(state))
			}
		}
		return s.readNumbers(ctx, &base, q.Limit)
	}
	states := q.States
	if states == nil {
		for state := core.Unknown; state <= core.Cancelled; state++ {
			states = append(states, state)
		}
	}
	var all []core.JobID
	for _, user := range q.Users {
		if q.Name != "" || q.Program != "" { // these have an index of their own
			some, err := s.pickNamed(ctx, &base, user, states, q.Limit)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		for _, state := range states {
			c := conditions{slices.Clone(base.texts), slices.Clone(base.args)}
			c.addCondition("user = ?", user)
			c.addCondition("state = ?", int64(state))
			some, err := s.readNumbers(ctx, &c, q.Limit)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	slices.SortFunc(all, func(x, y core.JobID) int { return int(y - x) })
	return all[:min(len(all), q.Limit)], nil
}

func (s *Store) pickNamed(ctx context.Context, base *conditions, user string, states []core.State,
	limit int) ([]core.JobID, error) {
	c := conditions{slices.Clone(base.texts), slices.Clone(base.args)}
	c.addCondition("user = ?", user)
	marks := make([]string, 0, len(states))
	for _, state := range states {
		marks = append(marks, "?")
		c.args = append(c.args, int64(state))
	}
	c.texts = append(c.texts, "+state IN ("+strings.Join(marks, ",")+")") // +: not by the index of states
	return s.readNumbers(ctx, &c, limit)
}

// addFilters adds what is wanted besides user and state.
func addFilters(c *conditions, q *store.Search) {
	for _, x := range []struct{ column, value string }{{"cluster", q.Cluster}, {"name", q.Name}, {"program", q.Program}} {
		if x.value != "" {
			c.addCondition(x.column+" = ?", x.value)
		}
	}
	if q.Text != "" {
		like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(q.Text) + "%"
		c.addCondition(`(name LIKE ? ESCAPE '\' OR program LIKE ? ESCAPE '\')`, like, like)
	}
	if q.Label != "" {
		c.addCondition("instr(labels, ?) > 0", q.LabelText())
	}
	const met = "(state = 10 AND ended <= deadline)"
	switch q.Deadline {
	case store.WithDeadline:
		c.addCondition("deadline <> 0")
	case store.NoDeadline:
		c.addCondition("deadline = 0")
	case store.MetDeadline:
		c.addCondition("deadline <> 0 AND " + met)
	case store.MissedDeadline:
		c.addCondition("deadline <> 0 AND NOT "+met+" AND (state >= 10 OR deadline < ?)", int64(q.Now))
	case store.AnyDeadline:
	}
}

func (s *Store) readNumbers(ctx context.Context, c *conditions, limit int) ([]core.JobID, error) {
	var list []core.JobID
	err := eachRow(ctx, s.read, "SELECT number FROM listing"+c.whereClause("number DESC", limit), c.args,
		func(rows *sql.Rows) error {
			var id core.JobID
			err := rows.Scan(&id)
			list = append(list, id)
			return err
		})
	return list, err
}

// ReadJobs implements store.Store.
func (s *Store) ReadJobs(ctx context.Context, ids []core.JobID) ([]store.Job, error) {
	var all []store.Job
	err := s.queryReaders(ctx, func() (err error) {
		if len(ids) > 0 {
			all, err = scanJobs(ctx, s.read, decodeListed, "WHERE number IN ("+numberList(ids)+") ORDER BY number DESC")
		}
		return err
	})
	return all, err
}

// decodeListed reads what lists show of a description: most of one is the environment.
func decodeListed(text []byte) (*jobfile.Job, error) {
	var listed struct {
		Name       string   `json:"name"`
		Argv       []string `json:"argv"`
		Min        int      `json:"min"`
		Max        int      `json:"max"`
		Confidence float64  `json:"confidence"`

		Labels map[string]string `json:"labels"`
	}
	err := json.Unmarshal(text, &listed)
	return &jobfile.Job{Name: listed.Name, Argv: listed.Argv, Min: listed.Min, Max: listed.Max,
		Confidence: listed.Confidence, Labels: listed.Labels}, err
}

// numberList is numbers as SQL has them: there may be more than a statement can have arguments.
func numberList(ids []core.JobID) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(int64(id), 10))
	}
	return b.String()
}

// UsersOf implements store.Store.
func (s *Store) UsersOf(ctx context.Context, ids []core.JobID) (map[core.JobID]string, error) {
	users := map[core.JobID]string{}
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT number, user FROM listing WHERE number IN ("+numberList(ids)+")", nil,
			func(rows *sql.Rows) error {
				var id core.JobID
				var user string
				err := rows.Scan(&id, &user)
				users[id] = user
				return err
			})
	})
	return users, err
}

// CountJobs implements store.Store.
func (s *Store) CountJobs(ctx context.Context) ([]store.JobCount, error) {
	var all []store.JobCount
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT user, state, count(*) FROM listing GROUP BY user, state ORDER BY user, state", nil,
			func(rows *sql.Rows) error {
				var c store.JobCount
				err := rows.Scan(&c.User, &c.State, &c.N)
				all = append(all, c)
				return err
			})
	})
	return all, err
}

// ListEvents implements store.Store.
func (s *Store) ListEvents(ctx context.Context, n uint64, limit int) ([]core.Event, error) {
	var list []core.Event
	err := s.queryReaders(ctx, func() error {
		tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // only read from
		var next uint64
		if err := tx.QueryRowContext(ctx, `SELECT 1 + max(coalesce((SELECT max(n) FROM events), 0),
			coalesce((SELECT max(up_to) FROM snapshots), 0))`).Scan(&next); err != nil {
			return err
		}
		from := n + 1
		below := min(next, from+uint64(limit))
		if from >= below {
			return nil
		}
		var kept uint64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce((SELECT min(n) FROM events), 0)").Scan(&kept); err != nil {
			return err
		}
		if kept == 0 || from < kept {
			return store.ErrDropped
		}
		list, err = (&logReader{tx: tx}).listEvents(ctx, from, below)
		return err
	})
	return list, err
}

func (s *Store) putOutlooks(ctx context.Context, b *store.Batch) error {
	for i := range b.Outlooks {
		o := &b.Outlooks[i]
		if _, err := s.stmts.outlook.ExecContext(ctx, int64(o.Job), int64(o.At), int64(o.Early), int64(o.Middle),
			int64(o.Late), o.Chance); err != nil {
			return err
		}
	}
	return nil
}

// ListOutlooks implements store.Store.
func (s *Store) ListOutlooks(ctx context.Context, id core.JobID) ([]store.Outlook, error) {
	var all []store.Outlook
	err := s.queryReaders(ctx, func() error {
		return eachRow(ctx, s.read, "SELECT at, early, middle, late, chance FROM outlooks WHERE job = ? ORDER BY at",
			[]any{int64(id)}, func(rows *sql.Rows) error {
				o := store.Outlook{Job: id}
				err := rows.Scan(&o.At, &o.Early, &o.Middle, &o.Late, &o.Chance)
				all = append(all, o)
				return err
			})
	})
	return all, err
}
