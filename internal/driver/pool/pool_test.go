package pool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/fake"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a pool of three hosts, each a fake that notes what runs on it.
type world struct {
	t     *testing.T
	pool  *Driver
	fakes []*fake.Driver

	mu       sync.Mutex
	programs map[core.JobID]drivertest.Program
	started  map[driver.ID]int
	living   map[driver.ID]int
	heard    map[driver.ID][]wire.Message
}

func newWorld(t *testing.T) drivertest.World {
	w := &world{t: t, programs: map[core.JobID]drivertest.Program{}, started: map[driver.ID]int{},
		living: map[driver.ID]int{}, heard: map[driver.ID][]wire.Message{}}
	var members []Member
	for _, name := range []string{"a", "b", "c"} {
		d := fake.New(w.run, w.hear)
		t.Cleanup(d.Close)
		w.fakes = append(w.fakes, d)
		members = append(members, Member{Name: name, Procs: 2, Driver: d})
	}
	w.pool = w.make(members)
	return w
}

func (w *world) make(members []Member) *Driver {
	d, err := New("c", members)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) run(r *fake.Run) {
	id := driver.AttemptID(r.Attempt())
	w.count(w.living, id, 2)
	defer w.count(w.living, id, -2)
	w.count(w.started, id, 1)
	w.mu.Lock()
	p := w.programs[id.Job]
	w.mu.Unlock()
	if p == drivertest.Ends {
		r.SendMessage(wire.Message{Kind: wire.Ended, Code: 7})
		return
	}
	<-r.Done()
}

func (w *world) count(in map[driver.ID]int, id driver.ID, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in[id] += n
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

// OpenDriver gives another pool of the same hosts each time: it remembers nothing.
func (w *world) OpenDriver() driver.Driver { w.pool = w.make(w.pool.members); return w.pool }
func (w *world) Close()                    {}

func (w *world) AttemptFor(p drivertest.Program) *wire.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.programs)
	a := &wire.Attempt{Job: core.JobID(n + 1), Epoch: 1, Procs: 1,
		Held: core.ProcSet{{Lo: int32(n % 6), Hi: int32(n%6) + 1}}}
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

func (w *world) SetDeaf(deaf bool) {
	for _, d := range w.fakes {
		d.SetDeaf(deaf)
	}
}

func (w *world) KillAgent(a *wire.Attempt) {
	for _, d := range w.fakes {
		d.KillAgent(driver.AttemptID(a))
	}
}

func TestConformance(t *testing.T) { drivertest.Run(t, newWorld) }

// away is a host that cannot be reached.
type away struct{ driver.Driver }

func (away) MeasureLoad(context.Context) (driver.Load, error)  { return driver.Load{}, driver.ErrAway }
func (away) StartAttempt(context.Context, *wire.Attempt) error { return driver.ErrAway }

func TestAHostOutOfReachIsNamed(t *testing.T) {
	w := newWorld(t).(*world)
	w.pool.members[1].Driver = away{w.fakes[1]}
	l, err := w.pool.MeasureLoad(t.Context())
	if err != nil || !slices.Equal(l.Away, []int{1}) || !strings.HasSuffix(l.Why, "; out of reach: b") {
		t.Errorf("load: %+v, %v", l, err)
	}
	for lo, want := range map[int32]error{0: nil, 2: driver.ErrAway} {
		a := w.AttemptFor(drivertest.Ends)
		a.Held = core.ProcSet{{Lo: lo, Hi: lo + 1}}
		if err := w.pool.StartAttempt(t.Context(), a); !errors.Is(err, want) {
			t.Errorf("start on processor %d: %v", lo, err)
		}
	}
	for i := range w.pool.members {
		w.pool.members[i].Driver = away{w.fakes[i]}
	}
	if _, err := w.pool.MeasureLoad(t.Context()); !errors.Is(err, driver.ErrAway) ||
		!strings.HasPrefix(err.Error(), "a, b, c of cluster c: the cluster is out of reach") {
		t.Errorf("load: %v", err)
	}
}

func TestTheBusiestHostCounts(t *testing.T) {
	w := newWorld(t).(*world)
	w.fakes[2].SetLoad(driver.Load{Share: 0.25, Why: "somebody computes"})
	if l, err := w.pool.MeasureLoad(t.Context()); err != nil || l.Share != 0.25 || l.Why != "c: somebody computes" {
		t.Errorf("%+v, %v", l, err)
	}
	s, err := w.pool.SurveyHosts(t.Context())
	if err != nil || s.TotalProcs() != 6 || len(s.Hosts) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}
