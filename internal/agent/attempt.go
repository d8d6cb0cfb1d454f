package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/hosthelper"
	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/agent/report"
	"github.com/godwit-hpc/godwit/internal/agent/save"
	"github.com/godwit-hpc/godwit/internal/agent/watch"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// hostServices is what an attempt finds around it: here the machine, in tests what
// they need.
type hostServices struct {
	clock   clock.Clock
	log     *slog.Logger
	methods func(name string) (checkpoint.Method, error)        // an error says why it cannot be used here
	depot   func(socket string) brokerDepot                     // of the broker
	usage   func(mark string) proctree.Usage                    // of all processes of the attempt
	kill    func(ctx context.Context, mark string) (int, error) // what an earlier agent left
	adopt   func(mark string, pid int) error                    // count a process that the method started as the attempt's
	confine func(mark string, cpus []int) error                 // have all processes of the attempt run there
	sentry  func(supervisor int) (time.Duration, bool)          // processor time of a sandbox's own processes
	pulse   func(mark string) (float64, bool)                   // how slow its processors are; nil: nobody asks
	spent   func() checkpointing.ProcessUsage                   // by all processes that were waited for
	free    func(dir string) (int64, error)                     // bytes on the disk of a folder
	held    func(mark string) int64                             // memory of the attempt, what is shared counted once
	// processes in it killed for lack of memory so far; -1: not known
	oom     func(group string) int64
	release string           // of this binary
	memory  string           // folder for what programs report
	signals <-chan os.Signal // the machine stops

	spoolLimit, spoolSegment int64
	firstTry, longestTry     time.Duration // between two tries to reach the broker
	grace                    time.Duration // to save and leave when the machine stops
}

// brokerDepot is the broker's depot.
type brokerDepot interface {
	depot.Source
	depot.Sink
	Traffic() httpdepot.Traffic
}

// phase is how far an attempt is.
type phase int

const (
	preparing phase = iota // the work folder is brought, the program started
	running
	finishing // the program is gone, its result is brought to the depot
	concluded // all has been said; the broker has to acknowledge it
)

// life is one attempt. All of it belongs to the goroutine that runs live; others
// hand it functions to call.
type life struct {
	around  *hostServices
	attempt *wire.Attempt
	folder  folder
	born    time.Time

	work   context.Context // of all that is done for the attempt; ends when it is killed
	cancel context.CancelCauseFunc
	group  sync.WaitGroup
	calls  chan func()

	spool   *output.Spool
	report  *report.Folder   // what the program says of itself, and is told; nil: nothing
	hears   *report.Listener // to what the program says; nil: to nothing
	outbox  *output.Outbox
	link    *link
	session *session // nil: not connected
	busy    bool     // the connection is writing

	stopSerial, saveSerial uint64 // of the last order to stop or end, and to save, that was obeyed

	phase   phase
	over    bool
	prepare context.CancelCauseFunc // ends the preparation
	program *started                // set while it runs
	done    <-chan struct{}
	self    <-chan struct{} // the program has saved itself
	verdict *wire.Message   // how it ends if it ends now: we ended it
	ranOnce bool            // it began to run, at least once
	ranFor  time.Duration   // programs of this attempt that are gone
	runFrom time.Duration   // the one that runs, on life's clock
	before  before

	begin    chan []wire.Contact // hands the contacts to who prepares the program
	contacts []wire.Contact      // of all parts, once they are ready; nil: they are not, or there is one

	promised *contractWatch // nil: nothing is, or not yet

	trial     *trial
	retry     bool // begin again without the sandbox when the program is gone
	boxFailed bool // the program failed in the sandbox, or could not do there what it wanted
	denied    denials

	sizes      sizes
	suspension suspension
	helpers    *hosthelper.Keeper     // on further hosts; nil: none
	meter      *hosthelper.ShareMeter // of this host, if there are others
	watch      *watch.Watch           // how the program does; nil: none has run
	sampler    *time.Ticker
	memory     *time.Ticker // when its memory is compared with what it may use; nil: somebody else sees to it
	// overMemory says that it had more at the last look.
	overMemory bool
	oomSeen    int64        // processes that the kernel had killed for lack of memory before it began
	status     *time.Ticker // somebody watches
	stated     []byte       // a status to be sent
	limit      *time.Timer  // of the job's wall time
	evicted    *time.Timer  // the cluster's manager ends us soon
	doomed     bool         // it does, and the program cannot be saved

	saving    checkpointing.SaveSchedule
	saver     *save.Saver // what is needed to save the program that runs
	save      *saveOrder
	wanted    bool          // another save was ordered meanwhile
	saves     int           // the number of the job's last checkpoint
	restored  time.Duration // how long it took to bring and start a checkpoint here
	dueSave   *time.Timer
	stopping  *stopOrder
	cancelled bool // by its user
	// cancelGrace is the time that its program gets to end, if it was cancelled before that ran.
	cancelGrace time.Duration
	quit        *time.Timer // the machine stops then
	secure      *time.Timer // what has been said is made safe then

	unkept    func() error // writes down how it ended
	keepAgain *time.Timer  // when that is tried again; nil: it is done, or not due
}

