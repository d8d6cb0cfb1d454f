package broker_test

import (
	"bufio"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Each test here is about one fence: it fails, always, if that fence alone is taken
// away (make mutants). They run in a bubble: synctest.Wait returns when everybody
// waits for somebody else, so that "nothing happens" is no question of time.

// slowDisk is a store whose commits of some batches take as long as the test wants.
type slowDisk struct {
	store.Store
	slow     func(*store.Batch) bool
	entered  chan struct{} // closed when the first such batch has come
	released chan struct{}
	begun    atomic.Bool
}

func (d *slowDisk) CommitBatch(ctx context.Context, b *store.Batch) error {
	if d.slow(b) && d.begun.CompareAndSwap(false, true) {
		close(d.entered)
		<-d.released
	}
	return d.Store.CommitBatch(ctx, b)
}

func TestTheEndOfAJobIsAcknowledgedOnlyWhenItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		disk := &slowDisk{Store: g.store, entered: make(chan struct{}), released: make(chan struct{})}
		disk.slow = func(b *store.Batch) bool {
			return len(b.Jobs) > 0 && b.Jobs[0].State == core.Done
		}
		g.store = disk
		g.up()
		id := g.submit(jobfile.Job{})
		a := g.next()
		a.run()
		g.until(id, core.Running)
		a.untilAcknowledged(t)
		a.end(0)
		<-disk.entered
		synctest.Wait()
		if a.unacknowledged() != 1 {
			t.Error("the end is acknowledged while the store is still writing it")
		}
		close(disk.released)
		g.until(id, core.Done)
		a.untilAcknowledged(t)
	})
}

func TestAnEndThatComesWhileTheJobIsBeingStoppedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		id := g.submit(jobfile.Job{})
		a := g.next()
		a.run()
		g.until(id, core.Running)
		moved := make(chan error, 1)
		go func() {
			_, err := g.broker().MigrateJob(t.Context(), "1", "b")
			moved <- err
		}()
		a.order(t, wire.Stop)
		a.end(0)
		if v := g.until(id, core.Done); v.Code != 0 || v.Epoch != 1 {
			t.Errorf("it ended with %d in attempt %d", v.Code, v.Epoch)
		}
		<-moved // whatever it says: there was nothing left to move
	})
}

// heldRelease is a cluster whose releases take as long as the test wants.
type heldRelease struct {
	driver.Driver
	entered, released chan struct{}
	begun             atomic.Bool
}

func (d *heldRelease) ReleaseAttempt(ctx context.Context, id driver.ID) error {
	if d.begun.CompareAndSwap(false, true) {
		close(d.entered)
	}
	<-d.released
	return d.Driver.ReleaseAttempt(ctx, id)
}

func TestTheNextAttemptIsNotStartedBeforeTheLastIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		slow := &heldRelease{Driver: g.a, entered: make(chan struct{}), released: make(chan struct{})}
		g.driverOfA = slow
		g.up()
		id := g.submit(jobfile.Job{On: []string{"a"}, Retries: 3})
		a := g.next()
		a.run()
		g.until(id, core.Running)
		a.say(wire.Message{Kind: wire.Lost, Why: "the test says so"})
		<-slow.entered
		synctest.Wait()
		if n := g.a.startCalls(); n != 1 {
			t.Errorf("%d attempts are started while the first is being released", n)
		}
		close(slow.released)
		if second := g.next(); second.Epoch != 2 {
			t.Errorf("attempt %d is started", second.Epoch)
		}
	})
}

func TestOutputLiesWhereItsAgentSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		id := g.submit(jobfile.Job{})
		a := g.next()
		a.run()
		a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("hello world")})
		a.say(wire.Message{Kind: wire.Output, Stream: 1, Offset: 6, Data: []byte("there")}) // another agent took over
		a.end(0)
		g.until(id, core.Done)
		if got := g.logs(id); got != "hello there" {
			t.Errorf("it wrote %q", got)
		}
	})
}

// An agent that lives on though its attempt is past speaks over the connection that
// it made when it was not.
func TestWhatAnAgentOfAPastAttemptSaysIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.a.spares.Store(true)
		id := g.submit(jobfile.Job{On: []string{"a"}, Retries: 3})
		first := g.next()
		first.run()
		g.until(id, core.Running)
		first.mu.Lock()
		first.stays = true
		first.mu.Unlock()
		first.say(wire.Message{Kind: wire.Lost, Why: "the test says so"})
		second := g.next() // when its agent connects the other is cut off
		first.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("of the past")})
		first.say(wire.Message{Kind: wire.Ended, Code: 9})
		synctest.Wait()
		if v := g.view(id); v.State.IsTerminal() || v.Epoch != 2 || v.Out != 0 {
			t.Errorf("it is %s in attempt %d and has written %d bytes", v.State, v.Epoch, v.Out)
		}
		second.run()
		second.end(0)
		g.until(id, core.Done)
	})
}

func TestAnAgentOfAnotherAttemptIsToldToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		id := g.submit(jobfile.Job{})
		a := g.next()
		a.run()
		g.until(id, core.Running)
		for name, hello := range map[string]wire.Message{
			"mark":  {Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Mark: "another"},
			"epoch": {Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch + 1, Mark: a.Mark},
			"job":   {Kind: wire.Hello, Job: a.Job + 1, Epoch: a.Epoch, Mark: a.Mark},
		} {
			mine, theirs := net.Pipe()
			g.serving.Go(func() {
				_ = g.broker().ServeAgent(context.Background(), &wire.Conn{Conn: theirs, R: bufio.NewReader(theirs)})
			})
			if err := wire.WriteFrame(mine, &hello); err != nil {
				t.Fatal(err)
			}
			var answer wire.Order
			if err := wire.ReadFrame(bufio.NewReader(mine), &answer); err != nil || answer.Kind != wire.Kill {
				t.Errorf("another %s: answered %q, %v", name, answer.Kind, err)
			}
			_ = mine.Close()
		}
		a.end(0) // over the connection that it had before
		g.until(id, core.Done)
	})
}

func TestAConnectionThatDoesNotSayWhoseAgentItIsIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		mine, theirs := net.Pipe()
		began := time.Now()
		err := g.broker().ServeAgent(t.Context(), &wire.Conn{Conn: theirs, R: bufio.NewReader(theirs)})
		if took := time.Since(began); err == nil || took > time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
		if _, err := mine.Read(make([]byte, 1)); err == nil {
			t.Error("it is still connected")
		}
	})
}
