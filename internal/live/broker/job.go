package broker

import (
	"fmt"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/joblog"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// job is a job that the broker still has work with. What is not marked
// otherwise belongs to the loop.
type job struct {
	rec   store.Job
	spec  *jobfile.Job
	saved []wire.Saved // kept checkpoints, newest first
	line  queue        // commands being carried out, one after the other

	requested core.Time       // when this attempt was handed to its cluster
	startedAt core.Time       // when it began to run; 0 if it does not
	places    []whereabouts   // where its attempts are, or may have left something
	begunIO   int64           // bytes that earlier attempts read and wrote
	judged    core.ReasonCode // why it was last decided that it stays
	danger    bool            // the deadline was found in danger in this attempt
	aimed     string          // why it is being stopped, for the history: moved or stopped
	waits     string          // why it was last said to wait
	verdict   core.Event      // what was last decided about a move
	nowhere   string          // why no cluster can run it at present; "": one can, or nobody has looked yet
	quote     *history.Quote
	question  map[string]any // what the last decision was about
	contract  keptContract   // how its contract is
	isCounted bool           // as one that its array has in the queue
	over      bool           // terminal, and its results are home
	left      bool           // what was to be left at clusters is there; of those who bring it home
	kept      bool           // its description is stored

	tallied   core.State // as which it is counted; Unknown: it is not yet
	outlookAt core.Time  // when its prediction was last kept

	sharesWork bool // it waits with the others of its array, and has the array's working directory

	standsStill   core.Epoch // the attempt whose program its agent has stopped; 0: none
	cannotSuspend string     // why that could not be done the last time

	toldEnd bool // its last attempt told its end, with what it had written
	// failureText is what the agent says of the failure that is being taken in
	failureText string
	unreturned  string // why its results are not home; "": they are, or on their way

	stopStaging []func() // end the bringing of the inputs of its parts

	logs         map[logKey]*joblog.Log // as the loop writes them; none: not yet
	agentNotes   int                    // that its agents made
	agentReports int                    // of its agents that were explained

	progressEpoch core.Epoch // attempt of which the engine was told how far it has come,
	progressTold  float64    // and how far that was

	refusedEpoch core.Epoch // attempt whose agent cannot be understood; 0: none

	links []*link // to the agents of the parts of the present attempt that are there

	// Whoever watches reads these, beside the loop.
	mu       sync.Mutex
	vitals   *wire.Vitals
	vitalsAt core.Time
	lookedAt time.Time // somebody wanted to know
	watching bool
	change   chan struct{} // closed at the next change
	news     []wire.Entry  // the newest entries since the broker began, for who follows
	oldNews  int           // entries before these
	saves    []chan saveResult
}

// logKey names a log: stdout (1) or stderr (2) of a part.
type logKey struct{ part, stream int }

// whereabouts is where the attempt of a part is.
type whereabouts struct {
	epoch   core.Epoch
	part    int
	cluster core.ClusterID
}

// placesOf says where the parts of an attempt are; the first cluster, for part 0, if nobody
// knows.
func (j *job) placesOf(epoch core.Epoch) []whereabouts {
	var list []whereabouts
	for _, p := range j.places {
		if p.epoch == epoch {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		list = []whereabouts{{epoch: epoch}}
	}
	return list
}

// placeOf says where the attempt of a part is.
func (j *job) placeOf(epoch core.Epoch, part int) whereabouts {
	for _, p := range j.places {
		if p.epoch == epoch && p.part == part {
			return p
		}
	}
	return whereabouts{epoch: epoch, part: part}
}

type saveResult struct {
	saved *wire.Saved
	err   string
}

func newJob(rec store.Job) *job {
	return &job{rec: rec, spec: rec.CurrentSpec(), change: make(chan struct{})}
}

// isForgettable reports whether nothing is left to do for the job.
func (j *job) isForgettable() bool { return j.over && len(j.links) == 0 && j.line.isIdle() }

// signalChange wakes whoever waits for a change.
func (j *job) signalChange() {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.change)
	j.change = make(chan struct{})
}

// nextChange is closed when the job changes.
func (j *job) nextChange() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.change
}

// maxNews bounds the entries of a job that are kept for those who follow it; all of
// them are in the store.
const maxNews = 256

func (j *job) tellNews(e wire.Entry) {
	j.mu.Lock()
	if len(j.news) == maxNews {
		j.news, j.oldNews = append(j.news[:0], j.news[maxNews/2:]...), j.oldNews+maxNews/2
	}
	j.news = append(j.news, e)
	j.mu.Unlock()
}

// newsSince is what was decided after the first n things, as far as it is kept, and
// how many things there were in all.
func (j *job) newsSince(n int) (news []wire.Entry, total int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	total = j.oldNews + len(j.news)
	return append([]wire.Entry(nil), j.news[min(max(0, n-j.oldNews), len(j.news)):]...), total
}

func (j *job) setVitals(v *wire.Vitals, at core.Time) {
	j.mu.Lock()
	j.vitals, j.vitalsAt = v, at
	j.mu.Unlock()
}

func (j *job) lastVitals() (*wire.Vitals, core.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.vitals, j.vitalsAt
}

// isSaveOrdered says whether somebody waits for a checkpoint.
func (j *job) isSaveOrdered() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.saves) > 0
}

// answerSaves tells those who asked for a checkpoint how it went.
func (j *job) answerSaves(r saveResult) {
	j.mu.Lock()
	waiting := j.saves
	j.saves = nil
	j.mu.Unlock()
	for _, c := range waiting {
		c <- r
	}
}

// shortName is what to call the job in a sentence.
func (j *job) shortName() string { return fmt.Sprintf("job %d", j.rec.ID) }

// queue carries out the commands for one job one after the other: the next
// attempt is not started before the one before it is certain to be over.
type queue struct {
	mu    sync.Mutex
	tasks []func()
	busy  bool
}

// addTask has f done after what was added before. start is how to go beside the
// loop.
func (q *queue) addTask(start func(func()), f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, f)
	if !q.busy {
		q.busy = true
		start(q.runTasks)
	}
}

func (q *queue) runTasks() {
	for {
		q.mu.Lock()
		if len(q.tasks) == 0 {
			q.busy = false
			q.mu.Unlock()
			return
		}
		f := q.tasks[0]
		q.tasks = q.tasks[1:]
		q.mu.Unlock()
		f()
	}
}

func (q *queue) isIdle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.busy
}
