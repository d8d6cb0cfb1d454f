package agent

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// fakeBroker is the broker's end of the protocol: it takes numbered messages
// once, keeps the output as a broker would, and does what a test tells it to.
type fakeBroker struct {
	hello wire.Message // of the last agent that came

	t       testing.TB
	socket  string
	store   *depot.Store
	cut     *rand.Rand    // if set, connections break at random moments
	mute    bool          // acknowledge nothing
	garbage func() []byte // sent after each message, if set

	mu       sync.Mutex
	server   *http.Server
	done     chan struct{}
	conns    []*wire.Conn
	last     map[string]uint64 // by mark
	past     map[string]bool   // attempts whose end was told
	messages []wire.Message
	out      [3][]byte
	status   int
	vitals   *wire.Vitals // of the last status
	cuts     int
	changed  chan struct{}
}

func newFakeBroker(t testing.TB) *fakeBroker {
	t.Helper()
	// A short path: that of a socket may have no more than 107 bytes.
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	store, err := depot.Open(filepath.Join(dir, "depot"))
	if err != nil {
		t.Fatal(err)
	}
	b := &fakeBroker{t: t, socket: filepath.Join(dir, "s"), store: store, last: map[string]uint64{},
		past: map[string]bool{}, changed: make(chan struct{})}
	t.Cleanup(func() {
		b.stop()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return b
}

// start listens; stop is what the death of a broker looks like to an agent.
func (b *fakeBroker) start() {
	b.t.Helper()
	_ = os.Remove(b.socket)
	l, err := net.Listen("unix", b.socket)
	if err != nil {
		b.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(wire.Depot, httpdepot.NewHandler(b.store))
	mux.HandleFunc(wire.Path, b.serve)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server, b.done = &http.Server{Handler: mux}, make(chan struct{})
	go func(s *http.Server, done chan struct{}) { defer close(done); _ = s.Serve(l) }(b.server, b.done)
}

func (b *fakeBroker) stop() {
	b.mu.Lock()
	server, done, conns := b.server, b.done, b.conns
	b.server, b.conns = nil, nil
	b.mu.Unlock()
	if server == nil {
		return
	}
	_ = server.Close()
	for _, c := range conns {
		_ = c.Close()
	}
	<-done
}

func (b *fakeBroker) serve(w http.ResponseWriter, r *http.Request) {
	c, err := wire.AcceptAgent(w, r)
	if err != nil {
		return
	}
	defer c.Close()
	b.mu.Lock()
	gone := b.server == nil
	b.conns = append(b.conns, c)
	b.tell()
	b.mu.Unlock()
	if gone {
		return
	}
	var hello wire.Message
	if wire.ReadFrame(c.R, &hello) != nil || hello.Kind != wire.Hello || hello.Mark == "" {
		return
	}
	b.mu.Lock()
	b.hello = hello
	b.mu.Unlock()
	for {
		var m wire.Message
		if err := wire.ReadFrame(c.R, &m); err != nil {
			return
		}
		if !b.take(c, hello.Mark, m) {
			return
		}
	}
}

// take takes a message; false breaks the connection.
func (b *fakeBroker) take(c *wire.Conn, mark string, m wire.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cutNow() {
		return false
	}
	if m.Seq == 0 {
		if m.Kind != wire.Status {
			b.t.Errorf("message without a number: %+v", m)
		}
		b.status++
		b.vitals = m.State
		b.tell()
		return true
	}
	if m.Seq > b.last[mark] {
		b.last[mark] = m.Seq
		switch {
		case b.past[mark]: // of an attempt that is over; acknowledged and dropped
		case m.Kind == wire.Output:
			b.write(m)
		default:
			b.messages = append(b.messages, m)
			b.past[mark] = m.Kind == wire.Ended || m.Kind == wire.Left || m.Kind == wire.Lost
		}
		b.tell()
	}
	if b.cutNow() { // durable, but not acknowledged
		return false
	}
	if b.garbage != nil {
		_, _ = c.Write(b.garbage())
	}
	return b.mute || wire.WriteFrame(c, wire.Order{Kind: wire.Ack, Seq: b.last[mark]}) == nil
}

func (b *fakeBroker) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *fakeBroker) cutNow() bool {
	if b.cut != nil && b.cut.IntN(8) == 0 {
		b.cuts++
		return true
	}
	return false
}

func (b *fakeBroker) write(m wire.Message) {
	if m.Stream != 1 && m.Stream != 2 || m.Offset > int64(len(b.out[m.Stream])) {
		b.t.Errorf("output of stream %d at %d, of which %d bytes are there", m.Stream, m.Offset, len(b.out[m.Stream]))
		return
	}
	b.out[m.Stream] = append(b.out[m.Stream][:m.Offset], m.Data...)
}

// order sends an order to all agents that are connected; one is to come if there is none. An agent
// that is just starting its program may not have come yet.
func (b *fakeBroker) order(o wire.Order) {
	b.until("an agent is connected", func() bool { return len(b.conns) > 0 || b.server == nil })
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		_ = wire.WriteFrame(c, o)
	}
}

// patience is how long tests wait for what must happen at last; much longer
// than it takes on a busy machine.
const patience = 3 * time.Minute

// until waits until a condition on what has arrived holds.
func (b *fakeBroker) until(what string, holds func() bool) {
	b.t.Helper()
	deadline := time.After(patience)
	for {
		b.mu.Lock()
		ok, changed := holds(), b.changed
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			b.mu.Lock()
			defer b.mu.Unlock()
			b.t.Fatalf("waited in vain for %s; messages: %s; stdout: %.300q", what, kinds(b.messages), b.out[1])
		}
	}
}

func kinds(list []wire.Message) string {
	s := ""
	for _, m := range list {
		s += fmt.Sprintf(" %s(%s)", m.Kind, m.Why)
		if m.Entry != nil {
			s += m.Entry.Choice
		}
	}
	return s
}

// await waits for a message of one of these kinds and returns the first.
func (b *fakeBroker) await(kind ...wire.Kind) wire.Message {
	b.t.Helper()
	var found wire.Message
	b.until(fmt.Sprint(kind), func() bool {
		i := slices.IndexFunc(b.messages, func(m wire.Message) bool { return slices.Contains(kind, m.Kind) })
		if i >= 0 {
			found = b.messages[i]
		}
		return i >= 0
	})
	return found
}

// all lists the messages of these kinds.
func (b *fakeBroker) all(kind ...wire.Kind) []wire.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []wire.Message
	for _, m := range b.messages {
		if slices.Contains(kind, m.Kind) {
			list = append(list, m)
		}
	}
	return list
}

func (b *fakeBroker) output(stream int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.out[stream])
}

// endings are the messages that say how an attempt ended.
func (b *fakeBroker) endings() []wire.Message {
	return b.all(wire.Ended, wire.Left, wire.Lost)
}
