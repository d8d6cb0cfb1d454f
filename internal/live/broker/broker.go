// Package broker is the live broker: one loop around the same engine that the
// simulator runs. Whoever has something to tell hands a function to the loop;
// the loop lets the engine decide, makes events, commands and records durable
// in one transaction, and only then carries commands out and answers. After a
// crash it goes on from what is stored and asks the drivers what really runs.
// It must not know how it is asked (api) nor how a cluster works (driver).
package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/broker/broughtfiles"
	"github.com/godwit-hpc/godwit/internal/live/broker/depotfence"
	"github.com/godwit-hpc/godwit/internal/live/broker/estimate"
	"github.com/godwit-hpc/godwit/internal/live/broker/jobnumber"
	"github.com/godwit-hpc/godwit/internal/live/broker/pastruns"
	"github.com/godwit-hpc/godwit/internal/live/broker/transfer"
	"github.com/godwit-hpc/godwit/internal/live/joblog"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// Options is what a broker is made of.
type Options struct {
	State    string // folder: logs lie in it
	Socket   string // where agents find the broker
	User     string
	Store    store.Store
	Depot    *depot.Store
	Users    Users // besides the broker's own; nil: there are no others
	Clusters []Cluster
	Place    core.PlacePolicy // of jobs that name none; the zero value: by their deadline
	Engine   engine.Config
	Sample   time.Duration // how often agents look; 0: 2 s
	Rule     string        // by which agents predict; "": the usual one
	Logs     joblog.Limits
	Grace    *time.Duration // between SIGTERM and SIGKILL for a job that is cancelled; nil: DefaultGrace
	MaxJobs  int            // of one user that have not ended; 0: DefaultMaxJobs
	MaxTries int            // how often placing a job is tried before it fails; 0: no limit
	MaxLog   int64          // bytes of output kept of all jobs of one user; 0: no limit
	KeepJobs time.Duration  // what jobs wrote is dropped so long after their end; 0: never
	Weather  weather.Settings
	// Moved hears of every transfer between two clusters, of which "" is the
	// broker: how many bytes were sent, and in what time. nil: nobody does.
	Moved func(from, to string, bytes int64, took time.Duration)
	Stale func() bool // whether the settings were changed since; nil: nobody knows
	Clock clock.Clock
	Log   *slog.Logger
}

// Cluster is a place where jobs run.
type Cluster struct {
	Name        string
	Kind        string // of its driver
	Driver      driver.Driver
	Hosts       []core.HostSpec
	HostNames   []string
	KeepFree    int // processors that are always left to others
	GrowFree    int // processors that growing leaves free besides
	Nice        int
	MPI         wire.MPI                       // for parallel programs
	Methods     func(context.Context) []string // checkpoint methods that work there; for people
	Notes       []string                       // what of the settings does not hold there; for people
	CPUFeatures []string                       // of its hosts; nil: not known
	Managed     bool                           // it has a queue of its own
	Queue       int                            // processors that jobs may wait for in that queue; 0: no limit
	Site        string                         // clusters of one site see the same files; "": that of the broker
	Files       driver.Stager                  // moves them; nil: the driver does, if it can
	Untrusted   bool                           // what it saves of a job is not continued elsewhere
	Indirect    bool                           // not from or to other clusters without the broker
	Removed     bool                           // the settings do not name it any more; who runs there runs on
	Away        error                          // why it cannot be asked yet; nil: nothing is wrong with it
	Unmeasured  bool                           // nobody has said how fast its hosts are: taken to be as the reference host
	// Describe asks the cluster what it consists of, and is asked again when it has
	// been out of reach. nil: what is said here is all.
	Describe func(context.Context) (Cluster, error)
	Close    func() // called once it is removed and no job is left there; nil: nothing to close
}

