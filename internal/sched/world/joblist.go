package world

import (
	"cmp"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// jobList is a set of jobs that can be gone through in the order of their numbers, some at
// a time, while it changes. Most jobs come in that order, and leave in it: neither costs
// more the more there are.
type jobList struct {
	ids  []core.JobID // ascending; the negative number of one that has left
	left int          // of these
}

// findJob is where a job stands, or would.
func (l *jobList) findJob(id core.JobID) (int, bool) {
	return slices.BinarySearchFunc(l.ids, id, func(at, id core.JobID) int { return cmp.Compare(max(at, -at), id) })
}

func (l *jobList) countJobs() int { return len(l.ids) - l.left }

func (l *jobList) hasJob(id core.JobID) bool {
	i, found := l.findJob(id)
	return found && l.ids[i] > 0
}

func (l *jobList) addJob(id core.JobID) {
	i, found := l.findJob(id)
	switch {
	case !found:
		l.ids = slices.Insert(l.ids, i, id)
	case l.ids[i] < 0:
		l.ids[i] = id
		l.left--
	}
}

func (l *jobList) removeJob(id core.JobID) {
	i, found := l.findJob(id)
	if !found || l.ids[i] < 0 {
		return
	}
	l.ids[i] = -id
	l.left++
	for len(l.ids) > 0 && l.ids[0] < 0 {
		l.ids = l.ids[1:]
		l.left--
	}
	if l.left > len(l.ids)/2 {
		l.ids = slices.DeleteFunc(l.ids, func(id core.JobID) bool { return id < 0 })
		l.left = 0
	}
}

// nextAfter is the first job after a number; 0 if there is none.
func (l *jobList) nextAfter(id core.JobID) core.JobID {
	i, _ := l.findJob(id + 1)
	for ; i < len(l.ids); i++ {
		if l.ids[i] > 0 {
			return l.ids[i]
		}
	}
	return 0
}
