package sockets

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// Every is the time between two looks. A connection that lives shorter may not be seen.
const Every = 50 * time.Millisecond

// A look must not take the processor from those that are looked at: the pause after it
// is so many times longer, but not longer than that.
const (
	lightly = 50
	longest = time.Second
)

// lateEnds is how long the ends of connections are waited for after the command.
const lateEnds = time.Second

// Traffic is what processes said to each other. Those that said nothing are not in it.
type Traffic struct {
	Names  []string  // of processes, in the order in which they were first seen to talk
	Bytes  [][]int64 // from row to column
	Others []RemotePeer
}

// RemotePeer is what a process and somebody who did not come from the command said to each
// other.
type RemotePeer struct {
	Node     int    `json:"node"`
	Host     string `json:"host"` // its address
	Sent     int64  `json:"sent"` // by the process
	Received int64  `json:"received"`
}

// connection is an end of one that a process has or had.
type connection struct {
	socket
	owner *process
	ended bool // and the numbers are the last
}

// Watcher looks at the sockets of a command.
type Watcher struct {
	now        clock.Clock
	ends       ends
	family     family
	seen       map[uint64]*connection // by cookie
	order      []*connection
	stop, done chan struct{}
	err        error
}

// WatchProcess begins to look at the process and those that come from it.
func WatchProcess(now clock.Clock, pid int) *Watcher {
	w := newWatcher(now, pid)
	go w.runLoop()
	return w
}

func newWatcher(now clock.Clock, pid int) *Watcher {
	w := &Watcher{now: now, ends: listenEnded(), seen: map[uint64]*connection{}, stop: make(chan struct{}),
		done: make(chan struct{})}
	if p := (&process{pid: pid}); p.isAlive() {
		w.family.living = []*process{p}
	}
	return w
}

// Stop ends the looking, after the command, and returns what was seen.
func (w *Watcher) Stop() (*Traffic, error) {
	close(w.stop)
	<-w.done
	w.ends.closeListener()
	return sumTraffic(w.order), w.err
}

func (w *Watcher) runLoop() {
	defer close(w.done)
	for !w.isStopped() && w.err == nil {
		from := w.now()
		w.lookOnce()
		w.pauseUntil(min(max(Every, lightly*w.now.Since(from)), longest), w.isStopped)
	}
	w.pauseUntil(lateEnds, w.allEnded)
}

func (w *Watcher) allEnded() bool {
	return !slices.ContainsFunc(w.order, func(c *connection) bool { return !c.ended })
}

func (w *Watcher) isStopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

func (w *Watcher) lookOnce() {
	w.family.updateMembers()
	held := w.family.socketHolders()
	list, err := listSockets()
	if err != nil {
		w.err = fmt.Errorf("asking the kernel about sockets: %w", err)
		return
	}
	for _, s := range list {
		c := w.seen[s.cookie]
		if owner := held[s.inode]; owner != nil && s.inode != 0 && !s.listens {
			if c == nil {
				c = &connection{}
				w.seen[s.cookie] = c
				w.order = append(w.order, c)
			}
			c.owner = owner
		}
		if c != nil {
			c.local, c.remote = s.local, s.remote
			c.countBytes(s)
		}
	}
}

func (c *connection) countBytes(s socket) {
	c.sent, c.received = max(s.sent, c.sent), max(s.received, c.received)
}

// pauseUntil waits, until enough says that it may end sooner, and notes what ends meanwhile.
func (w *Watcher) pauseUntil(long time.Duration, enough func() bool) {
	const slice = 10 // milliseconds
	for from := w.now(); w.now.Since(from) < long && !enough(); {
		for _, s := range w.ends.waitEnded(slice) {
			if c := w.seen[s.cookie]; c != nil {
				c.countBytes(s)
				c.ended = true
			}
		}
	}
}

// sumTraffic adds up connections, by the processes that have their ends.
func sumTraffic(list []*connection) *Traffic {
	type ends struct{ local, remote netip.AddrPort }
	byEnds := map[ends]*connection{}
	for _, c := range list {
		byEnds[ends{c.local, c.remote}] = c
	}
	t := &Traffic{}
	nodes := map[*process]int{}
	node := func(p *process) int {
		i, known := nodes[p]
		if !known {
			i = len(t.Names)
			nodes[p] = i
			t.Names = append(t.Names, p.name)
			for r := range t.Bytes {
				t.Bytes[r] = append(t.Bytes[r], 0)
			}
			t.Bytes = append(t.Bytes, make([]int64, i+1))
		}
		return i
	}
	for _, c := range list {
		other := byEnds[ends{c.remote, c.local}]
		switch {
		case c.sent+c.received == 0 && (other == nil || other.sent+other.received == 0):
		case other == nil:
			t.addOther(RemotePeer{node(c.owner), c.remote.Addr().String(), int64(c.sent), int64(c.received)})
		default:
			much := c.sent
			if !c.ended { // the other end may have been seen later; it counts the end itself, too
				much = max(much, other.received)
			}
			from, to := node(c.owner), node(other.owner)
			t.Bytes[from][to] += int64(much)
		}
	}
	t.tellApart()
	return t
}

func (t *Traffic) addOther(o RemotePeer) {
	at := slices.IndexFunc(t.Others, func(have RemotePeer) bool { return have.Node == o.Node && have.Host == o.Host })
	if at < 0 {
		t.Others = append(t.Others, o)
		return
	}
	t.Others[at].Sent += o.Sent
	t.Others[at].Received += o.Received
}

// tellApart gives processes of the same name numbers.
func (t *Traffic) tellApart() {
	times, number := map[string]int{}, map[string]int{}
	for _, name := range t.Names {
		times[name]++
	}
	for i, name := range t.Names {
		if times[name] > 1 {
			number[name]++
			t.Names[i] = fmt.Sprintf("%s-%d", name, number[name])
		}
	}
}
