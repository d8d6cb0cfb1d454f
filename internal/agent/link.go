package agent

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// link keeps a connection to the broker. It writes what it is given and hands
// on what it reads; what is to be said, and said again, the owner knows.
type link struct {
	broker         string // as package gate takes it
	hello          wire.Message
	first, longest time.Duration // back-off between tries
	events         chan linkEvent
}

// linkEvent is what happened to the connection.
type linkEvent struct {
	session *session    // up, written, order: of this connection
	order   *wire.Order // one came
	what    linkState
}

type linkState int

const (
	linkUp      linkState = iota // connected, and hello said
	linkWritten                  // what was given has been written
	linkOrder
	linkDown // the connection is gone
	linkFail // could not connect
)

// session is one connection. At most one batch may be in out.
type session struct{ out chan []byte }

func newLink(broker string, hello wire.Message, first, longest time.Duration) *link {
	return &link{broker: broker, hello: hello, first: first, longest: longest, events: make(chan linkEvent)}
}

// connectLoop connects, and connects again, until ctx is done.
func (k *link) connectLoop(ctx context.Context) {
	pause := k.first
	for ctx.Err() == nil {
		conn, err := k.connectBroker(ctx)
		if err == nil {
			pause = k.first
			k.runSession(ctx, conn)
		} else {
			k.sendEvent(ctx, linkEvent{what: linkFail})
		}
		clock.SleepContext(ctx, pause)
		pause = min(2*pause, k.longest)
	}
}

func (k *link) connectBroker(ctx context.Context) (*wire.Conn, error) {
	// A broker that takes connections but does not answer is as good as none.
	try, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := rendezvous.DialBroker(try, k.broker)
	if err != nil {
		return nil, err
	}
	conn, err := wire.UpgradeConn(try, c)
	if err != nil {
		return nil, err
	}
	if err := wire.WriteFrame(conn, k.hello); err != nil {
		_ = conn.Close() // it is gone already
		return nil, err
	}
	return conn, nil
}

// runSession writes and reads until the connection breaks.
func (k *link) runSession(ctx context.Context, conn *wire.Conn) {
	s := &session{out: make(chan []byte, 1)}
	talk, cancel := context.WithCancel(ctx)
	reading := make(chan struct{})
	k.sendEvent(talk, linkEvent{session: s, what: linkUp})
	go func() {
		defer close(reading)
		defer cancel()
		k.readOrders(talk, conn, s)
	}()
	// Whatever ends the one ends the other: a writer that waits for a broker
	// that reads no more, a reader that waits for orders.
	stop := context.AfterFunc(talk, func() { _ = conn.Close() })
	k.writeFrames(talk, conn, s)
	cancel()
	<-reading
	stop()
	_ = conn.Close()
	k.sendEvent(ctx, linkEvent{session: s, what: linkDown})
}

func (k *link) writeFrames(ctx context.Context, conn *wire.Conn, s *session) {
	for {
		select {
		case <-ctx.Done():
			return
		case frames := <-s.out:
			if _, err := conn.Write(frames); err != nil {
				return
			}
			k.sendEvent(ctx, linkEvent{session: s, what: linkWritten})
		}
	}
}

func (k *link) readOrders(ctx context.Context, conn *wire.Conn, s *session) {
	for {
		order := new(wire.Order)
		if wire.ReadFrame(conn.R, order) != nil {
			return
		}
		k.sendEvent(ctx, linkEvent{session: s, order: order, what: linkOrder})
	}
}

func (k *link) sendEvent(ctx context.Context, e linkEvent) {
	select {
	case <-ctx.Done():
	case k.events <- e:
	}
}
