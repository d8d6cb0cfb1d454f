package netflow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// twinRates is progressive filling as one would tell it: over all flows, one by
// one, from the beginning every time.
func twinRates(links []Link, routes [][]int) []float64 {
	rates := make([]float64, len(routes))
	fixed := make([]bool, len(routes))
	for {
		level, open := math.Inf(1), false
		full := -1
		for l, link := range links {
			taken, rising := 0.0, 0.0
			for f, route := range routes {
				for _, x := range route {
					if x != l {
						continue
					}
					if fixed[f] {
						taken += rates[f]
					} else {
						rising++
					}
				}
			}
			if rising == 0 {
				continue
			}
			open = true
			at := link.Mbps
			if link.Shared {
				at = max(0, link.Mbps-taken) / rising
			}
			if at < level {
				level, full = at, l
			}
		}
		if !open {
			return rates
		}
		for f, route := range routes {
			if !fixed[f] && slices.Contains(route, full) {
				rates[f], fixed[f] = level, true
			}
		}
	}
}

// A world is a net under test beside what the test knows about it.
type world struct {
	t      *rapid.T
	links  []Link
	net    *Net
	now    core.Time
	flows  []*known
	nextID ID
}

type known struct {
	id    ID
	route []int
	start core.Time
	bytes float64
}

// moving is the flows that use bandwidth now: those past their latency.
func (w *world) moving() []*known {
	var m []*known
	for _, f := range w.flows {
		if f.start <= w.now {
			m = append(m, f)
		}
	}
	return m
}

const tolerance = 1e-9

// checkRates holds the net against its twin and against the definition of
// max-min fairness.
func (w *world) checkRates() {
	flows := w.moving()
	routes := make([][]int, len(flows))
	rates := make([]float64, len(flows))
	for i, f := range flows {
		routes[i], rates[i] = f.route, w.net.FlowRate(f.id)
	}
	for i, want := range twinRates(w.links, routes) {
		if math.Abs(rates[i]-want) > tolerance*max(want, 1) {
			w.t.Fatalf("flow %d over %v: %g Mbit/s, the twin says %g", flows[i].id, routes[i], rates[i], want)
		}
	}
	if err := certificate(w.links, routes, rates); err != nil {
		w.t.Fatal(err)
	}
}

// certificate says why rates are not max-min fair: a link carries more than it
// can, or a flow is not held up by a full link on which no flow is faster (or
// by a fat pipe).
func certificate(links []Link, routes [][]int, rates []float64) error {
	load := make([]float64, len(links))
	most := make([]float64, len(links))
	for i, route := range routes {
		for _, l := range route {
			load[l] += rates[i]
			most[l] = max(most[l], rates[i])
		}
	}
	for l, link := range links {
		if link.Shared && load[l] > link.Mbps*(1+tolerance) {
			return fmt.Errorf("link %d of %g Mbit/s carries %g", l, link.Mbps, load[l])
		}
	}
	for i, route := range routes {
		held := slices.ContainsFunc(route, func(l int) bool {
			if !links[l].Shared {
				return rates[i] >= links[l].Mbps*(1-tolerance)
			}
			return load[l] >= links[l].Mbps*(1-tolerance) && rates[i] >= most[l]*(1-tolerance)
		})
		if !held {
			return fmt.Errorf("nothing holds flow %d over %v at %g Mbit/s", i, route, rates[i])
		}
	}
	return nil
}

