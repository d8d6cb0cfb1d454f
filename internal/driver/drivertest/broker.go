package drivertest

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Broker is as much of a broker as agents need: it listens, remembers what they
// say and acknowledges it.
type Broker struct {
	Socket string

	t      testing.TB
	mu     sync.Mutex
	deaf   bool
	server *http.Server
	conns  map[*wire.Conn]bool
	heard  map[driver.ID][]wire.Message
	last   map[driver.ID]uint64
	served sync.WaitGroup
}

// NewBroker makes one that is up until the test ends.
func NewBroker(t testing.TB) *Broker {
	t.Helper()
	dir, err := os.MkdirTemp("", "godwit") // short: the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{Socket: filepath.Join(dir, "broker"), t: t, conns: map[*wire.Conn]bool{},
		heard: map[driver.ID][]wire.Message{}, last: map[driver.ID]uint64{}, deaf: true}
	b.SetDeaf(false)
	t.Cleanup(func() {
		b.SetDeaf(true)
		b.served.Wait()
		_ = os.RemoveAll(dir)
	})
	return b
}

// SetDeaf takes the broker away, or brings it back.
func (b *Broker) SetDeaf(deaf bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf == deaf {
		return
	}
	b.deaf = deaf
	if deaf {
		_ = b.server.Close()
		for c := range b.conns {
			_ = c.Close()
		}
		return
	}
	_ = os.Remove(b.Socket)
	l, err := net.Listen("unix", b.Socket)
	if err != nil {
		b.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(wire.Path, b.serveAgent)
	server := &http.Server{Handler: mux}
	b.server = server
	b.served.Go(func() { _ = server.Serve(l) })
}

// HeardFrom is what one attempt's agents have said, without repetitions and Hello.
func (b *Broker) HeardFrom(id driver.ID) []wire.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]wire.Message(nil), b.heard[id]...)
}

// SendOrder tells all agents that are connected.
func (b *Broker) SendOrder(o wire.Order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		_ = wire.WriteFrame(c, o)
	}
}

func (b *Broker) serveAgent(w http.ResponseWriter, r *http.Request) {
	c, err := wire.AcceptAgent(w, r)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }() // the agent comes back if it has more
	b.mu.Lock()
	if b.deaf {
		b.mu.Unlock()
		return
	}
	b.conns[c] = true
	b.served.Add(1)
	b.mu.Unlock()
	defer b.served.Done()
	defer func() {
		b.mu.Lock()
		delete(b.conns, c)
		b.mu.Unlock()
	}()
	var who driver.ID
	for {
		var m wire.Message
		if wire.ReadFrame(c.R, &m) != nil {
			return
		}
		if m.Kind == wire.Hello {
			who = driver.ID{Job: m.Job, Epoch: m.Epoch, Part: m.Part}
			continue
		}
		if !b.takeMessage(c, who, m) {
			return
		}
	}
}

// takeMessage remembers a message and acknowledges it; what comes again is only
// acknowledged.
func (b *Broker) takeMessage(c *wire.Conn, who driver.ID, m wire.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf {
		return false
	}
	if m.Seq == 0 {
		return true
	}
	if m.Seq > b.last[who] {
		b.last[who] = m.Seq
		if !b.repeatsLast(who, m) {
			b.heard[who] = append(b.heard[who], m)
		}
	}
	return wire.WriteFrame(c, wire.Order{Kind: wire.Ack, Seq: m.Seq}) == nil
}

// repeatsLast says that this is the last word once more: an agent that does not know
// whether the one before it was heard says it again under a number of its own.
func (b *Broker) repeatsLast(who driver.ID, m wire.Message) bool {
	if m.Kind != wire.Ended && m.Kind != wire.Left && m.Kind != wire.Lost {
		return false
	}
	all := b.heard[who]
	return len(all) > 0 && all[len(all)-1].Kind == m.Kind && all[len(all)-1].Code == m.Code
}
