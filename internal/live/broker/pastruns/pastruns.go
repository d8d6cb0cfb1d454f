// Package pastruns remembers the newest runs of programs, so that a stream of jobs does not ask
// the store for each of them, and how often attempts are lost in clusters. It must not know
// what is learnt from them: that is the history's.
package pastruns

import (
	"context"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// runsPerEstimate is how many runs of a program say all that its runs can say.
const runsPerEstimate = 100

// maxPrograms is how many programs are remembered; then all are forgotten, and asked for again.
const maxPrograms = 1000

// AnyProgram stands for all programs of a user.
const AnyProgram = ""

// Cache has the newest runs of programs. Only the broker writes history, and tells it here,
// so they stay true.
type Cache struct {
	mu sync.Mutex
	of map[programKey][]history.Run // newest first

	ran  map[string]time.Duration // by cluster: how long attempts ran
	lost map[string]int           // and how many of them were lost
}

// programKey is whose runs, and of what. What a program needs is learnt from its
// user's own runs alone: how others use it is theirs.
type programKey struct{ user, program string }

// RunLister is where runs are stored.
type RunLister interface {
	ListRuns(ctx context.Context, which store.Past) ([]history.Run, error)
}

// RunsOf lists the newest runs of a program of a user, or of AnyProgram.
func (c *Cache) RunsOf(ctx context.Context, from RunLister, user, program string) ([]history.Run, error) {
	key := programKey{user, program}
	c.mu.Lock()
	runs, known := c.of[key]
	c.mu.Unlock()
	if known {
		return runs, nil
	}
	runs, err := from.ListRuns(ctx, store.Past{Program: program, User: user, Limit: runsPerEstimate})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.of[key]; !known {
		if c.of == nil || len(c.of) > maxPrograms {
			c.of = map[programKey][]history.Run{}
		}
		c.of[key] = runs
	}
	return c.of[key], nil
}

// AddRun notes a run of a user that is in the store now.
func (c *Cache) AddRun(user string, r history.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countRun(&r)
	for _, k := range [...]programKey{{user, r.Program}, {user, AnyProgram}} {
		if runs, known := c.of[k]; known {
			c.of[k] = append([]history.Run{r}, runs[:min(len(runs), runsPerEstimate-1)]...)
		}
	}
}

// CountRun notes how long an attempt ran, and whether it was lost.
func (c *Cache) CountRun(r *history.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countRun(r)
}

func (c *Cache) countRun(r *history.Run) {
	if c.ran == nil {
		c.ran, c.lost = map[string]time.Duration{}, map[string]int{}
	}
	c.ran[r.Cluster] += core.DurationFromSeconds(r.WallSeconds())
	if r.Outcome == history.Lost {
		c.lost[r.Cluster]++
	}
}

// MeanTimeBetweenLosses is the mean time between losses in a cluster; 0 if none was lost yet.
func (c *Cache) MeanTimeBetweenLosses(cluster string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost[cluster] == 0 {
		return 0
	}
	return c.ran[cluster] / time.Duration(c.lost[cluster])
}
