package netflow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// A Link carries data in one direction.
type Link struct {
	Mbps   float64
	Shared bool // false: a fat pipe, every flow may use the whole rate
}

// An ID names a flow; the caller chooses it.
type ID int64

// Finished is a flow whose last byte has arrived.
type Finished struct {
	ID ID
	At core.Time
}

// A Net is links with the flows that move over them. Its methods take the time
// at which they are called, which must not run backwards.
type Net struct {
	links   []link
	flows   map[ID]*flow
	bundles map[string]*bundle
	waiting heap.Heap[*flow]   // for their latency to pass
	moving  heap.Heap[*bundle] // by the time at which their next flow ends
	now     core.Time
	begun   int64 // flows so far, to tell equal ones apart
	made    int64 // bundles so far

	done, spare []Finished
	work        filling
}

// A flow waits for its latency to pass, and then moves in its bundle.
type flow struct {
	id     ID
	bundle *bundle
	seq    int64
	bytes  float64
	start  core.Time // of moving
	moving bool
	target float64 // what the bundle will have served when the flow is done
	pos    int     // in Net.waiting, or in bundle.flows
}

// IsBefore orders the flows of one heap.
func (f *flow) IsBefore(g *flow) bool {
	if f.moving {
		return f.target < g.target || f.target == g.target && f.seq < g.seq
	}
	return f.start < g.start || f.start == g.start && f.seq < g.seq
}

// SetPosition notes where in its heap the flow stands.
func (f *flow) SetPosition(i int) { f.pos = i }

// New makes a net at time 0 without flows.
func New(links []Link) *Net {
	n := &Net{links: make([]link, len(links)), flows: map[ID]*flow{}, bundles: map[string]*bundle{}}
	for i, l := range links {
		n.links[i] = link{shared: l.Shared, capacity: bytesPerSecond(l.Mbps)}
	}
	return n
}

const bytesPerMbit = 1e6 / 8

func bytesPerSecond(mbps float64) float64 {
	if !(mbps >= 0 && mbps <= math.MaxFloat64) {
		panic(fmt.Sprintf("netflow: a link of %g Mbit/s", mbps))
	}
	return mbps * bytesPerMbit
}

// Start sends bytes over the links of route, by number. The flow uses
// bandwidth once the latency has passed, until all bytes have moved; without
// links it takes the latency alone. It panics if a flow of that name is under
// way.
func (n *Net) Start(now core.Time, id ID, route []int, bytes int64, latency time.Duration) {
	n.catchUp(now)
	if n.flows[id] != nil || bytes < 0 || latency < 0 {
		panic(fmt.Sprintf("netflow: flow %d of %d bytes after %v: negative, or already under way", id, bytes, latency))
	}
	f := &flow{id: id, seq: n.begun, bytes: float64(bytes), start: now.Add(latency), bundle: n.bundleFor(route)}
	f.bundle.refs++
	n.begun++
	n.flows[id] = f
	n.waiting.Push(f)
}

// NextEvent is when Advance will next have something to do: a flow begins to
// move or ends. It is core.Never if there is nothing to come.
func (n *Net) NextEvent() core.Time {
	if len(n.done) > 0 {
		return n.now
	}
	return n.nextEvent()
}

// Advance lets time pass until now and returns the flows that ended since it
// was last called, in the order of their ends, those of one moment in the order
// of their starts. The slice is good until the next Advance.
func (n *Net) Advance(now core.Time) []Finished {
	n.runUntil(now)
	done := n.done
	n.done, n.spare = n.spare[:0], done
	return done
}

// Cancel stops a flow and tells how many bytes had not moved yet; false means
// that no such flow is under way.
func (n *Net) Cancel(now core.Time, id ID) (left float64, ok bool) {
	n.catchUp(now)
	f := n.flows[id]
	if f == nil {
		return 0, false
	}
	left = n.BytesLeft(id)
	if f.moving {
		n.leaveBundle(f)
	} else {
		n.waiting.RemoveAt(f.pos)
	}
	n.forgetFlow(f)
	return left, true
}