// stopOrder is an order to leave.
type stopOrder struct {
	within time.Duration // from now
	why    string
}

var errKilled = errors.New("the attempt was ended")

func newLife(ar *hostServices, dir folder, a *wire.Attempt, earlierAgents int) *life {
	l := &life{around: ar, attempt: a, folder: dir, born: ar.clock(), calls: make(chan func()),
		begin: make(chan []wire.Contact, 1)}
	l.work, l.cancel = context.WithCancelCause(context.Background())
	l.spool = output.NewSpool(dir.spoolDir(), ar.spoolSegment, ar.spoolLimit)
	if a.Spec.Progress != "" {
		l.spool.SetTailSize(output.SearchedTail)
	}
	l.outbox = output.NewOutbox(l.spool, earlierAgents)
	hello := wire.Message{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Part: a.Part, Mark: a.Mark,
		Version: wire.Version, Release: ar.release}
	l.link = newLink(a.Broker, hello, ar.firstTry, ar.longestTry)
	l.saving = checkpointing.SaveSchedule{Every: a.Spec.Checkpoint.Every, MTBF: a.MTBF}
	for _, s := range a.Saved {
		l.saves = max(l.saves, s.N)
	}
	return l
}

// sinceBirth is the time since this agent began. It does not care what the machine's
// calendar is set to.
func (l *life) sinceBirth() time.Duration { return l.around.clock.Since(l.born) }

// brokerTime is the time now by the broker's clock, as far as we know it.
func (l *life) brokerTime() core.Time { return l.attempt.Now.Add(l.sinceBirth()) }

// runAttempt runs the attempt until nothing is left to do or to say.
func (l *life) runAttempt() {
	talk, hangUp := context.WithCancel(context.Background())
	var talking sync.WaitGroup
	talking.Go(func() { l.link.connectLoop(talk) })
	for !l.over {
		l.sendPending()
		l.handleNext()
		if l.phase == concluded && l.outbox.IsEmpty() {
			l.over = true
			l.recordKnown()
		}
	}
	l.tearDown()
	l.closeReport()
	hangUp()
	talking.Wait()
}

// recordKnown notes that the broker knows all, so that an agent which is started
// here again does not tell it once more.
func (l *life) recordKnown() {
	if os.Link(l.folder.filePath(exitFile), l.folder.filePath(knownFile)) == nil {
		return // its name is all there is to it
	}
	if file, err := os.Create(l.folder.filePath(knownFile)); err == nil {
		_ = file.Close() // nothing is written
	}
}

