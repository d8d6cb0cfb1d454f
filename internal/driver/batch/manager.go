// Package batch is the driver of clusters that have a manager of their own: what
// Slurm, Grid Engine and their like have in common. An attempt is a folder on a
// file system that all hosts of the cluster share, and a job of the manager whose
// script starts an agent on it. The package submits, each attempt once, watches
// all of them with one question to the manager at a time, has those reported that
// the manager lost, and ends what is to be ended. How a manager is asked is the
// dialect's business (Manager); the package must not know what an agent does nor
// why an attempt is started.
package batch

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// Manager is the dialect of one kind of batch system. Its methods may be called
// from several goroutines.
type Manager interface {
	// KindName is what package jobfile calls managers of this kind.
	KindName() string
	// SubmitJob hands a script to the manager and returns the manager's name for the
	// job. An error that wraps driver.ErrRefused is final; any other may pass. With
	// one that wraps driver.ErrAway the job was certainly not taken; with any other
	// that is not known.
	SubmitJob(ctx context.Context, r *Request) (id string, err error)
	// ListQueue lists all jobs of this user that wait or run and whose name begins
	// with prefix: one call of the manager, however many there are.
	ListQueue(ctx context.Context, prefix string) ([]Entry, error)
	// JobEndings says how jobs ended that have left the queue. Those that the manager
	// has forgotten, or that have not ended, are missing.
	JobEndings(ctx context.Context, ids []string) (map[string]Ending, error)
	// CancelJobs ends jobs. Those that are over, or unknown, are no error.
	CancelJobs(ctx context.Context, ids []string) error
	SurveyHosts(ctx context.Context) (*driver.Survey, error)
	EstimateWait(ctx context.Context, n driver.Need) (driver.Wait, error)
}

// Prefacer is a manager whose scripts begin with some lines of its own.
type Prefacer interface {
	ScriptPreface() string // lines of the shell
}

// Limiter is a manager that says how long jobs may run that ask for no time, and
// how long at most; 0: for ever, or not known.
type Limiter interface {
	TimeLimits(ctx context.Context) (usual, most time.Duration)
}

// Request is what the manager is asked for. Nothing of it comes from a user but
// numbers, and words that package jobfile has checked.
type Request struct {
	Name   string // of letters, digits, dots and hyphens
	Script string // its path
	Output string // path of the file for what the script itself says
	driver.Need
	Reservation string // its name; "": none was made
	Host        string // where it has to run; "": anywhere

	// Of a script that was written for this kind of manager.
	Threads int              // processors of each process; 0: it does not say
	PerNode int              // processes on each host; 0: it does not say
	Told    []jobfile.Option // where the cluster's settings do not say otherwise
}

// State is where a job of the manager is.
type State int

// The states that matter here.
const (
	Pending State = iota
	Running       // started, suspended and the like
	Leaving       // ends just now
)

// Entry is one job in the manager's queue.
type Entry struct {
	ID    string
	Name  string
	State State
	Why   string    // it waits, in the manager's words
	Hosts []string  // where it runs
	Start time.Time // when it began, or is expected to; zero: not known
	// Hopeless says that it will not begin unless somebody changes the cluster or
	// the job.
	Hopeless bool
}

// Ending is how a job ended.
type Ending struct {
	How    string // in the manager's words, such as NODE_FAIL
	Cause  string // jobfile.NodeFail, jobfile.Preempted; "": neither, or not known
	Code   int
	Signal int
}