// step goes to the next event, at most until the moment given, and accounts for
// every byte on the way.
func (w *world) step(until core.Time) {
	next := min(w.net.NextEvent(), until)
	if next < w.now {
		w.t.Fatalf("the next event is at %d, now is %d", next, w.now)
	}
	dt := float64(next-w.now) / 1e9
	type account struct{ left, rate float64 }
	before := map[ID]account{}
	for _, f := range w.flows {
		before[f.id] = account{w.net.BytesLeft(f.id), w.net.FlowRate(f.id) * bytesPerMbit}
	}
	done := w.net.Advance(next)
	w.now = next
	for _, d := range done {
		i := slices.IndexFunc(w.flows, func(f *known) bool { return f.id == d.ID })
		f, a := w.flows[i], before[d.ID]
		moved := a.rate * dt
		slack := tolerance*f.bytes + 1e-6
		if d.At != next {
			w.t.Fatalf("flow %d ended at %d, the event was at %d", d.ID, d.At, next)
		}
		if a.left > moved+slack && len(f.route) > 0 {
			w.t.Fatalf("flow %d ended with %g bytes to go, %g could move", d.ID, a.left, moved)
		}
		if a.left > 0 && a.left < a.rate*(dt-1e-9)-slack {
			w.t.Fatalf("flow %d ended more than a nanosecond late: %g bytes to go at %g per second for %g s", d.ID, a.left,
				a.rate, dt)
		}
		w.flows = slices.Delete(w.flows, i, i+1)
	}
	for _, f := range w.flows {
		a := before[f.id]
		if got, want := w.net.BytesLeft(f.id), a.left-a.rate*dt; math.Abs(got-want) > tolerance*f.bytes+1e-6 {
			w.t.Fatalf("flow %d has %g bytes to go, want %g", f.id, got, want)
		}
	}
}

func (w *world) start() {
	f := &known{id: w.nextID, start: w.now}
	w.nextID++
	f.route = rapid.SliceOfN(rapid.IntRange(0, len(w.links)-1), 0, 4).Draw(w.t, "route")
	if len(w.flows) > 0 && rapid.Bool().Draw(w.t, "same route") {
		f.route = w.flows[rapid.IntRange(0, len(w.flows)-1).Draw(w.t, "as")].route
	}
	bytes := rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(w.t, "magnitude")).Draw(w.t, "bytes")
	latency := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(w.t, "latency"))
	if rapid.Bool().Draw(w.t, "at once") {
		latency = 0
	}
	f.bytes, f.start = float64(bytes), w.now.Add(latency)
	w.net.Start(w.now, f.id, f.route, bytes, latency)
	w.flows = append(w.flows, f)
	w.step(w.now) // those without links or bytes are there at once
}

func (w *world) setCapacity() {
	l := rapid.IntRange(0, len(w.links)-1).Draw(w.t, "link")
	w.links[l].Mbps = rapid.SampledFrom([]float64{0, 1, 7, 100, 1000, 1e5}).Draw(w.t, "mbps")
	w.net.SetCapacity(w.now, l, w.links[l].Mbps)
}

func (w *world) cancel() {
	if len(w.flows) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.flows)-1).Draw(w.t, "which")
	f := w.flows[i]
	want := w.net.BytesLeft(f.id)
	if left, ok := w.net.Cancel(w.now, f.id); !ok || left != want {
		w.t.Fatalf("cancelling flow %d: %g bytes left (%v), want %g", f.id, left, ok, want)
	}
	w.flows = slices.Delete(w.flows, i, i+1)
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t}
	for range rapid.IntRange(1, 6).Draw(t, "links") {
		w.links = append(w.links, Link{
			Mbps:   rapid.SampledFrom([]float64{1, 3, 10, 100, 100, 1000, 1e4}).Draw(t, "mbps"),
			Shared: rapid.IntRange(0, 3).Draw(t, "kind") > 0,
		})
	}
	w.net = New(w.links)
	return w
}

func TestSharingIsMaxMinFairAndNoByteIsLostWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"start":    func(*rapid.T) { w.start() },
			"capacity": func(*rapid.T) { w.setCapacity() },
			"cancel":   func(*rapid.T) { w.cancel() },
			"event":    func(*rapid.T) { w.step(w.now.Add(time.Hour)) },
			"moment":   func(t *rapid.T) { w.step(w.now.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "ns")))) },
			"":         func(*rapid.T) { w.checkRates() },
		})
	})
}