// handleNext waits for the next thing to happen and does what is to be done.
func (l *life) handleNext() {
	select {
	case e := <-l.link.events:
		l.onLink(e)
	case f := <-l.calls:
		f()
	case <-l.spool.Changed:
	case <-l.done:
		l.onDone()
	case <-l.self:
		l.onSelfSaved()
	case <-tickerChan(l.sampler):
		l.onSample()
	case <-tickerChan(l.memory):
		l.checkMemory()
	case <-tickerChan(l.sizes.look):
		l.readSizes()
	case <-tickerChan(l.status):
		l.sendStatus()
	case <-timerChan(l.dueSave):
		l.onSaveDue()
	case <-timerChan(l.limit):
		l.onLimit()
	case <-timerChan(l.evicted):
		l.onEviction()
	case <-timerChan(l.secure):
		l.secureExit()
	case <-timerChan(l.keepAgain):
		l.retryKeepEnding()
	case <-timerChan(l.quit):
		l.over = true
	case <-l.around.signals:
		l.onSignal()
	}
}

func tickerChan(t *time.Ticker) <-chan time.Time {
	if t == nil {
		return nil
	}
	return t.C
}

func timerChan(t *time.Timer) <-chan time.Time {
	if t == nil {
		return nil
	}
	return t.C
}

// runInBackground does something in a goroutine of its own. What work returns is
// then called by the owner, or undo if the attempt was ended meanwhile; both may
// be nil.
func (l *life) runInBackground(work func(ctx context.Context) (then, undo func())) {
	l.group.Go(func() {
		then, undo := work(l.work)
		if then == nil {
			then = func() {}
		}
		select {
		case l.calls <- then:
		case <-l.work.Done():
			if undo != nil {
				undo()
			}
		}
	})
}

// callOwner has the owner call something for who works in the background.
func (l *life) callOwner(ctx context.Context, f func()) {
	select {
	case l.calls <- f:
	case <-ctx.Done():
	}
}

// tearDown ends whatever still runs.
func (l *life) tearDown() {
	l.cancel(errKilled)
	l.helpers.EndHelpers()
	if l.program != nil {
		l.program.run.KillProgram()
		<-l.program.run.Done()
		l.program.pipes.ClosePipes()
	}
	l.group.Wait()
	l.helpers.AwaitHelpers()
	l.spool.CloseFiles()
}

// sendPending gives the connection what is to be sent.
func (l *life) sendPending() {
	l.outbox.QueueOutput()
	if l.session == nil || l.busy {
		return
	}
	frames, err := l.outbox.NextBatch()
	if err != nil {
		l.around.log.Error("a message cannot be written", "error", err)
	}
	frames = append(frames, l.stated...)
	l.stated = nil
	if l.outbox.Damaged {
		l.outbox.Damaged = false
		l.sendNote("output", "some output is lost", "the disk of the cluster lost it; it is replaced by zeros", nil)
	}
	if len(frames) > 0 {
		l.busy = true
		l.session.out <- frames
	}
}

func (l *life) onLink(e linkEvent) {
	switch {
	case e.what == linkUp:
		l.session, l.busy = e.session, false
		l.outbox.ResendAll()
	case e.what == linkFail:
		l.checkFence()
	case e.session != l.session:
	case e.what == linkDown:
		l.session, l.busy = nil, false
		l.checkFence()
	case e.what == linkWritten:
		l.busy = false
	case e.what == linkOrder:
		l.onOrder(e.order)
	}
}

// checkFence ends everything if the attempt may not run any more.
func (l *life) checkFence() {
	if l.folder.isFenced() || l.folder.isGone() {
		l.over = true
	}
}

func (l *life) onOrder(o *wire.Order) {
	if !l.isForUs(o) {
		return
	}
	switch o.Kind {
	case wire.Ack:
		l.onAck(o.Seq)
	case wire.Kill:
		l.over = true
	case wire.Stop:
		l.stopProgram(stopOrder{l.timeUntil(o.By), o.Why})
	case wire.Cancel:
		l.onCancel(o.Within)
	case wire.Save:
		l.saveOnOrder()
	case wire.Begin:
		l.onBegin(o.Contacts)
	case wire.Watch:
		l.onWatch(o.Every)
	case wire.Offer:
		l.onOffer(o)
	case wire.Resize:
		l.onResize(o)
	case wire.Suspend, wire.Continue:
		l.onSuspend(o.Kind == wire.Suspend)
	case wire.Inform:
		l.onInform(o)
	case wire.Limits:
		l.raiseLimits()
	case wire.Answer:
		if l.watch != nil {
			l.watch.RecordAnswer(l.activeTime())
		}
	}
}

