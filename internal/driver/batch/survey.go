package batch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// How long answers serve: every submission asks.
const (
	surveyMaxAge  = 10 * time.Second
	failureMaxAge = 2 * time.Second
	// maxCachedWaits bounds how many different needs are remembered.
	maxCachedWaits = 256
)

// memo remembers an answer. Who comes when it is no longer fresh has it asked for
// anew and gets the old one, unless that is too old: then he waits, with all others
// who came. The question goes on when he has no more time, for the next.
type memo[V any] struct {
	mu    sync.Mutex
	asked chan struct{} // closed when the question under way is answered; nil: none is
	at    time.Time
	value V
	err   error
	has   bool // value was set at some time
}

// staleFactor is how many times its freshness an answer may be old.
const staleFactor = 3

func (m *memo[V]) getFresh(ctx context.Context, d *Driver, age time.Duration,
	ask func(ctx context.Context) (V, error)) (V, error) {
	m.mu.Lock()
	old := d.clock.Since(m.at)
	none := m.at.IsZero()
	if m.err != nil {
		age = min(age, failureMaxAge)
	}
	if !none && old < age {
		defer m.mu.Unlock()
		return m.value, m.err
	}
	if m.asked == nil {
		m.asked = make(chan struct{})
		if !d.inBackground(func() { m.askOnce(d, ask) }) {
			close(m.asked)
			m.asked = nil
			m.mu.Unlock()
			var nothing V
			return nothing, errClosed
		}
	}
	asked := m.asked
	// who did not answer may take long to answer again
	if !none && (old < staleFactor*age || m.err != nil && old < longestPoll) {
		defer m.mu.Unlock()
		return m.value, m.err
	}
	m.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
		var nothing V
		return nothing, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value, m.err
}

func (m *memo[V]) askOnce(d *Driver, ask func(ctx context.Context) (V, error)) {
	ctx, cancel := context.WithTimeout(d.ctx, queryTimeout)
	defer cancel()
	value, err := ask(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.value, m.has = value, true
	}
	m.err, m.at = err, d.clock()
	close(m.asked)
	m.asked = nil
}

// lastAnswer is the last answer, however old.
func (m *memo[V]) lastAnswer() (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value, m.has
}

// SurveyHosts says what the cluster consists of.
func (d *Driver) SurveyHosts(ctx context.Context) (*driver.Survey, error) {
	s, err := d.survey.getFresh(ctx, d, surveyMaxAge, d.manager.SurveyHosts)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its nodes: %w", d.opt.Cluster, err)
	}
	return s, nil
}

// lastSurvey is the last survey, however old; nil if there is none to be had.
func (d *Driver) lastSurvey(ctx context.Context) *driver.Survey {
	if s, ok := d.survey.lastAnswer(); ok {
		return s
	}
	s, err := d.SurveyHosts(ctx)
	if err != nil {
		return nil
	}
	return s
}

// MeasureLoad says how much of the cluster is free, and who holds the rest. Whoever gets processors of it has
// them for himself.
func (d *Driver) MeasureLoad(ctx context.Context) (driver.Load, error) {
	s, err := d.SurveyHosts(ctx)
	if err != nil {
		return driver.Load{}, err
	}
	free, all := 0, 0
	for i := range s.Hosts {
		if !s.Hosts[i].Down {
			free, all = free+s.Hosts[i].Free, all+s.Hosts[i].Procs
		}
	}
	return driver.Load{Share: 1, Why: fmt.Sprintf("%d of %d cores free, %d jobs pending", free, all, s.Waiting),
		Usage: usageOf(s, d.prefix)}, nil
}

// EstimateWait says how long a newcomer would wait, as the manager thinks.
func (d *Driver) EstimateWait(ctx context.Context, n driver.Need) (driver.Wait, error) {
	n = d.completeNeed(ctx, n)
	d.mu.Lock()
	m := d.waits[n]
	if m == nil {
		if len(d.waits) >= maxCachedWaits {
			clear(d.waits)
		}
		m = new(memo[driver.Wait])
		d.waits[n] = m
	}
	d.mu.Unlock()
	w, err := m.getFresh(ctx, d, d.opt.Poll,
		func(ctx context.Context) (driver.Wait, error) { return d.manager.EstimateWait(ctx, n) })
	if err != nil {
		return driver.Wait{}, fmt.Errorf("how long one waits on %s: %w", d.opt.Cluster, err)
	}
	return w, nil
}

// ExplainWait says what the manager said last of an attempt's job.
func (d *Driver) ExplainWait(_ context.Context, id driver.ID) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.attempts[id]
	if a == nil || !a.submitted || !a.watched {
		return "", nil
	}
	said := "job " + a.job + " of " + d.opt.Cluster
	if a.job == "" {
		said = "its job on " + d.opt.Cluster
	}
	switch {
	case a.entry == nil:
		said += " has been handed to the cluster"
	case a.entry.State == Running:
		said += " runs"
		if len(a.entry.Hosts) > 0 {
			said += " on " + strings.Join(a.entry.Hosts, ", ")
		}
	case a.entry.State == Leaving:
		said += " ends"
	default:
		said += " waits in the cluster's queue"
		if a.entry.Why != "" {
			said += ": " + OneLine(a.entry.Why)
		}
		if !a.entry.Start.IsZero() {
			said += "; it is expected to begin at " + a.entry.Start.Local().Format(time.DateTime)
		}
	}
	if d.silence != nil {
		said += "; the manager does not answer at present: " + OneLine(d.silence.Error())
	}
	return said, nil
}

// FindAttempts lists the attempts' folders.
func (d *Driver) FindAttempts(ctx context.Context) ([]driver.Found, error) {
	ids, err := d.folders.AttemptIDs()
	if err != nil {
		return nil, fmt.Errorf("find the attempts on %s: %w", d.opt.Cluster, err)
	}
	found := make([]driver.Found, 0, len(ids))
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := d.attemptRecord(id)
		if a == nil {
			return nil, errClosed
		}
		alive := attemptdir.HasFile(a.dir, attemptdir.LockFile) && !attemptdir.HasFile(a.dir, attemptdir.KnownFile) &&
			d.isAttended(a)
		found = append(found, driver.Found{ID: id, Alive: alive})
	}
	return found, nil
}