// Broker is the live broker. Its methods may be called from any goroutine.
type Broker struct {
	opt          Options
	clusterList  atomic.Pointer[[]*cluster] // by number; replaced as a whole, by the loop alone
	defaultPlace atomic.Uint32              // policy of jobs that name none

	past       pastruns.Cache
	brought    broughtfiles.Record
	fences     depotfence.Fences
	mover      *transfer.Mover
	estimates  *estimate.Estimator
	placed     placedJobs
	tally      jobTally
	changes    *changeFeed
	figures    *figures
	describing describeBacklog
	weather    forecasts
	reach      reachTimes
	patterns   atomic.Bool  // a job with a pattern has come: networks matter
	alive      atomic.Int64 // jobs that have not ended, without a record too
	base       core.Time
	began      time.Time

	mail    chan func(*turn)
	reads   chan loopRead
	stopped chan struct{} // closed when the loop has ended
	work    background    // whatever was started beside the loop
	ctx     context.Context
	cancel  context.CancelFunc
	full    atomic.Pointer[error] // the disk is; nil: it is not

	// The loop's own.
	eng            *engine.Engine
	jobs           map[core.JobID]*job
	nextJob        core.JobID
	numbers        *jobnumber.Reserver
	nextSend       uint64
	nextEvent      uint64
	engineSettings json.RawMessage // as the log has them
	unlogged       []store.Step    // that are not in the log yet, see logStep
	sent           []uint64        // commands that were carried out, see markSent
	sentBefore     core.Time       // by when that is written; undefined if there are none
	outlooks       []store.Outlook // that are not stored yet, see noteOutlook
	outlooksBefore core.Time       // likewise
	snapped        uint64          // last event in the newest snapshot
	lastWrite      time.Duration   // how long the last batch took to become durable
	isRunning      bool            // Run has begun
	snapshotErr    error           // why the last one could not be stored
	wake           core.Time
	pending        []store.Outbound      // that the last broker had still to do
	arrays         map[core.JobID]*array // with elements that have not ended
	partial        map[core.JobID]*array // those of which not every element has its record
	ending         map[core.JobID]*job   // that have ended and are not forgotten yet
	jobsOf         map[uint32]int        // jobs of each user that have not ended, without a record too
	logUse         logUse
	endedArrays    map[core.JobID]core.Target // how some of those ended that are not among arrays any more

	isSnapshotting bool                 // one is being copied, encoded and stored
	copying        *engine.StateCopying // of the state, for a snapshot; nil: none is made

	appendLocks sync.Map // by owner: one at a time adds to files of a user
}

