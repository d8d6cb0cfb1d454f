package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// howLongPeriodic is how long a save that nobody waits for may take.
const howLongPeriodic = 10 * time.Minute

// saveOrder is a save that is going on.
type saveOrder struct {
	stop   bool // and leave
	asked  bool // somebody ordered it
	cancel context.CancelCauseFunc
}

// errStopFirst ends a save because the program is to be stopped, which saves it.
var errStopFirst = errors.New("the program is being stopped")

// orderSave saves because the broker says so.
func (l *life) orderSave() {
	switch {
	case l.phase == preparing:
		l.notSaved(errors.New("the program does not run yet"))
	case l.phase != running || l.stopping != nil: // its end, or its leaving, is the answer
	case l.save != nil:
		l.wanted = true
	default:
		l.beginSave(saveOrder{asked: true}, howLongPeriodic)
	}
}

// onSaveDue saves because it is time.
func (l *life) onSaveDue() {
	stopTimer(&l.dueSave)
	switch {
	case l.phase != running || l.save != nil || l.stopping != nil:
	case l.session == nil || !l.saving.worthIt(l.watch.left()):
		// Without the broker there is nowhere to bring it, and a program that
		// is about to end need not be saved. Later it may be otherwise.
		l.dueSave = time.NewTimer(shortestWait / 4)
	default:
		l.beginSave(saveOrder{}, howLongPeriodic)
	}
}

// onSelfSaved takes what the program has saved by itself.
func (l *life) onSelfSaved() {
	self, ok := l.program.run.(checkpoint.SelfSaver)
	if !ok {
		return
	}
	if l.save != nil || l.session == nil || l.stopping != nil || l.tooSoon() {
		self.Skip()
		return
	}
	l.beginSave(saveOrder{}, howLongPeriodic)
}

// tooSoon says whether the last save was made so recently that a program which
// saves itself very often would be slowed down by taking all of them.
func (l *life) tooSoon() bool {
	wait, ok := l.saving.next()
	return !ok || l.saver.last > 0 && l.now()-l.saver.last < min(wait, shortestWait)
}

// planSave sets the timer for the next save.
func (l *life) planSave() {
	stopTimer(&l.dueSave)
	if l.self != nil && l.attempt.Spec.Checkpoint.Signal == "" || l.program.choice.method == methodRestart {
		return // it saves itself when it likes, or cannot be saved
	}
	if wait, ok := l.saving.next(); ok {
		l.dueSave = time.NewTimer(wait)
	}
}

// leave saves the program and stops it, as l.stopping says.
func (l *life) leave() {
	if l.save != nil {
		l.save.cancel(errStopFirst) // what it has brought to the depot already stays there
		return
	}
	l.beginSave(saveOrder{stop: true}, l.stopping.within)
}

