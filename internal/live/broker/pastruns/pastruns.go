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
	of map[programKey]runList

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
	l, known := c.of[key]
	c.mu.Unlock()
	if known {
		return l.runs, nil
	}
	runs, err := from.ListRuns(ctx, store.Past{Program: program, User: user, Limit: runsPerEstimate})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.of[key]; !known {
		if c.of == nil || len(c.of) > maxPrograms {
			c.of = map[programKey]runList{}
		}
		c.of[key] = runList{runs: runs}
	}
	return c.of[key].runs, nil
}

// runList is the newest runs of a program, the newest first. Who asked for them reads them
// without the lock while newer ones are put before them, so none that is there is changed.
type runList struct {
	runs  []history.Run
	array []history.Run // has runs from spare on
	spare int
}

// putFirst adds the newest run, and leaves out the oldest where there are enough. The others are
// copied only when there is no place before them, so that a stream of short jobs does not
// copy a hundred for each.
func (l runList) putFirst(r history.Run) runList {
	kept := min(len(l.runs), runsPerEstimate-1)
	if l.spare == 0 {
		l.spare = 1 + kept/4
		l.array = append(make([]history.Run, l.spare, l.spare+kept), l.runs[:kept]...)
	}
	l.spare--
	l.array[l.spare] = r
	l.runs = l.array[l.spare : l.spare+1+kept : l.spare+1+kept]
	return l
}

// AddRun notes a run of a user that is in the store now.
func (c *Cache) AddRun(user string, r history.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countRun(&r)
	for _, k := range [...]programKey{{user, r.Program}, {user, AnyProgram}} {
		if l, known := c.of[k]; known {
			c.of[k] = l.putFirst(r)
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
