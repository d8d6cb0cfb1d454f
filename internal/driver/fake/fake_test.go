package fake

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world counts what its scripts do. The fake lives through restarts of its
// broker, as attempts do.
type world struct {
	driver *Driver

	mu       sync.Mutex
	programs map[core.JobID]drivertest.Program
	started  map[driver.ID]int
	living   map[driver.ID]int
	heard    map[driver.ID][]wire.Message
}

func newWorld(t *testing.T) drivertest.World {
	w := &world{programs: map[core.JobID]drivertest.Program{}, started: map[driver.ID]int{}, living: map[driver.ID]int{},
		heard: map[driver.ID][]wire.Message{}}
	w.driver = New(w.run, w.hear)
	t.Cleanup(w.driver.Close)
	return w
}

func (w *world) run(r *Run) {
	id := driver.AttemptID(r.Attempt())
	w.count(id, 2)
	defer w.count(id, -2)
	w.mu.Lock()
	w.started[id]++
	p := w.programs[id.Job]
	w.mu.Unlock()
	if p == drivertest.Ends {
		r.SendMessage(wire.Message{Kind: wire.Ended, Code: 7})
		return
	}
	<-r.Done()
}

func (w *world) count(id driver.ID, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.living[id] += n
}

func (w *world) hear(m wire.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := driver.ID{Job: m.Job, Epoch: m.Epoch, Part: m.Part}
	all := w.heard[from]
	if m.Kind != wire.Hello && (len(all) == 0 || m.Seq > all[len(all)-1].Seq) {
		w.heard[from] = append(all, m)
	}
}

func (w *world) OpenDriver() driver.Driver { return w.driver }
func (w *world) Close()                    {}

func (w *world) AttemptFor(p drivertest.Program) *wire.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &wire.Attempt{Job: core.JobID(len(w.programs) + 1), Epoch: 1}
	w.programs[a.Job] = p
	return a
}

func (w *world) StartCount(a *wire.Attempt) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started[driver.AttemptID(a)]
}

func (w *world) LivingProcesses(a *wire.Attempt) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.living[driver.AttemptID(a)]
}

func (w *world) HeardMessages(a *wire.Attempt) []wire.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]wire.Message(nil), w.heard[driver.AttemptID(a)]...)
}

func (w *world) SetDeaf(deaf bool)         { w.driver.SetDeaf(deaf) }
func (w *world) KillAgent(a *wire.Attempt) { w.driver.KillAgent(driver.AttemptID(a)) }

func TestConformance(t *testing.T) { drivertest.Run(t, newWorld) }

func TestAScriptHearsOrdersAndAnswers(t *testing.T) {
	heard := make(chan wire.Message, 10)
	d := New(func(r *Run) {
		r.SendMessage(wire.Message{Kind: wire.Running, Method: "restart"})
		if o := <-r.Orders(); o.Kind == wire.Stop {
			r.SendMessage(wire.Message{Kind: wire.Left})
		}
	}, func(m wire.Message) { heard <- m })
	defer d.Close()
	id := driver.ID{Job: 3, Epoch: 2}
	if d.SendOrder(id, wire.Order{Kind: wire.Stop}) {
		t.Error("an attempt that was never started takes orders")
	}
	if err := d.StartAttempt(t.Context(), &wire.Attempt{Job: 3, Epoch: 2, Mark: "m"}); err != nil {
		t.Fatal(err)
	}
	if !d.SendOrder(id, wire.Order{Kind: wire.Ack, Seq: 1}) || !d.SendOrder(id, wire.Order{Kind: wire.Stop}) {
		t.Error("a running attempt takes no orders")
	}
	for i, want := range []wire.Kind{wire.Hello, wire.Running, wire.Left} {
		m := <-heard
		if m.Kind != want || m.Job != 3 || m.Epoch != 2 || m.Mark != "m" || m.Seq != uint64(i) {
			t.Errorf("heard %+v, want %s with number %d", m, want, i)
		}
	}
}

func TestKillEndsAnAttemptWithoutAWord(t *testing.T) {
	heard := make(chan wire.Message, 10)
	gone := make(chan struct{})
	d := New(func(r *Run) { <-r.Done(); r.SendMessage(wire.Message{Kind: wire.Ended}); close(gone) },
		func(m wire.Message) { heard <- m })
	defer d.Close()
	if err := d.StartAttempt(t.Context(), &wire.Attempt{Job: 1, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if m := <-heard; m.Kind != wire.Hello {
		t.Errorf("heard %+v", m)
	}
	d.SendOrder(driver.ID{Job: 1, Epoch: 1}, wire.Order{Kind: wire.Kill})
	<-gone
	select {
	case m := <-heard:
		t.Errorf("heard %+v", m)
	case <-time.After(50 * time.Millisecond):
	}
}