func (l *life) beginSave(o saveOrder, within time.Duration) {
	stopTimer(&l.dueSave)
	l.saves++
	n, s, at, slow := l.saves, l.saver, l.brokerTime(), l.watch.pulse.mean.Mean()
	s.size = l.imageSize()
	l.save = &o
	timed, release := context.WithTimeout(l.work, within)
	ctx, cancel := context.WithCancelCause(timed)
	o.cancel = cancel
	l.background(func(context.Context) (func(), func()) {
		defer release()
		saved, err := s.save(ctx, n, o.stop)
		if err != nil && ctx.Err() != nil && !errors.Is(err, checkpoint.ErrNothingToSave) {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		if saved != nil {
			saved.At, saved.Slow = at, slow
		}
		return func() {
			l.save = nil
			if l.saver == s { // else it was another program's
				l.onSaved(o, saved, err)
			}
		}, nil
	})
}

// onSaved is told when a save is over.
func (l *life) onSaved(o saveOrder, saved *wire.Saved, err error) {
	if l.phase != running {
		return // it ended by itself meanwhile
	}
	switch {
	case o.stop:
		l.onLeft(saved, err)
		return
	case err == nil:
		l.saving.frozen, l.saving.took, l.saving.failed = max(saved.Frozen, time.Millisecond), saved.Took, 0
		l.outbox.sayBehind(wire.Message{Kind: wire.Checkpoint, Saved: saved}, saved.Out, saved.Err)
	case errors.Is(err, errStopFirst):
	default:
		l.saving.failed++
		l.notSaved(err)
	}
	l.saver.last = l.now()
	switch {
	case l.stopping != nil:
		l.leave()
	case l.wanted:
		l.wanted = false
		l.beginSave(saveOrder{asked: true}, howLongPeriodic)
	default:
		l.planSave()
	}
}

func (l *life) notSaved(err error) {
	l.outbox.say(wire.Message{Kind: wire.NotSaved, Why: err.Error()})
}

// onLeft is told when the program was to be saved and stopped.
func (l *life) onLeft(saved *wire.Saved, err error) {
	stop := *l.stopping
	switch {
	case err == nil:
		l.program.pipes.close() // all that counts was read when it was frozen
		l.gone()
		l.finish(wire.Message{Kind: wire.Left, Why: stop.why, Saved: saved})
	case errors.Is(err, checkpoint.ErrNothingToSave):
		l.verdict = &wire.Message{Kind: wire.Left, Why: stop.why}
		l.killProgram()
	case l.saver.stopped():
		l.goOn(err)
	case l.saver.ended(): // by itself; that is the answer
	default:
		l.staysOn(err)
	}
}

// staysOn says that the program runs on although it was to leave.
func (l *life) staysOn(err error) {
	l.stopping = nil
	l.outbox.say(wire.Message{Kind: wire.StaysOn, Why: err.Error()})
	l.planSave()
}

// goOn starts a program that was saved and stopped again from its image, here,
// because the image could not be brought away.
func (l *life) goOn(why error) {
	old, image := l.program, l.saver.image
	old.pipes.close()
	l.gone()
	l.phase = preparing
	ctx, cancel := context.WithCancelCause(l.work)
	l.prepare = cancel
	p := &preparation{attempt: l.attempt, folder: l.folder, around: l.around, life: l.work}
	l.background(func(context.Context) (func(), func()) {
		s := *old
		pipes, err := openPipes(l.spool)
		if err == nil {
			s.pipes, s.program = pipes, p.build(pipes, s.choice.method)
			err = p.launch(ctx, &s, image)
		}
		return func() { l.wentOn(&s, why, err) }, func() {
			if err == nil {
				s.abandon()
			}
		}
	})
}

func (l *life) wentOn(s *started, why, err error) {
	l.prepare(nil)
	switch {
	case err != nil:
		l.neverRan(fmt.Errorf("it was saved, but the image could not be brought away (%w) nor continued here: %w", why, err))
		return
	case l.verdict != nil && l.verdict.Kind == wire.Left:
		s.abandon()
		l.finish(*l.verdict)
		return
	}
	l.phase = running
	l.takeOver(s)
	l.endOrdered()
	l.staysOn(fmt.Errorf("it was saved, but the image could not be brought away: %w", why))
}

// saver saves one program. Only one save runs at a time.
type saver struct {
	around  *around
	run     checkpoint.Run
	pipes   *pipes
	spool   *spool
	scratch string
	work    string
	depot   warehouse
	method  string
	used    func() (seconds float64, bytes int64) // of the whole job, on the reference host
	spent   func() (busy, idle float64)           // of the whole job, see wire.Vitals
	epoch   core.Epoch
	// exported is what the setup line left, unless the image has it.
	exported []string

	size  int64  // of the next image, about
	image string // folder of the last image
	shot  *depot.Shot
	last  time.Duration // when the last save was over
}

func (l *life) newSaver(s *started) *saver {
	v := &saver{around: l.around, run: s.run, pipes: s.pipes, spool: l.spool, scratch: l.folder.scratch(), work: l.folder.work(),
		depot: l.around.depot(l.attempt.Broker), method: s.choice.method, epoch: l.attempt.Epoch}
	if s.choice.method != methodSandbox {
		v.exported = s.exported
	}
	from, mark := l.watch.from, l.attempt.Mark
	v.used = func() (float64, int64) {
		u := l.around.usage(mark)
		return from.total(u.CPU), from.bytes(u)
	}
	watch := l.watch
	v.spent = func() (busy, idle float64) {
		if s := watch.spent.Load(); s != nil {
			return s.busy, s.idle
		}
		return from.busy, from.idle
	}
	return v
}

// ended says whether the program is gone.
func (s *saver) ended() bool {
	select {
	case <-s.run.Done():
		return true
	default:
		return false
	}
}

// stopped says whether the program is gone because it was saved.
func (s *saver) stopped() bool { return s.ended() && s.run.Result().Saved }

// save saves the program and brings the image away.
func (s *saver) save(ctx context.Context, n int, stop bool) (*wire.Saved, error) {
	begin := s.around.clock()
	s.image = filepath.Join(s.scratch, fmt.Sprintf("image.%d", n))
	copied := filepath.Join(s.scratch, fmt.Sprintf("files.%d", n))
	defer os.RemoveAll(copied) //nolint:errcheck // what is left goes with the folder
	if err := s.hasRoom(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.image, 0o700); err != nil {
		return nil, err
	}
	saved := &wire.Saved{N: n, Epoch: s.epoch, Method: s.method, Exported: s.exported}
	var shot *depot.Shot
	var froze time.Time
	err := s.run.Save(ctx, s.image, stop, func() (err error) {
		froze = s.around.clock()
		shot, err = s.freeze(saved, copied, stop)
		return err
	})
	if err != nil {
		s.pipes.resume()
		_ = os.RemoveAll(s.image) // it is of no use
		return nil, err
	}
	saved.Frozen = s.around.clock.Since(froze)
	err = s.bring(ctx, saved, shot)
	if err == nil || !stop {
		_ = os.RemoveAll(s.image) // it is in the depot, or not needed
	}
	if err != nil {
		return nil, err
	}
	s.shot = shot
	saved.Took = s.around.clock.Since(begin)
	return saved, nil
}

// hasRoom says whether the image will fit. Finding out by filling the disk would
// disturb the program, and others.
func (s *saver) hasRoom() error {
	const spare = 32 << 20
	if s.size == 0 {
		return nil
	}
	free, err := s.around.free(s.scratch)
	if err != nil || free > s.size+s.size/8+spare {
		return nil //nolint:nilerr // not known: it will be seen
	}
	return fmt.Errorf("there is no room for an image of about %d MB: %d MB are free on the disk of %s", s.size>>20, free>>20, s.scratch)
}

// imageSize is about how large an image of the program is; 0 if it is hardly
// anything.
func (l *life) imageSize() int64 {
	if l.program.choice.method != methodSandbox {
		return 0
	}
	return l.watch.last.Memory
}

// freeSpace is what an ordinary user may still write to the disk of a folder.
func freeSpace(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

// freeze is called while the program stands still.
func (s *saver) freeze(saved *wire.Saved, copied string, stop bool) (*depot.Shot, error) {
	if stop {
		s.pipes.pause()
	}
	if err := s.pipes.drain(); err != nil {
		return nil, err
	}
	saved.Out, saved.Err = s.spool.ends()
	saved.Used, saved.IO = s.used()
	saved.Busy, saved.Idle = s.spent()
	return depot.Snapshot(s.work, copied, s.shot)
}

// bring pushes image and work folder to the depot.
func (s *saver) bring(ctx context.Context, saved *wire.Saved, shot *depot.Shot) error {
	before, tries := s.depot.Traffic(), 0
	err := s.around.insist(ctx, func() error {
		tries++
		work, _, stats, err := shot.Push(ctx, s.depot)
		if err != nil {
			return fmt.Errorf("saving the working directory: %w", err)
		}
		saved.Work, saved.Bytes, saved.Moved = string(work), stats.Bytes, saved.Moved+stats.Moved
		list, err := os.ReadDir(s.image)
		if err != nil || len(list) == 0 {
			return err
		}
		image, _, stats, err := depot.Push(ctx, s.image, s.depot, depot.PushOptions{})
		if err != nil {
			return fmt.Errorf("bringing the image away: %w", err)
		}
		saved.Image, saved.Bytes, saved.Moved = string(image), saved.Bytes+stats.Bytes, saved.Moved+stats.Moved
		return nil
	})
	if tries == 1 {
		saved.Sending = s.depot.Traffic().Since(before).Busy
	}
	return err
}
