// Package transfer moves the files of jobs between sites: inputs to where a job is to run, results to where they are
// to be left. It finds out where files are, on which way they come fastest and how long that takes, and remembers
// which cluster keeps what. It must not know the loop of the broker: what is to be told of a job, and noted in its
// history, is told to the Job.
package transfer

import (
	"context"
	"log/slog"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/broker/keylock"
	"github.com/godwit-hpc/godwit/internal/live/broker/replica"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Cluster is a cluster as transfers see it.
type Cluster struct {
	ID       core.ClusterID
	Name     string
	Site     string // clusters of one site see the same files; "": that of the broker
	Indirect bool   // not from or to other clusters without the broker
	// Files moves its files as who asks sees them; nil if nothing does.
	Files func(ctx context.Context) driver.Stager
}

// Grid is where files are and who asks for them. The context says on whose behalf something is asked.
type Grid interface {
	// ClusterNamed is nil if there is no such cluster.
	ClusterNamed(name string) *Cluster
	// EveryCluster lists all clusters by number, those that were removed too.
	EveryCluster() []*Cluster
	// OfferedNames lists the clusters where jobs may be sent.
	OfferedNames() []string
	// UserID is who asks; 0 is the broker's own user.
	UserID(ctx context.Context) (uint32, error)
	// DepotFor is where the files of who asks are.
	DepotFor(ctx context.Context) (*depot.Store, error)
	// GrantTrees lets a cluster ask about trees of the depot of who asks until revoke is called.
	GrantTrees(ctx context.Context, cluster string, trees ...string) (revoke func())
	// ForecastWay is what lies between two clusters, "" being the broker; false if nothing is known of it.
	ForecastWay(from, to string) (weather.PathForecast, bool)
	// NoteRate hears of every transfer between two clusters, "" being the broker.
	NoteRate(from, to string, bytes int64, took time.Duration)
	// CurrentTime is the broker's time.
	CurrentTime() core.Time
}

// Job is a job whose files are moved. Nothing of it waits for what it is told to be durable.
type Job interface {
	// OwnerID is its user.
	OwnerID() uint32
	// ExplainMove adds a line to its reasons.
	ExplainMove(subject, choice, why string)
	// TellRoute says on which way one of its inputs comes to a cluster; from is nil if it comes through the broker.
	TellRoute(input int, from, to *Cluster, why core.Reason)
	// NoteMove hears what became of a transfer.
	NoteMove(r Report)
}

// Report is what a transfer was like.
type Report struct {
	Subject, Choice, Why string // for the reasons of the job
	history.Transfer
	Recorded bool // it belongs into the history: it tells how long transfers take
}

// Past is what is kept of earlier transfers.
type Past interface {
	ListTransfers(ctx context.Context, p store.Past) ([]history.Transfer, error)
}

// Mover moves files. Its methods may be called from any goroutine.
type Mover struct {
	grid Grid
	past Past
	log  *slog.Logger

	replicas     replica.Table // of the broker's own user
	userReplicas replica.UserTables
	routes       replica.ClosedRoutes
	moving       keylock.Locks
}

// NewMover is one that remembers nothing yet.
func NewMover(grid Grid, past Past, log *slog.Logger) *Mover {
	return &Mover{grid: grid, past: past, log: log}
}
