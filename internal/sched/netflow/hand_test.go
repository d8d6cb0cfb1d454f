package netflow

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const ms = time.Millisecond

// at is a moment in milliseconds.
func at(millis float64) core.Time { return core.AtSecond(millis / 1e3) }

func shared(mbps ...float64) []Link {
	var links []Link
	for _, m := range mbps {
		links = append(links, Link{m, true})
	}
	return links
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

func wantRates(t *testing.T, n *Net, want ...float64) {
	t.Helper()
	for i, w := range want {
		if got := n.FlowRate(ID(i)); !near(got, w) {
			t.Errorf("flow %d moves at %g Mbit/s, want %g", i, got, w)
		}
	}
}

// drain runs the net from event to event to its end.
func drain(t testing.TB, n *Net) []Finished {
	var all []Finished
	for events := 0; ; events++ {
		next := n.NextEvent()
		if next == core.Never {
			return all
		}
		if events > 1e6 {
			t.Fatal("no end of events")
		}
		all = append(all, n.Advance(next)...)
	}
}

func wantEnds(t *testing.T, got []Finished, want ...Finished) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

const megabyte = 1_000_000 // 8 ms at 1000 Mbit/s

func TestOneFlowTakesItsLatencyAndItsBytes(t *testing.T) {
	n := New(shared(1000, 500))
	n.Start(0, 0, []int{0, 1}, megabyte, 3*ms)
	if got := n.NextEvent(); got != at(3) {
		t.Errorf("it begins to move at %v, want 3 ms", got)
	}
	wantRates(t, n, 0)
	n.Advance(at(3))
	wantRates(t, n, 500)
	wantEnds(t, drain(t, n), Finished{0, at(3 + 16)})
	if n.NextEvent() != core.Never {
		t.Error("something is left")
	}
}

// A long flow over three links and a short one on each of them.
func TestParkingLot(t *testing.T) {
	n := New(shared(1000, 300, 800))
	n.Start(0, 0, []int{0, 1, 2}, megabyte, 0)
	for i := range 3 {
		n.Start(0, ID(i+1), []int{i}, megabyte, 0)
	}
	n.Advance(0)
	wantRates(t, n, 150, 850, 150, 650)
}

// Two flows over a middle link that is the bottleneck, one held up at its own
// end.
func TestDumbbell(t *testing.T) {
	//             0   1   2   mid  4    5    6
	n := New(shared(100, 40, 90, 120, 100, 100, 100))
	n.Start(0, 0, []int{0, 3, 4}, megabyte, 0)
	n.Start(0, 1, []int{1, 3, 5}, megabyte, 0)
	n.Start(0, 2, []int{2, 3, 6}, megabyte, 0)
	n.Advance(0)
	wantRates(t, n, 40, 40, 40)
	n.SetCapacity(0, 1, 10)
	wantRates(t, n, 55, 10, 55)
	n.SetCapacity(0, 3, 1000)
	wantRates(t, n, 100, 10, 90)
}

// Hosts with different links to one switch: 0 and 1 send to 2, and 1 sends to
// 3 as well.
func TestStarWithDifferentLinks(t *testing.T) {
	//           up 0    up 1  down 2  down 3
	n := New(shared(1000, 100, 500, 30))
	n.Start(0, 0, []int{0, 2}, megabyte, 0)
	n.Start(0, 1, []int{1, 2}, megabyte, 0)
	n.Start(0, 2, []int{1, 3}, megabyte, 0)
	n.Advance(0)
	wantRates(t, n, 430, 70, 30)
}

func TestAFatPipeBoundsEachFlowSingly(t *testing.T) {
	n := New([]Link{{100, false}, {1000, true}})
	for i := range 4 {
		n.Start(0, ID(i), []int{0, 1}, megabyte, 0)
	}
	n.Start(0, 4, []int{1}, megabyte, 0)
	n.Start(0, 5, []int{0}, megabyte, 0)
	n.Advance(0)
	wantRates(t, n, 100, 100, 100, 100, 600, 100)
	n.SetCapacity(0, 0, 500)
	wantRates(t, n, 200, 200, 200, 200, 200, 500)
}

func TestAShortFlowOvertakesALongOneOverTheSameFatPipe(t *testing.T) {
	n := New([]Link{{1000, false}})
	n.Start(0, 0, []int{0}, 2*megabyte, 0)
	n.Start(at(4), 1, []int{0}, megabyte/2, 0)
	wantEnds(t, drain(t, n), Finished{1, at(8)}, Finished{0, at(16)})
}

func TestAFlowThatCrossesALinkTwiceTakesFromItTwice(t *testing.T) {
	n := New(shared(900))
	n.Start(0, 0, []int{0, 0}, megabyte, 0)
	n.Start(0, 1, []int{0}, megabyte, 0)
	n.Advance(0)
	wantRates(t, n, 300, 300)
}

// Flow 0 of 2 MB alone for 8 ms (1 MB moved), then with flow 1 of 0.25 MB at
// 500 each for 4 ms, then alone again for the last 0.75 MB: 6 ms.
func TestAFlowThatJoinsAndLeavesSlowsTheOtherMidway(t *testing.T) {
	n := New(shared(1000))
	n.Start(0, 0, []int{0}, 2*megabyte, 0)
	n.Start(at(8), 1, []int{0}, megabyte/4, 0)
	wantEnds(t, drain(t, n), Finished{1, at(12)}, Finished{0, at(18)})
}

func TestACancelledFlowFreesItsShareAndTellsWhatWasLeft(t *testing.T) {
	n := New(shared(1000))
	n.Start(0, 0, []int{0}, 2*megabyte, 0)
	n.Start(0, 1, []int{0}, 2*megabyte, 0)
	left, ok := n.Cancel(at(8), 1) // half a megabyte of each has moved
	if !ok || !near(left, 1.5*megabyte) {
		t.Errorf("%g bytes left, %v", left, ok)
	}
	if _, ok := n.Cancel(at(8), 1); ok {
		t.Error("cancelled twice")
	}
	wantEnds(t, drain(t, n), Finished{0, at(8 + 12)})
}

func TestAFlowCancelledWhileItsLatencyPassesNeverMoves(t *testing.T) {
	n := New(shared(1000))
	n.Start(0, 0, []int{0}, megabyte, 100*ms)
	if left, ok := n.Cancel(at(5), 0); !ok || left != megabyte {
		t.Errorf("%g bytes left, %v", left, ok)
	}
	if n.NextEvent() != core.Never {
		t.Error("something is left")
	}
}

func TestALinkThatGoesDownStopsWhatCrossesIt(t *testing.T) {
	n := New(shared(1000, 1000))
	n.Start(0, 0, []int{0, 1}, megabyte, 0)
	n.Start(0, 1, []int{0}, megabyte, 0)
	n.SetCapacity(at(8), 1, 0) // half of each has moved
	wantRates(t, n, 0, 1000)
	n.SetCapacity(at(100), 1, 100)
	wantEnds(t, drain(t, n), Finished{1, at(12)}, Finished{0, at(140)})
}

func TestNothingHoldsUpAFlowWithoutLinksOrBytes(t *testing.T) {
	n := New(shared(1))
	n.Start(0, 0, nil, 1<<60, 7*ms)
	n.Start(0, 1, []int{0}, 0, 5*ms)
	n.Start(0, 2, nil, 0, 0)
	wantEnds(t, drain(t, n), Finished{2, 0}, Finished{1, at(5)}, Finished{0, at(7)})
}

func TestFlowsThatEndTogetherComeInTheOrderOfTheirStarts(t *testing.T) {
	n := New(shared(100, 100, 100))
	for i := range 9 {
		n.Start(0, ID(8-i), []int{i % 3}, megabyte, 0)
	}
	var ids []ID
	for _, f := range n.Advance(core.AtSecond(10)) {
		ids = append(ids, f.ID)
	}
	if diff := cmp.Diff([]ID{8, 7, 6, 5, 4, 3, 2, 1, 0}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestOneLongStepGivesTheEndsOfManyShortOnes(t *testing.T) {
	start := func() *Net {
		n := New(shared(100, 200, 50))
		for i := range 40 {
			n.Start(0, ID(i), []int{i % 3, (i + 1) % 3}, int64(1+i*i)*10_000, time.Duration(i)*ms)
		}
		return n
	}
	long := append([]Finished(nil), start().Advance(core.AtSecond(1e6))...)
	if diff := cmp.Diff(drain(t, start()), long); diff != "" || len(long) != 40 {
		t.Errorf("%d ends\n%s", len(long), diff)
	}
}

func TestFlowsThatEndedBeforeAStartAreReportedByTheNextAdvance(t *testing.T) {
	n := New(shared(1000))
	n.Start(0, 0, []int{0}, megabyte, 0)
	n.Start(at(20), 1, []int{0}, megabyte, 0)
	if got := n.NextEvent(); got != at(20) {
		t.Errorf("next event at %v, want now", got)
	}
	wantEnds(t, n.Advance(at(20)), Finished{0, at(8)})
	wantEnds(t, drain(t, n), Finished{1, at(28)})
}

// A third of a link: no whole number of nanoseconds, rounded up.
func TestEndsAreNeverEarlierThanTheBytesAllow(t *testing.T) {
	n := New(shared(300))
	for i := range 7 {
		n.Start(0, ID(i), []int{0}, 1, 0)
	}
	// 7 bytes at 37.5 MB/s are 186.67 ns.
	for _, f := range drain(t, n) {
		if f.At != 187 {
			t.Errorf("flow %d ends at %d ns, want 187", f.ID, f.At)
		}
	}
}

func TestUnknownFlowsHaveNoRateAndNothingLeft(t *testing.T) {
	n := New(nil)
	if n.FlowRate(7) != 0 || n.BytesLeft(7) != 0 || n.NextEvent() != core.Never {
		t.Error("a flow out of nowhere")
	}
}

func TestMisusePanics(t *testing.T) {
	for name, f := range map[string]func(n *Net){
		"a flow twice":       func(n *Net) { n.Start(5, 0, nil, 1, ms); n.Start(5, 0, nil, 1, ms) },
		"negative bytes":     func(n *Net) { n.Start(5, 0, nil, -1, 0) },
		"a link too many":    func(n *Net) { n.Start(5, 0, []int{1}, 1, 0) },
		"time runs back":     func(n *Net) { n.Advance(5); n.Advance(4) },
		"a negative link":    func(n *Net) { n.SetCapacity(5, 0, -1) },
		"an infinite link":   func(*Net) { New([]Link{{math.Inf(1), true}}) },
		"a link without use": func(*Net) { New([]Link{{math.NaN(), true}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(New(shared(1)))
		}()
	}
}

// FlowRate is how fast a flow moves at present, in Mbit/s: 0 until its latency has
// passed and Advance was called since, and if no such flow is under way.
func (n *Net) FlowRate(id ID) float64 {
	f := n.flows[id]
	if f == nil || !f.moving {
		return 0
	}
	n.settleRates()
	return f.bundle.rate / bytesPerMbit
}