// isForUs reports whether an order is for this attempt, and was not given before one that was
// obeyed: the broker gives orders again to an agent that comes back. A stop that could not be
// carried out is tried again then; a checkpoint is made, or not, once for each order.
func (l *life) isForUs(o *wire.Order) bool {
	if o.Epoch != 0 && o.Epoch != l.attempt.Epoch {
		l.around.log.Warn("an order of another attempt", "order", o.Kind, "epoch", int(o.Epoch))
		return false
	}
	switch {
	case o.Serial == 0:
	case o.Kind == wire.Stop || o.Kind == wire.Cancel:
		if o.Serial < l.stopSerial {
			return false
		}
		l.stopSerial = o.Serial
	case o.Kind == wire.Save:
		if o.Serial <= l.saveSerial {
			return false
		}
		l.saveSerial = o.Serial
	}
	return true
}

// timeUntil is the time until a moment by the broker's clock. What is past, or far
// away, comes from a clock that was set: the order is meant all the same.
func (l *life) timeUntil(by core.Time) time.Duration {
	const least, most, usual = 2 * time.Second, time.Hour, time.Minute
	if by <= 0 {
		return usual
	}
	return min(max(by.Sub(l.brokerTime()), least), most)
}

// onAck notes what the broker has. A number that we never gave is one of an
// agent before us, of which the folder tells nothing because power was lost: what
// it ran is gone, and messages of ours with such numbers would be taken for
// repeated ones.
func (l *life) onAck(seq uint64) {
	if seq > l.outbox.Last {
		l.outbox.RenumberFrom(seq)
		l.around.log.Warn("the broker knows more of this attempt than its folder", "seq", seq)
		return
	}
	l.outbox.AcknowledgeUpTo(seq)
}

// sendNote tells explain something.
func (l *life) sendNote(kind, choice, why string, inputs map[string]any) {
	l.outbox.QueueMessage(wire.Message{Kind: wire.Note, Entry: &wire.Entry{
		At: l.brokerTime(), Kind: kind, Choice: choice, Why: why, Inputs: inputs,
	}})
}

// stopProgram leaves as ordered.
func (l *life) stopProgram(o stopOrder) {
	if !l.isSandboxed() {
		l.report.SetStop(true)
	}
	switch l.phase {
	case preparing:
		l.verdict = &wire.Message{Kind: wire.Left, Why: o.why}
		l.prepare(errKilled)
	case running:
		l.continueProgram()
		if l.stopping == nil {
			l.stopping = &o
			l.saveAndStop()
		}
	default: // it has ended; that is the answer
	}
}

// onLimit ends a program that has had all the time its job allows.
func (l *life) onLimit() {
	m := &wire.Message{Kind: wire.Ended, Code: 124, Cause: jobfile.TimeLimit,
		Why: fmt.Sprintf("time limit reached: it ran longer than %s", l.attempt.Spec.Time)}
	switch l.phase {
	case preparing:
		l.verdict = m
		l.prepare(errKilled)
	case running:
		l.verdict = m
		l.killProgram()
	default: // it has just ended by itself
	}
}

// onSignal: the machine stops, or somebody wants us gone.
func (l *life) onSignal() {
	// A cluster's manager that is to end a released attempt begins like this.
	if l.checkFence(); l.over || l.quit != nil {
		return
	}
	if l.phase == concluded { // the next agent tells it, if need be
		l.secureExit()
		l.quit = time.NewTimer(l.around.grace / 10)
		return
	}
	l.quit = time.NewTimer(l.around.grace)
	l.stopProgram(stopOrder{l.around.grace * 3 / 4, "the machine stops"})
}

// killProgram ends the program; done tells when it is gone.
func (l *life) killProgram() {
	l.continueProgram()
	run := l.program.run
	l.runInBackground(func(context.Context) (func(), func()) {
		run.KillProgram()
		return nil, nil
	})
}
