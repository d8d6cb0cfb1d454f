// Package store is the port to what the broker must not forget: the events,
// the commands not yet carried out, snapshots of the world, the jobs as their
// users see them, the reasons of every decision, checkpoints and history. One
// process writes, one batch at a time; a batch that CommitBatch has acknowledged
// survives the loss of power, and of a batch either all is there or nothing.
// Every store passes the one suite in storetest. A store must not know what the
// records mean to the engine or to the broker.
package store

import (
	"context"
	"errors"
	"slices"

	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Store keeps the broker's state. CommitBatch is called by one goroutine, SaveSnapshot by
// one beside it; what reads may be called by any number beside these.
type Store interface {
	// CommitBatch makes the whole batch durable, or nothing of it. After an error
	// that is not about the batch itself it is not known which: reopen and LoadState.
	CommitBatch(ctx context.Context, b *Batch) error
	// LoadState reads what a broker needs to go on.
	LoadState(ctx context.Context) (*Loaded, error)
	// SaveSnapshot keeps the state of the world after event upTo. The snapshot before
	// it is kept too, in case this one cannot be used; events that no kept
	// snapshot needs are dropped, with the steps that they came of.
	SaveSnapshot(ctx context.Context, upTo uint64, state []byte) error

	// ReadLog hands out what the log holds at one moment, oldest first: the state that it
	// begins with (none: there was nothing), then events with the steps that they came of.
	ReadLog(ctx context.Context, see func(*LogPart) error) error

	// FindJob finds a job by its number or by the beginning of its unique id.
	// ErrNoJob if there is none; ErrManyJobs if several begin so.
	FindJob(ctx context.Context, ref string) (*Job, error)
	// FindJobOf is FindJob among the jobs of one user.
	FindJobOf(ctx context.Context, user, ref string) (*Job, error)
	// ListJobs lists jobs, newest first.
	ListJobs(ctx context.Context, f Filter) ([]Job, error)
	// ListEntries lists the decisions taken for a job, oldest first.
	ListEntries(ctx context.Context, id core.JobID) ([]wire.Entry, error)
	// ListCheckpoints lists the kept checkpoints of a job, newest first.
	ListCheckpoints(ctx context.Context, id core.JobID) ([]wire.Saved, error)
	// ListRoots lists the trees of the depot that are still needed: work folders of
	// open jobs, results that have not been brought home, checkpoints kept, files of
	// open workflows and what their tasks made, files of open pools.
	ListRoots(ctx context.Context) ([]string, error)
	// FindFlow finds a workflow by its number; ErrNoFlow if there is none.
	FindFlow(ctx context.Context, id int64) (*Flow, error)
	// ListFlows lists workflows, newest first, without what they were submitted as.
	ListFlows(ctx context.Context, f FlowFilter) ([]Flow, error)
	// ListFlowTasks lists what became of the tasks of a workflow, in their order.
	ListFlowTasks(ctx context.Context, id int64) ([]FlowTask, error)
	// ListFlowEntries lists the log of a workflow, oldest first.
	ListFlowEntries(ctx context.Context, id int64) ([]FlowEntry, error)
	// FindPool finds a pool of work items by its number; ErrNoPool if there is none.
	FindPool(ctx context.Context, id int64) (*Pool, error)
	// ListPools lists pools, newest first, without what they were submitted as.
	ListPools(ctx context.Context, f FlowFilter) ([]Pool, error)
	// ListPoolChunks lists what became of the items of a pool, in their order.
	ListPoolChunks(ctx context.Context, id int64) ([]PoolChunk, error)
	// GetSetting is a value kept under a name; "" if there is none.
	GetSetting(ctx context.Context, name string) (string, error)

	// ListRuns, ListTransfers and ListQuotes list history, newest first.
	ListRuns(ctx context.Context, f Past) ([]history.Run, error)
	ListTransfers(ctx context.Context, f Past) ([]history.Transfer, error)
	ListQuotes(ctx context.Context, f Past) ([]history.Quote, error)
	// ListReadings lists readings, by series, oldest first.
	ListReadings(ctx context.Context, f Series) ([]Reading, error)

	Lister

	Close() error
}

// Batch is what is made durable together. The order within is that of the
// fields: what is removed may have been added by the same batch.
type Batch struct {
	// First is the number of Events[0]: one more than that of the last event
	// stored, from 1. It is checked, so that a second writer is found out.
	First  uint64
	Events []core.Event
	Steps  []Step // what the events came of; none: nobody wants to know

	Send []Outbound // commands to be carried out; ids grow, also from batch to batch
	Sent []uint64   // ids of commands that have been

	Jobs        []Job   // put in place of what is there
	Arrays      []Array // likewise; one that is complete is dropped
	Entries     []Entry
	Checkpoints []Checkpoint
	Forget      []CheckpointID // that are not to be used any more

	Flows       []Flow     // put in place of what is there
	FlowTasks   []FlowTask // likewise
	FlowEntries []FlowEntry

	Pools      []Pool      // put in place of what is there
	PoolChunks []PoolChunk // likewise

	Runs      []history.Run // in place of one of the same job and epoch
	Transfers []history.Transfer
	Quotes    []history.Quote   // in place of one of the same name
	Settings  map[string]string // "" removes

	Outlooks []Outlook // in place of one of the same job and moment

	Weather []Reading // in place of one of the same series and moment
	Thin    *Thin     // then
}

// Outbound is a command in the outbox.
type Outbound struct {
	ID      uint64
	Command core.Command
}

// Entry is one line of explain and the job it belongs to.
type Entry struct {
	Job core.JobID
	wire.Entry
}

// Checkpoint is a checkpoint and the job it belongs to.
type Checkpoint struct {
	Job core.JobID
	wire.Saved
}

// CheckpointID names a checkpoint: the N-th of a job.
type CheckpointID struct {
	Job core.JobID
	N   int
}

// Loaded is what a broker finds when it starts.
type Loaded struct {
	Snapshots []Snapshot // newest first, at most two; use the first that can be read
	First     uint64     // number of Events[0]
	Events    []core.Event
	Outbox    []Outbound // in the order of their ids
	Jobs      []Job      // those that are open, by number
	Arrays    []Array    // those that are not complete, by number
	NextJob   core.JobID // the first number that no job has had
	NextSend  uint64     // the first id that no command has had
}

// Snapshot is a state of the world and the last event in it.
type Snapshot struct {
	UpTo  uint64
	State []byte
}

// EventsAfter is the events after number n, and false if some of them have been
// dropped: a world restored from that point cannot be brought up to date.
func (l *Loaded) EventsAfter(n uint64) ([]core.Event, bool) {
	end := l.First + uint64(len(l.Events)) // of the next event
	if n+1 < l.First || n+1 > end {
		return nil, false
	}
	return l.Events[n+1-l.First:], true
}

// NextEvent is the number that the next event will have.
func (l *Loaded) NextEvent() uint64 { return l.First + uint64(len(l.Events)) }

// Filter says which jobs to list.
type Filter struct {
	Open   bool       // only those that are not over
	User   string     // "": of all users
	Parent core.JobID // only the elements of this array; 0: all
	From   core.JobID // only this number and higher ones
	Below  core.JobID // only numbers below this one; 0: all
	Limit  int        // 0: all

	OldestFirst bool // instead of the newest
}

// Past says which history to list. Where a field is empty, all match.
type Past struct {
	Cluster string // of a transfer: from or to it
	Program string
	User    string // only runs have one
	Job     core.JobID
	Since   core.Time
	Limit   int // 0: all
}

// MatchesRun reports whether history of this job, program and user, at this time,
// about one of these clusters, is asked for.
func (f *Past) MatchesRun(job core.JobID, program, user string, at core.Time, clusters ...string) bool {
	return (f.Job == 0 || f.Job == job) && (f.Program == "" || f.Program == program) && (f.User == "" || f.User == user) &&
		at >= f.Since && (f.Cluster == "" || slices.Contains(clusters, f.Cluster))
}

// Reserved is a store that keeps room on its disk for what must always be possible,
// as cancelling a job.
type Reserved interface {
	// Short is why new work should not be taken in: the error is ErrFull if the disk
	// is so full that the reserve is in use. nil: there is room.
	Short() error
}

// What can be wrong with a store or a question to it.
var (
	ErrNoJob    = errors.New("no such job")
	ErrManyJobs = errors.New("several jobs begin like this")
	ErrLocked   = errors.New("the store is in use by another process")
	ErrDamaged  = errors.New("the store is damaged")
	ErrNewer    = errors.New("the store was written by a newer version")
	ErrNumber   = errors.New("numbered wrongly: two writers, or a lost batch")
	ErrFull     = errors.New("no space is left for the store")
	ErrClosed   = errors.New("the store is closed")
	ErrDropped  = errors.New("the events are not kept any more")
)
