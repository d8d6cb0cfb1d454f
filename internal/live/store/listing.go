package store

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Lister is what lists of jobs are made of: numbers that a filter finds, page by page, without
// reading the jobs, and counts.
type Lister interface {
	// FindNumbers finds the jobs that a search wants, newest first.
	FindNumbers(ctx context.Context, q *Search) (Found, error)
	// ReadJobs reads jobs by their numbers, newest first; those that there are not are left out.
	ReadJobs(ctx context.Context, ids []core.JobID) ([]Job, error)
	// CountJobs counts the jobs by user and state.
	CountJobs(ctx context.Context) ([]JobCount, error)
	// ListEvents lists events that were stored after number n, at most limit of them. ErrDropped if
	// some of them are not kept any more.
	ListEvents(ctx context.Context, n uint64, limit int) ([]core.Event, error)
	// UsersOf says whose jobs are; of those that there are not it says nothing.
	UsersOf(ctx context.Context, ids []core.JobID) (map[core.JobID]string, error)
	// ListOutlooks lists what was predicted of a job, oldest first.
	ListOutlooks(ctx context.Context, id core.JobID) ([]Outlook, error)
}

// Search says which jobs to find. Where a field is empty, all match.
type Search struct {
	Users    []string // nil: all
	States   []core.State
	Cluster  string
	Name     string // exactly
	Program  string // exactly, as histories name it
	Text     string // somewhere in name or program; A to Z in either case
	Label    string // name=value, or a name
	Deadline DeadlineFilter
	Now      core.Time  // for Deadline
	Below    core.JobID // only numbers below this one; 0: all
	Limit    int        // at least 1
}

// DeadlineFilter is what is wanted of deadlines.
type DeadlineFilter string

// The deadline filters.
const (
	AnyDeadline    DeadlineFilter = ""
	WithDeadline   DeadlineFilter = "with"
	NoDeadline     DeadlineFilter = "without"
	MissedDeadline DeadlineFilter = "missed" // it ended too late, or not well, or the deadline is over
	MetDeadline    DeadlineFilter = "met"
)

// Found is a page of a search.
type Found struct {
	Numbers []core.JobID
	// Next is what the next page is below; 0: this is the last one. A page may have fewer numbers than
	// were asked for, or none, and a next one: so many jobs were looked at.
	Next core.JobID
}

// JobCount is how many jobs of a user are in a state.
type JobCount struct {
	User  string
	State core.State
	N     int
}

// Outlook is what was predicted of a job's end.
type Outlook struct {
	Job    core.JobID `json:"-"`
	At     core.Time  `json:"at"`
	Early  core.Time  `json:"early"` // 5 % quantile of its end
	Middle core.Time  `json:"middle"`
	Late   core.Time  `json:"late"`   // 95 %
	Chance float64    `json:"chance"` // of meeting the deadline; -1: it has none, or nobody knows
}

// NeedsScan reports whether no index finds what is wanted.
func (q *Search) NeedsScan() bool {
	return q.Cluster != "" || q.Text != "" || q.Label != "" || q.Deadline != AnyDeadline
}

// ProgramName is what a job is listed as, and found by.
func (j *Job) ProgramName() string {
	if j.Spec == nil {
		return ""
	}
	program, _ := history.SplitCommand(j.Spec.Argv)
	return program
}

// MatchesJob reports whether a job is searched for.
func (q *Search) MatchesJob(j *Job) bool {
	spec := j.CurrentSpec()
	if spec == nil || q.Below != 0 && j.ID >= q.Below || q.Cluster != "" && q.Cluster != j.Cluster ||
		q.Name != "" && q.Name != spec.Name || !contains(q.Users, j.User) || !contains(q.States, j.State) ||
		!q.matchesDeadline(j) || !strings.Contains(LabelText(spec.Labels), q.LabelText()) {
		return false
	}
	if q.Program == "" && q.Text == "" {
		return true
	}
	program, text := j.ProgramName(), lowerLatin(q.Text)
	return (q.Program == "" || q.Program == program) &&
		(strings.Contains(lowerLatin(spec.Name), text) || strings.Contains(lowerLatin(program), text))
}

// LabelText is labels as a text in which each is found: "" if there are none.
func LabelText(labels map[string]string) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text += name + "=" + labels[name] + "\n"
	}
	if text == "" {
		return ""
	}
	return "\n" + text
}

// LabelText is what is to be found among the labels of a job.
func (q *Search) LabelText() string {
	switch {
	case q.Label == "":
		return ""
	case strings.Contains(q.Label, "="):
		return "\n" + q.Label + "\n"
	}
	return "\n" + q.Label + "="
}

func contains[T comparable](list []T, x T) bool {
	for i := range list {
		if list[i] == x {
			return true
		}
	}
	return list == nil
}

func (q *Search) matchesDeadline(j *Job) bool {
	met := j.State == core.Done && j.Ended <= j.Deadline
	switch q.Deadline {
	case WithDeadline:
		return j.Deadline != 0
	case NoDeadline:
		return j.Deadline == 0
	case MetDeadline:
		return j.Deadline != 0 && met
	case MissedDeadline:
		return j.Deadline != 0 && !met && (j.State.IsTerminal() || j.Deadline < q.Now)
	}
	return true
}

// lowerLatin has A to Z in small letters, as SQLite compares them.
func lowerLatin(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
