package broker

import (
	"context"
	"sync"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// stateCount is how many jobs are in each state.
type stateCount [core.Cancelled + 1]int

// jobTally counts the stored jobs of each user by state, so that who lists them need not.
type jobTally struct {
	mu     sync.Mutex
	counts map[string]*stateCount
}

// loadTally counts what is stored.
func (b *Broker) loadTally(ctx context.Context) error {
	list, err := b.opt.Store.CountJobs(ctx)
	for _, c := range list {
		if c.State <= core.Cancelled {
			b.tally.add(c.User, c.State, c.N)
		}
	}
	return err
}

func (t *jobTally) add(user string, state core.State, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]*stateCount{}
	}
	if t.counts[user] == nil {
		t.counts[user] = new(stateCount)
	}
	t.counts[user][state] += n
}

// count counts a job whose record was stored.
func (t *jobTally) count(j *job) {
	if j.tallied == j.rec.State {
		return
	}
	if j.tallied != core.Unknown {
		t.add(j.rec.User, j.tallied, -1)
	}
	t.add(j.rec.User, j.rec.State, 1)
	j.tallied = j.rec.State
}

// sum counts the jobs of users; nil: of all. It says whose they are.
func (t *jobTally) sum(users []string) (all stateCount, of []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if users == nil {
		for user := range t.counts { // order-free: summed
			users = append(users, user)
		}
	}
	for _, user := range users {
		if c := t.counts[user]; c != nil {
			for state, n := range c {
				all[state] += n
			}
		}
	}
	return all, users
}