// Open makes a broker of what is stored. It does nothing before Run.
func Open(ctx context.Context, opt Options) (*Broker, error) {
	if opt.Clock == nil {
		opt.Clock = clock.RealClock()
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Sample == 0 {
		opt.Sample = 2 * time.Second
	}
	if len(opt.Clusters) == 0 {
		return nil, errors.New("there is no cluster to run jobs on")
	}
	if opt.State == "" {
		return nil, errors.New("a broker needs a state folder")
	}
	b := &Broker{opt: opt, brought: broughtfiles.Record{Dir: filepath.Join(opt.State, "brought")},
		mail: make(chan func(*turn), 256), reads: make(chan loopRead), stopped: make(chan struct{}),
		jobs: map[core.JobID]*job{}, wake: core.Never,
		arrays: map[core.JobID]*array{}, partial: map[core.JobID]*array{}, ending: map[core.JobID]*job{},
		jobsOf: map[uint32]int{}, endedArrays: map[core.JobID]core.Target{}, figures: newFigures()}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.mover = transfer.NewMover(transferGrid{b}, opt.Store, opt.Log)
	b.estimates = estimate.NewEstimator(estimateGrid{b}, opt.Store)
	b.setDefaultPlace(opt.Place)
	b.opt.Engine.Describes, b.opt.Engine.DescribeEvery = true, describeAgain
	err := b.loadState(ctx)
	if err == nil {
		err = b.openWeather(ctx)
	}
	if err != nil {
		b.cancel()
		return nil, err
	}
	return b, nil
}

// ErrStopped is what a broker answers that has ended.
var ErrStopped = errors.New("the broker has ended")

// brokerTime is the broker's time: the wall clock when it began (or the last event, if
// that is later) and what has passed since by the steady clock, so that a clock
// that is set does not move deadlines.
func (b *Broker) brokerTime() core.Time { return b.base.Add(b.opt.Clock.Since(b.began)) }

// CurrentTime is the time by which the broker's moments are to be understood.
func (b *Broker) CurrentTime() core.Time { return b.brokerTime() }

// Run is the loop. It returns when ctx is cancelled, or with the error that
// makes going on impossible. Jobs run on.
func (b *Broker) Run(ctx context.Context) error {
	defer close(b.stopped)
	defer b.closeWeather()
	defer b.work.waitForAll()
	defer b.cancel()
	b.isRunning = true
	first := b.resumeWork()
	for _, c := range b.allClusters() {
		b.watchCluster(c.id)
	}
	b.runUntilStopped(b.measureLogs)
	b.runUntilStopped(b.housekeepLoop)
	b.runUntilStopped(b.watchWeather)
	if err := b.runTurn(ctx, first); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the store: %w", err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if wake := b.nextWake(); wake != core.Never {
			timer.Reset(max(0, wake.Sub(b.brokerTime())))
		} else {
			timer.Stop()
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case f := <-b.mail:
			err = b.runTurn(ctx, f)
		case read := <-b.reads:
			read(nil)
		case <-timer.C:
			err = b.runTurn(ctx, func(t *turn) { t.stepEngine(&core.Input{Kind: core.Tick}) })
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("the store: %w", err)
		}
	}
}

// nextWake is when the loop has something to do by itself.
func (b *Broker) nextWake() core.Time {
	wake := b.wake
	if len(b.sent) > 0 {
		wake = min(wake, b.sentBefore)
	}
	if len(b.outlooks) > 0 {
		wake = min(wake, b.outlooksBefore)
	}
	return wake
}

// postToLoop hands a function to the loop.
func (b *Broker) postToLoop(f func(*turn)) bool {
	select {
	case b.mail <- f:
		return true
	case <-b.ctx.Done():
		return false
	}
}

// postLater is postToLoop for the loop itself, which must not wait for room in its own mailbox.
func (b *Broker) postLater(f func(*turn)) { b.runInBackground(func() { b.postToLoop(f) }) }

// askLoop hands a function to the loop and waits until what it did is durable. After an error
// the function may still run: what it sets must not be looked at then.
func (b *Broker) askLoop(ctx context.Context, f func(*turn)) error {
	done := make(chan struct{})
	if !b.postToLoop(func(t *turn) { f(t); t.afterCommit(func() { close(done) }) }) {
		return ErrStopped
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-b.ctx.Done():
		return ErrStopped
	}
}

// runUntilStopped runs something beside the loop until the broker ends.
func (b *Broker) runUntilStopped(f func(ctx context.Context)) {
	b.work.startTask(func() { f(b.ctx) })
}

func (b *Broker) logDir(id core.JobID) string {
	return filepath.Join(b.opt.State, "logs", fmt.Sprint(id))
}

// outputLog is the log of a stream of a part; that of part 0 is named as for jobs of one part.
func (b *Broker) outputLog(id core.JobID, part, stream int) *joblog.Log {
	name := "stdout"
	if stream == 2 {
		name = "stderr"
	}
	if part > 0 {
		name += fmt.Sprintf(".%d", part)
	}
	return joblog.Open(b.logDir(id), name, b.opt.Logs)
}

// jobLog is the log of a stream that the loop writes.
func (b *Broker) jobLog(j *job, part, stream int) *joblog.Log {
	key := logKey{part, stream}
	if j.logs[key] == nil {
		if j.logs == nil {
			j.logs = map[logKey]*joblog.Log{}
		}
		j.logs[key] = b.outputLog(j.rec.ID, part, stream)
	}
	return j.logs[key]
}
