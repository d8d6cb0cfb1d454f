package netflow

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// A bundle is the flows over one route. They always move at the same rate.
type bundle struct {
	key  string
	uses []use
	refs int // flows, waiting or moving
	seq  int64

	flows  heap.Heap[*flow] // moving; the one that ends first is foremost
	served float64          // bytes that each flow has got until since
	since  core.Time
	rate   float64 // bytes per second of each flow
	next   core.Time
	pos    int // in Net.moving

	ceiling float64 // of the rate, by fat pipes
	filled  float64 // scratch of filling: the new rate
	mark    uint64  // of the filling that has visited it
	frozen  bool
}

// A use is a link that a bundle crosses.
type use struct {
	link  int32
	times int32 // as often as the route names it
	slot  int32 // of the bundle in link.users
}

// IsBefore orders bundles by the time at which their next flow ends.
func (b *bundle) IsBefore(c *bundle) bool {
	return b.next < c.next || b.next == c.next && b.seq < c.seq
}

// SetPosition notes where in Net.moving the bundle stands.
func (b *bundle) SetPosition(i int) { b.pos = i }

// isUnlimited tells that no link holds the flows up.
func (b *bundle) isUnlimited() bool { return len(b.uses) == 0 }

// bundleFor finds the bundle of a route, which may name a link more than once, or
// makes it.
func (n *Net) bundleFor(route []int) *bundle {
	sorted := slices.Clone(route)
	slices.Sort(sorted)
	key := make([]byte, 0, 4*len(sorted))
	for _, l := range sorted {
		if l < 0 || l >= len(n.links) {
			panic(fmt.Sprintf("netflow: no link %d", l))
		}
		key = binary.BigEndian.AppendUint32(key, uint32(l))
	}
	if b := n.bundles[string(key)]; b != nil {
		return b
	}
	b := &bundle{key: string(key), seq: n.made, pos: -1}
	n.made++
	for i, l := range sorted {
		if i > 0 && l == sorted[i-1] {
			b.uses[len(b.uses)-1].times++
			continue
		}
		b.uses = append(b.uses, use{link: int32(l), times: 1})
	}
	n.bundles[b.key] = b
	return b
}

// servedAt is what each flow has got until now.
func (b *bundle) servedAt(now core.Time) float64 {
	if b.rate == 0 {
		return b.served
	}
	return b.served + b.rate*(float64(now-b.since)/1e9)
}

// serveUntil brings the account up to now.
func (b *bundle) serveUntil(now core.Time) {
	b.served, b.since = b.servedAt(now), now
	b.rebaseServed()
}

// rebaseServed keeps served small beside the flows' bytes: in a bundle that is never
// empty it would grow until adding to it lost bytes.
func (b *bundle) rebaseServed() {
	const most = 1 << 40
	if b.served < most {
		return
	}
	for _, f := range b.flows {
		f.target -= b.served
	}
	b.served = 0
}

// joinBundle puts a flow into its bundle, and the bundle onto its links.
func (n *Net) joinBundle(f *flow) {
	b := f.bundle
	if len(b.flows) == 0 {
		b.served, b.since, b.rate, b.next = 0, n.now, 0, core.Never
		n.attachBundle(b)
	}
	f.target = b.servedAt(n.now) + f.bytes
	b.flows.Push(f)
	n.bundleResized(b)
	if f.pos == 0 && b.rate > 0 {
		n.scheduleEnd(b)
	}
}

// leaveBundle takes a flow out of its bundle.
func (n *Net) leaveBundle(f *flow) {
	b := f.bundle
	first := f.pos == 0
	b.flows.RemoveAt(f.pos)
	f.moving = false
	n.bundleResized(b)
	switch {
	case len(b.flows) == 0:
		n.detachBundle(b)
	case first:
		n.scheduleEnd(b)
	}
}

// scheduleEnd works out when the foremost flow of a bundle ends.
func (n *Net) scheduleEnd(b *bundle) {
	b.next = core.Never
	if b.rate > 0 {
		b.next = arrivalTime(b.since, b.flows[0].target-b.served, b.rate)
	}
	n.moving.FixAt(b.pos)
}

// setRate changes the rate of a bundle from now on. A difference that is only
// rounding is not worth an event that moves.
func (n *Net) setRate(b *bundle, rate float64) {
	const rounding = 1e-12
	if math.Abs(rate-b.rate) <= rounding*b.rate {
		return
	}
	b.serveUntil(n.now)
	b.rate = rate
	n.scheduleEnd(b)
}

func (n *Net) attachBundle(b *bundle) {
	for i := range b.uses {
		l := &n.links[b.uses[i].link]
		b.uses[i].slot = int32(len(l.users))
		l.users = append(l.users, user{b, i})
	}
	n.moving.Push(b)
}

func (n *Net) detachBundle(b *bundle) {
	for _, u := range b.uses {
		l := &n.links[u.link]
		last := len(l.users) - 1
		moved := l.users[last]
		l.users[u.slot] = moved
		moved.bundle.uses[moved.use].slot = u.slot
		l.users[last] = user{}
		l.users = l.users[:last]
	}
	n.moving.RemoveAt(b.pos)
}
