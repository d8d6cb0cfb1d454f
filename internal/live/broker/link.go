package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// link is a connection to an agent.
type link struct {
	conn  net.Conn
	epoch core.Epoch    // of the attempt, and
	part  int           // the part of the job, whose agent it is
	gone  chan struct{} // closed when the agent is gone
	done  chan struct{} // closed when nothing is written any more
	deaf  bool          // the loop does not listen to it any more

	mu     sync.Mutex
	orders []wire.Order
	wake   chan struct{}
	closed bool
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, gone: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// sendOrder tells the agent something. It never waits: an agent that does not
// listen is no reason for the loop to stand still.
func (l *link) sendOrder(o wire.Order) {
	l.mu.Lock()
	if n := len(l.orders); n > 0 && o.Kind == wire.Ack && l.orders[n-1].Kind == wire.Ack {
		l.orders[n-1] = o // the later acknowledges the earlier
	} else if !l.closed {
		l.orders = append(l.orders, o)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// writeOrders sends the orders until the link is closed.
func (l *link) writeOrders() {
	defer close(l.done)
	out := bufio.NewWriter(l.conn)
	for range l.wake {
		l.mu.Lock()
		orders, closed := l.orders, l.closed
		l.orders = nil
		l.mu.Unlock()
		for i := range orders {
			if err := wire.WriteFrame(out, &orders[i]); err != nil {
				_ = l.conn.Close()
				return
			}
		}
		if out.Flush() != nil || closed {
			_ = l.conn.Close()
			return
		}
	}
}

// closeLink ends the link after the orders given so far.
func (l *link) closeLink() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// sendOrder tells the agents of the present attempt something, as far as they are there.
func (j *job) sendOrder(o wire.Order) {
	for _, l := range j.links {
		l.sendOrder(o)
	}
}

// linkOf is the connection to the agent of a part; nil if it is not there.
func (j *job) linkOf(part int) *link {
	for _, l := range j.links {
		if l.part == part {
			return l
		}
	}
	return nil
}

// presentLinks are those to agents of the present attempt: agents of the one before may not be
// gone yet.
func (j *job) presentLinks() []*link {
	var list []*link
	for _, l := range j.links {
		if l.epoch == j.rec.Epoch {
			list = append(list, l)
		}
	}
	return list
}

// dropLink forgets a connection.
func (j *job) dropLink(gone *link) {
	j.links = slices.DeleteFunc(slices.Clone(j.links), func(l *link) bool { return l == gone })
}

var errNoHello = errors.New("an agent must say who it is first")

// ServeAgent listens to an agent until its connection ends. The connection is
// closed then.
func (b *Broker) ServeAgent(ctx context.Context, conn *wire.Conn) error {
	in := conn.R
	l := newLink(conn)
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	stopToo := context.AfterFunc(b.ctx, func() { _ = conn.Close() })
	defer stopToo()
	var hello wire.Message
	silent := time.AfterFunc(helloTimeout, func() { _ = conn.Close() })
	if err := wire.ReadFrame(in, &hello); err != nil {
		return err
	}
	if !silent.Stop() || hello.Kind != wire.Hello || hello.CheckFields() != nil {
		return errNoHello
	}
	b.runInBackground(l.writeOrders)
	defer l.closeLink()
	var j *job
	if err := b.askLoop(ctx, func(t *turn) { j = t.meetAgent(ctx, l, &hello) }); err != nil {
		return err
	}
	if j == nil {
		<-l.done // it is told to leave
		return nil
	}
	defer b.postToLoop(func(t *turn) {
		close(l.gone)
		j.dropLink(l)
		t.settleJob(j)
	})
	for {
		m := new(wire.Message)
		if err := wire.ReadFrame(in, m); err != nil {
			return err
		}
		if err := m.CheckFields(); err != nil {
			m = b.distrustMessage(j, m, err)
		}
		if !b.postToLoop(func(t *turn) { t.takeMessage(j, l, &hello, m) }) {
			return ErrStopped
		}
	}
}

// helloTimeout is how long a new connection may take to say whose agent it is.
const helloTimeout = 20 * time.Second

// distrustMessage stands in for a message that no agent of ours sends. Its attempt is
// given up: what it would say next is worth no more. Other jobs are not concerned.
func (b *Broker) distrustMessage(j *job, m *wire.Message, why error) *wire.Message {
	b.opt.Log.Warn("invalid message of an agent", "job", j.rec.ID, "kind", m.Kind, "error", why)
	if m.Seq == 0 { // a status: nothing depends on it
		return &wire.Message{Kind: wire.Status}
	}
	return &wire.Message{Seq: m.Seq, Kind: wire.Lost,
		Why: fmt.Sprintf("the job's agent sent an invalid message (%s): %s", m.Kind, why)}
}

// isPresent reports whether an agent is that of a part of the job's present attempt.
func isPresent(j *job, hello *wire.Message) bool {
	return hello.Epoch == j.rec.Epoch && hello.Part < j.rec.PartCount() &&
		hello.Mark == wire.PartMark(j.rec.Mark, hello.Part)
}

// meetAgent makes a connection the one to the agent of a job's present attempt. An
// agent of an attempt that is past, or of a job of somebody else than those who
// let it in speak for, is told to leave.
func (t *turn) meetAgent(ctx context.Context, l *link, hello *wire.Message) *job {
	j := t.b.jobs[hello.Job]
	if j == nil || !t.b.ownsJob(ctx, &j.rec) || !isPresent(j, hello) {
		t.afterCommit(func() { l.sendOrder(wire.Order{Kind: wire.Kill}); l.closeLink() })
		return nil
	}
	if err := hello.CheckVersion(); err != nil {
		t.refuseAgent(j, hello, err)
		t.afterCommit(l.closeLink)
		return nil
	}
	l.epoch, l.part = hello.Epoch, hello.Part
	if old := j.linkOf(l.part); old != nil {
		old.closeLink() // an agent that reconnects knows better
		j.dropLink(old)
	}
	j.links = append(j.links, l)
	t.greetAgent(j, l)
	return j
}

// refuseAgent explains, once for an attempt, that its agent cannot be understood. Its program runs
// on: an agent that is refused tries again, and tells a broker that understands it how it went.
func (t *turn) refuseAgent(j *job, hello *wire.Message, why error) {
	if j.refusedEpoch == hello.Epoch {
		return
	}
	j.refusedEpoch = hello.Epoch
	t.b.opt.Log.Warn("agent refused", "job", j.rec.ID, "epoch", int(hello.Epoch), "error", why)
	t.explainJob(j, "agent", "refused", why.Error()+"; its program runs on, and how it ends is known when a broker runs "+
		"that understands its agent", map[string]any{"version": hello.SpokenVersion(), "release": hello.Release})
}
