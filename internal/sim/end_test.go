package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// endless is local users who come every so often, for ever.
func endless(every, run time.Duration, procs int) func() (BackgroundJob, bool) {
	at := core.Time(0)
	return func() (BackgroundJob, bool) {
		at = at.Add(every)
		return BackgroundJob{At: at, Procs: procs, Run: run}, true
	}
}

func TestARunEndsWhenThoseWhoAreLeftCanNeverStart(t *testing.T) {
	gone := func() func() (HostChange, bool) { return inTurn(goes(5, 0, 0)) }
	for name, d := range map[string]*Disturbances{
		"only the engine's own period is ahead":       {Hosts: gone()},
		"and polls that find nothing":                 {Hosts: gone(), Background: inTurn(local(1, 0, 1, 10))},
		"and local users who come and go for ever":    {Hosts: gone(), Background: endless(time.Minute, 7*second, 1)},
		"and local users who find nothing, for ever":  {Hosts: gone(), Background: endless(time.Minute, 0, 0)},
		"and a local user who has the rest for years": {Hosts: gone(), Background: inTurn(local(6, 0, 1, 1e9))},
	} {
		cfg := Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(), PollEvery: 30 * second, Disturb: d,
			Jobs: listOf(rigid(0, 1, 1), rigid(8, 2, 10))}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := s.Run(context.Background()); left != 1 || err != nil {
			t.Errorf("%s: %d left, %v", name, left, err)
		}
		t.Logf("%s: given up on day %.1f", name, s.now.Seconds()/86400)
	}
}

func TestALongRepairIsNotTheEnd(t *testing.T) {
	const day = 86400
	cfg := Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(), PollEvery: 10 * second,
		Disturb: &Disturbances{Hosts: inTurn(goes(5, 0, 0), comes(60*day, 0, 0)), Background: inTurn(local(1, 0, 1, 30*day))}}
	cfg.Jobs = listOf(rigid(2, 2, 10))
	c := simulate(t, cfg)
	if r := c.Records()[0]; r.Start != core.AtSecond(60*day) {
		t.Errorf("started on day %g", r.Start.Seconds()/day)
	}
}

func TestARarePollIsNotTheEnd(t *testing.T) {
	const day = 86400
	cfg := Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(), PollEvery: 20 * day * second,
		Disturb: users(local(1, 0, 1, 10*day))}
	cfg.Jobs = listOf(rigid(2, 2, 10))
	c := simulate(t, cfg)
	if r := c.Records()[0]; r.Start != core.AtSecond(20*day) {
		t.Errorf("started on day %g", r.Start.Seconds()/day)
	}
}

func TestManyTriesAreAllMade(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(), MaxTries: 5000,
		Disturb: hostsOf(goes(5, 0, 0))}
	p := play(t, cfg, rigid(6, 2, 10))
	if r := p.records[0]; r.State != core.Failed || r.End != core.AtSecond(6+30*4999) {
		t.Errorf("is %s at %g s", r.State, r.End.Seconds())
	}
}

// impatient is a context that is cancelled once it has been looked at so often.
type impatient struct {
	context.Context
	looks int
}

func (c *impatient) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestARunIsCancelledWithinFewInstants(t *testing.T) {
	for name, cfg := range map[string]Config{
		"many steps": fiveClusters(t, "marginal", engine.PWA, 20_000),
		"no steps, and a job that outlasts the universe": {Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(),
			Disturb: &Disturbances{Background: endless(time.Microsecond, 0, 0)},
			Jobs:    listOf(elastic(0, 1, 1, &app.App{Speedup: app.Linear{}}, 1e15))},
	} {
		instants, last := 0, core.Never
		cfg.Observe = func(now core.Time, _ *core.Input, _ *engine.Output) {
			if now != last {
				instants, last = instants+1, now
			}
		}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Run(&impatient{context.Background(), 10})
		if !errors.Is(err, context.Canceled) || instants > 1000 {
			t.Errorf("%s: %v after %d instants", name, err, instants)
		}
	}
}

func TestJobsOutOfOrderAreAnErrorAndNotAPanic(t *testing.T) {
	s, err := New(Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(),
		Jobs: listOf(rigid(10, 1, 1), rigid(5, 1, 1))})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := s.Run(context.Background()); err == nil || left != 1 {
		t.Errorf("%d left, %v", left, err)
	}
}

func TestAClusterCannotKeepAllProcessorsFree(t *testing.T) {
	_, err := New(Config{Platform: clustersOf(t, 2, 3), KeepFree: map[string]int{"c1": 2},
		GrowFree: map[string]int{"c1": 1}, Jobs: listOf()})
	if err == nil {
		t.Error("accepted")
	}
}

func TestTheAgendaIsInOrderAndDropsOnlyWhatIsVoid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var a agenda
	var want []entry
	void := func(e *entry) bool { return e.number%7 > 0 }
	for i := range 20_000 {
		e := entry{at: core.Time(r.IntN(500)), number: int32(i), order: uint64(r.IntN(5))}
		a.addEntry(e.at, entryKind(e.order), e)
		if !void(&e) {
			want = append(want, e)
		}
		a.dropVoid(void)
	}
	if len(a.heap) > 3*len(want) {
		t.Errorf("%d entries are kept, %d are not void", len(a.heap), len(want))
	}
	slices.SortStableFunc(want, func(x, y entry) int {
		return int(x.at-y.at)*100 + int(x.order) - int(y.order)
	})
	for _, w := range want {
		e := a.popEntry()
		for void(&e) {
			e = a.popEntry()
		}
		if e.at != w.at || e.number != w.number || e.entryKind() != entryKind(w.order) {
			t.Fatalf("got job %d at %d, want job %d at %d", e.number, e.at, w.number, w.at)
		}
	}
}

func TestTheAgendaDoesNotGrowWithChangesOfSize(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Amdahl{Serial: 0.001}}
	jobs := []workload.Job{elastic(0, 1, 60, a, 1e9), elastic(0, 1, 60, a, 1e9)}
	for i := range 20_000 { // each makes the two large ones shrink and grow
		jobs = append(jobs, rigid(float64(10+20*i), 30, 10))
	}
	cfg := Config{Platform: clustersOf(t, 64), Engine: policies(engine.PWA, "egs"), ProgressEvery: 10 * second,
		Jobs: listOf(jobs...)}
	most := 0
	var s *Simulator
	cfg.Observe = func(core.Time, *core.Input, *engine.Output) { most = max(most, len(s.agenda.heap)) }
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := s.Run(context.Background()); left > 0 || err != nil {
		t.Fatal(left, err)
	}
	if most > 2*leastCrowded {
		t.Errorf("%d entries at most", most)
	}
}