// SetCapacity changes the rate of a link; 0 Mbit/s stops what crosses it.
func (n *Net) SetCapacity(now core.Time, link int, mbps float64) {
	n.catchUp(now)
	n.links[link].capacity = bytesPerSecond(mbps)
	n.linkChanged(link)
}

// BytesLeft is how many bytes of a flow have not moved yet.
func (n *Net) BytesLeft(id ID) float64 {
	f := n.flows[id]
	switch {
	case f == nil:
		return 0
	case !f.moving:
		return f.bytes
	}
	return max(0, f.target-f.bundle.servedAt(n.now))
}

// nextEvent is the next event that is not in done.
func (n *Net) nextEvent() core.Time {
	n.settleRates()
	at := core.Never
	if len(n.waiting) > 0 {
		at = n.waiting[0].start
	}
	if len(n.moving) > 0 {
		at = min(at, n.moving[0].next)
	}
	return at
}

// catchUp runs until now if time has passed. Calls at one moment then do not
// each find the rates anew: flows that begin now do so in the next Advance.
func (n *Net) catchUp(now core.Time) {
	if now != n.now {
		n.runUntil(now)
	}
}

// runUntil goes from event to event until now.
func (n *Net) runUntil(now core.Time) {
	if now < n.now {
		panic(fmt.Sprintf("netflow: time runs backwards from %d to %d", n.now, now))
	}
	for at := n.nextEvent(); at <= now && at != core.Never; at = n.nextEvent() {
		n.now = at
		first := len(n.done)
		for len(n.moving) > 0 && n.moving[0].next <= at {
			n.finishBundle(n.moving[0])
		}
		for len(n.waiting) > 0 && n.waiting[0].start <= at {
			n.beginFlow(n.waiting.Pop())
		}
		n.orderFinished(n.done[first:])
	}
	n.now = now
}

// orderFinished sorts the flows that ended at one moment, and forgets them.
func (n *Net) orderFinished(ended []Finished) {
	slices.SortFunc(ended, func(a, b Finished) int {
		return cmp.Compare(n.flows[a.ID].seq, n.flows[b.ID].seq)
	})
	for _, e := range ended {
		n.forgetFlow(n.flows[e.ID])
	}
}

// beginFlow lets a flow move. One that nothing holds up is there at once.
func (n *Net) beginFlow(f *flow) {
	if f.bytes == 0 || f.bundle.isUnlimited() {
		n.done = append(n.done, Finished{f.id, n.now})
		return
	}
	f.moving = true
	n.joinBundle(f)
}

// finishBundle ends the flows of a bundle that are done at its next event.
func (n *Net) finishBundle(b *bundle) {
	b.serveUntil(n.now)
	// The event is there for the foremost flow, so it is done however the sums
	// were rounded, and so are those that had as much to go.
	b.served = max(b.served, b.flows[0].target)
	for len(b.flows) > 0 && b.flows[0].target <= b.served {
		f := b.flows[0]
		n.leaveBundle(f)
		n.done = append(n.done, Finished{f.id, n.now})
	}
}

func (n *Net) forgetFlow(f *flow) {
	delete(n.flows, f.id)
	f.bundle.refs--
	if f.bundle.refs == 0 {
		delete(n.bundles, f.bundle.key)
	}
}

// arrivalTime is the first nanosecond at which bytes have moved at rate. The margin
// keeps the rounding of a division from adding a nanosecond to what is whole.
func arrivalTime(since core.Time, bytes, rate float64) core.Time {
	const margin = 1.0 / (1 << 51)
	if bytes <= 0 {
		return since
	}
	ns := bytes / rate * 1e9
	ns = math.Ceil(ns - ns*margin)
	if !(ns < math.MaxInt64) {
		return core.Never
	}
	return since.Add(time.Duration(ns))
}