// From the same calls the same ends, to the nanosecond.
func TestTheSameCallsGiveTheSameEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		type call struct {
			at    core.Time
			route []int
			bytes int64
		}
		var calls []call
		now := core.Time(0)
		for range rapid.IntRange(1, 30).Draw(t, "flows") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 1e8).Draw(t, "later")))
			calls = append(calls, call{now, rapid.SliceOfN(rapid.IntRange(0, len(w.links)-1), 0, 3).Draw(t, "route"),
				rapid.Int64Range(0, 1e8).Draw(t, "bytes")})
		}
		var ends [2][]Finished
		for i := range ends {
			n := New(w.links)
			for id, c := range calls {
				n.Start(c.at, ID(id), c.route, c.bytes, time.Duration(id)*time.Microsecond)
				if i == 1 { // asking changes nothing
					n.NextEvent()
					n.FlowRate(ID(id))
				}
			}
			ends[i] = append(ends[i], n.Advance(core.AtSecond(1e8))...)
		}
		if !slices.Equal(ends[0], ends[1]) {
			t.Fatalf("%v\n%v", ends[0], ends[1])
		}
		if len(ends[0]) != len(calls) {
			t.Fatalf("%d flows ended, want %d", len(ends[0]), len(calls))
		}
	})
}

func TestAChangeTouchesOnlyWhatSharesLinksWithIt(t *testing.T) {
	// Two clusters of hosts, each with a backbone (links 0 and 1), and a fat
	// pipe (2) that all cross.
	links := []Link{{100, true}, {100, true}, {1000, false}}
	n := New(append(links, shared(10, 20, 30, 10, 20, 30)...))
	for i := range 6 {
		n.Start(0, ID(i), []int{3 + i, i / 3, 2}, 1e9, 0)
	}
	n.Advance(0)
	n.NextEvent()
	if got := len(n.work.links); got != 8 {
		t.Fatalf("%d links filled at first, want 8", got)
	}
	n.Cancel(at(1), 5)
	n.NextEvent()
	if got := len(n.work.links); got != 4 { // its own three hosts' and their backbone
		t.Errorf("%d links filled after a flow of the second cluster ended, want 4", got)
	}
	if n.flows[0].bundle.since != 0 || n.flows[3].bundle.since != 0 {
		t.Error("flows whose rate did not change were touched")
	}
}

// In a bundle that never empties the account must not lose bytes as it grows.
func TestABusyRouteStaysExactForPetabytes(t *testing.T) {
	n := New(shared(1e6)) // 125 GB/s
	n.Start(0, 0, []int{0}, 1<<58, 0)
	id := ID(1)
	for step := range 20_000 {
		now := core.AtSecond(float64(step))
		n.Start(now, id, []int{0}, 1_000_000, 0) // 16 µs beside the other
		ended := n.Advance(now.Add(500 * time.Millisecond))
		if len(ended) != 1 || ended[0].ID != id || ended[0].At != now.Add(16*time.Microsecond) {
			t.Fatalf("after %d s: %v, want flow %d at %d", step, ended, id, now.Add(16*time.Microsecond))
		}
		id++
	}
	moved := 20_000*125e9 - 20_000*1e6 - 125e9*0.5 // until half a second after the last start
	if left := n.BytesLeft(0); math.Abs(left-(1<<58-moved)) > 1e-9*moved {
		t.Errorf("%g bytes left, want %g", left, 1<<58-moved)
	}
	if len(n.bundles) != 1 || len(n.flows) != 1 {
		t.Errorf("%d bundles and %d flows are kept", len(n.bundles), len(n.flows))
	}
}

func TestSharingStaysExactForThousandsOfFlows(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	links := make([]Link, 200)
	for l := range links {
		links[l] = Link{math.Exp(random.Float64() * 12), random.IntN(10) > 0} // 1 Mbit/s to 160 Gbit/s
	}
	n := New(links)
	routes := make([][]int, 5000)
	for f := range routes {
		for range 1 + random.IntN(5) {
			routes[f] = append(routes[f], random.IntN(len(links)))
		}
		n.Start(0, ID(f), routes[f], 1<<50, 0)
	}
	n.Advance(0)
	for round := range 20 {
		rates := make([]float64, len(routes))
		for f := range rates {
			rates[f] = n.FlowRate(ID(f))
		}
		if err := certificate(links, routes, rates); err != nil {
			t.Fatalf("after %d changes: %v", round, err)
		}
		l := random.IntN(len(links))
		links[l].Mbps = math.Exp(random.Float64() * 12)
		n.SetCapacity(core.AtSecond(float64(round)), l, links[l].Mbps)
	}
}
