package conduct

import (
	"math"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

func newConductor(t *testing.T, tasks []flow.Task, edges []flow.Edge, hosts []flow.Host,
	change func(*Config)) *Conductor {
	t.Helper()
	d, err := flow.NewDAG(tasks, edges)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{DAG: d, Hosts: hosts, Sites: len(hosts), Route: func(from, to int) flow.Route {
		return flow.Route{Latency: 0.1, PerByte: 1e-6}
	}}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hosts(speeds ...float64) []flow.Host {
	var list []flow.Host
	for i, s := range speeds {
		list = append(list, flow.Host{Name: string(rune('a' + i)), Site: i, Class: i, Cores: 1, Speed: s})
	}
	return list
}

func sweep(n int, work float64) []flow.Task {
	tasks := make([]flow.Task, n)
	for i := range tasks {
		tasks[i] = flow.Task{Name: "t", Work: work}
	}
	return tasks
}

func TestNothingStartsBeforeItsParentsAndOnlyOneTaskACore(t *testing.T) {
	c := newConductor(t, sweep(3, 10),
		[]flow.Edge{{From: 0, To: 1, Bytes: flow.NoData}, {From: 0, To: 2, Bytes: flow.NoData}}, hosts(1, 1), nil)
	out := c.Step(0, Input{Kind: Begin})
	if len(out.Orders) != 1 || out.Orders[0].Task != 0 {
		t.Fatalf("at first %v is started", out.Orders)
	}
	if out = c.Step(0, Input{Kind: Started, Task: 0}); len(out.Orders) != 0 {
		t.Fatalf("%v is started before its parent is done", out.Orders)
	}
	out = c.Step(10, Input{Kind: Ended, Task: 0, Seconds: 10, Share: 1})
	if len(out.Orders) != 2 || out.Orders[0].Host == out.Orders[1].Host {
		t.Errorf("both hosts are free, and %v is started", out.Orders)
	}
}

func TestFilesAreSentForShortlyBeforeTheCoreIsFree(t *testing.T) {
	// 4 MB take 4.1 s. Task 2 follows task 1 on host b, and needs a file of task 0.
	tasks := []flow.Task{{Name: "0", Work: 1}, {Name: "1", Work: 100}, {Name: "2", Work: 100}}
	first := &flow.Schedule{Slots: []flow.Slot{{Host: 0, End: 1}, {Host: 1, End: 100}, {Host: 1, Start: 100, End: 200}},
		Makespan: 200}
	c := newConductor(t, tasks, []flow.Edge{{From: 0, To: 2, Bytes: 4e6}}, hosts(1, 1),
		func(cfg *Config) { cfg.First, cfg.Static = first, true })
	c.Step(0, Input{Kind: Begin})
	c.Step(0, Input{Kind: Started, Task: 0})
	c.Step(0, Input{Kind: Started, Task: 1})
	out := c.Step(1, Input{Kind: Ended, Task: 0, Seconds: 1, Share: 1})
	if len(out.Orders) != 0 || out.Wake < 94 || out.Wake > 96 {
		t.Fatalf("orders %v, wake at %v, want none before 95", out.Orders, out.Wake)
	}
	if out = c.Step(out.Wake, Input{Kind: Tick}); len(out.Orders) != 1 || out.Orders[0].Task != 2 {
		t.Errorf("orders %v, want task 2 to be sent", out.Orders)
	}
}

func TestFilesAreSentForEarlierWhereOtherCoresMayWantTheirsToo(t *testing.T) {
	tasks := []flow.Task{{Name: "0", Work: 1}, {Name: "1", Work: 400}, {Name: "2", Work: 400}}
	first := &flow.Schedule{Slots: []flow.Slot{{Host: 0, End: 1}, {Host: 1, End: 400}, {Host: 1, Start: 400, End: 800}},
		Makespan: 800}
	near := hosts(1, 1, 1)
	near[2].Site = 1
	c := newConductor(t, tasks, []flow.Edge{{From: 0, To: 2, Bytes: 4e6}}, near,
		func(cfg *Config) { cfg.First, cfg.Static = first, true })
	c.Step(0, Input{Kind: Begin})
	c.Step(0, Input{Kind: Started, Task: 0})
	c.Step(0, Input{Kind: Started, Task: 1})
	out := c.Step(1, Input{Kind: Ended, Task: 0, Seconds: 1, Share: 1})
	if len(out.Orders) != 0 || out.Wake < 390 || out.Wake > 391 {
		t.Fatalf("orders %v, wake at %v, want none before two files of 4.1 s could come before 400", out.Orders, out.Wake)
	}
}

func TestFilesAreSentForWhenTheTaskBeforeShouldHaveEnded(t *testing.T) {
	tasks := []flow.Task{{Name: "0", Work: 105}, {Name: "1", Work: 100}, {Name: "2", Work: 100}}
	first := &flow.Schedule{Slots: []flow.Slot{{Host: 0, End: 105}, {Host: 1, End: 100}, {Host: 1, Start: 109, End: 209}},
		Makespan: 209}
	c := newConductor(t, tasks, []flow.Edge{{From: 0, To: 2, Bytes: 4e6}}, hosts(1, 1), func(cfg *Config) { cfg.First, cfg.Static = first, true })
	c.Step(0, Input{Kind: Begin})
	c.Step(0, Input{Kind: Started, Task: 0})
	c.Step(0, Input{Kind: Started, Task: 1})
	if out := c.Step(105, Input{Kind: Ended, Task: 0, Seconds: 105, Share: 1}); len(out.Orders) != 1 ||
		out.Orders[0].Task != 2 {
		t.Errorf("orders %v while task 1 is 5 s late, want task 2 to be sent", out.Orders)
	}
}

func TestATaskThatIsLateIsExpectedSoonIfOthersOfItsKindTakeTheSame(t *testing.T) {
	c := newConductor(t, sweep(20, 10), nil, hosts(1, 1), nil)
	running := map[int]bool{}
	begin := func(now float64, orders []Order) {
		for _, o := range orders {
			running[o.Task] = true
			begun := c.Step(now, Input{Kind: Started, Task: o.Task})
			if len(begun.Orders) != 0 {
				t.Fatalf("%v is sent to a core that is busy", begun.Orders)
			}
		}
	}
	begin(0, c.Step(0, Input{Kind: Begin}).Orders)
	for task := range running {
		if late := c.expectedEnd(10.05, task) - 10.05; late < 0.8 {
			t.Errorf("nothing is known of the kind, and a late task is expected after %v s", late)
		}
	}
	for now := 10.0; now <= 50; now += 10 {
		var next []Order
		for task := range running {
			delete(running, task)
			next = append(next, c.Step(now, Input{Kind: Ended, Task: task, Seconds: 10, Share: 1}).Orders...)
		}
		begin(now, next)
	}
	for task := range running {
		if late := c.expectedEnd(60.05, task) - 60.05; late > 0.4 {
			t.Errorf("ten of the kind took the same, and a late task is expected after %v s", late)
		}
		if late := c.expectedEnd(64, task) - 64; late < 2 {
			t.Errorf("4 s late, and expected after %v s", late)
		}
	}
}

func TestLoadIsNotMistakenForAWrongModel(t *testing.T) {
	c := newConductor(t, sweep(8, 10), nil, hosts(1, 1), nil)
	c.Step(0, Input{Kind: Changed, Host: 0, Share: 0.5})
	c.Step(0, Input{Kind: Begin})
	c.Step(0, Input{Kind: Started, Task: 0})
	c.Step(20, Input{Kind: Ended, Task: 0, Seconds: 20, Share: 0.5})
	if f := c.model.learnedFactor(0, 0); math.Abs(f-1) > 1e-9 {
		t.Errorf("factor %v after a task that had half of a processor for twice its time", f)
	}
	c.Step(40, Input{Kind: Ended, Task: 1, Host: 1, Seconds: 40, Share: 1})
	if f := c.model.learnedFactor(0, c.cfg.Hosts[c.task[1].host].Class); f < 2 {
		t.Errorf("factor %v after a task that took four times what its model says", f)
	}
}

func TestWhatRanInAnEarlierLifeIsNotStartedAgain(t *testing.T) {
	c := newConductor(t, sweep(4, 10), []flow.Edge{{From: 0, To: 3, Bytes: flow.NoData}}, hosts(1, 1), nil)
	c.Step(0, Input{Kind: Ended, Task: 0, Host: 1, Seconds: 10})
	c.Step(0, Input{Kind: Adopt, Task: 1, Host: 0})
	for _, o := range c.Step(0, Input{Kind: Begin}).Orders {
		if o.Task < 2 {
			t.Errorf("task %d is started again", o.Task)
		}
	}
	c.Step(5, Input{Kind: Ended, Task: 1, Host: 0, Seconds: 5})
	if n := c.CountTasks(nil); n.Done != 2 {
		t.Errorf("counts %+v", n)
	}
}

func TestWhileNoHostCanRunATaskItWaitsForOneToComeBack(t *testing.T) {
	tasks := sweep(2, 10)
	tasks[1].Only = []bool{true, false}
	c := newConductor(t, tasks, nil, hosts(1, 1), nil)
	c.Step(0, Input{Kind: Changed, Host: 0, Down: true})
	out := c.Step(0, Input{Kind: Begin})
	if len(out.Orders) != 1 || out.Orders[0].Task != 0 || out.Orders[0].Host != 1 {
		t.Fatalf("orders %v", out.Orders)
	}
	if c.IsOver() {
		t.Fatal("over with a task left")
	}
	out = c.Step(5, Input{Kind: Changed, Host: 0, Share: 1})
	if len(out.Orders) != 1 || out.Orders[0].Task != 1 {
		t.Errorf("orders %v after the host is back", out.Orders)
	}
}

func TestTheBandNarrowsAsTasksEnd(t *testing.T) {
	c := newConductor(t, sweep(60, 10), nil, hosts(1, 1, 1), nil)
	out := c.Step(0, Input{Kind: Begin})
	wide := c.Outlook(0)
	if wide.Early >= wide.End || wide.Late <= wide.End {
		t.Fatalf("outlook %+v", wide)
	}
	now := 0.0
	for range 10 {
		now += 10
		var next []Order
		for _, o := range out.Orders {
			c.Step(now-10, Input{Kind: Started, Task: o.Task})
		}
		for _, o := range out.Orders {
			next = append(next, c.Step(now, Input{Kind: Ended, Task: o.Task, Host: o.Host, Seconds: 10, Share: 1}).Orders...)
		}
		out.Orders = next
	}
	narrow := c.Outlook(now)
	if (narrow.Late-narrow.Early)/(narrow.End-now) > (wide.Late-wide.Early)/wide.End/2 {
		t.Errorf("outlook %+v at first, %+v when half is done", wide, narrow)
	}
	if math.Abs(narrow.End-200) > 1 {
		t.Errorf("60 tasks of 10 s on 3 hosts end at %v", narrow.End)
	}
}

func movable(cfg *Config) { cfg.Movable = true }

func TestATaskThatWaitsOnAHostThatIsGoneIsMovedToAnother(t *testing.T) {
	c := newConductor(t, sweep(1, 10), nil, hosts(2, 1), movable)
	out := c.Step(0, Input{Kind: Begin})
	if len(out.Orders) != 1 || out.Orders[0].Host != 0 || out.Orders[0].Move {
		t.Fatalf("at first %+v", out.Orders)
	}
	out = c.Step(1, Input{Kind: Changed, Host: 0, Down: true})
	if len(out.Orders) != 1 || out.Orders[0].Task != 0 || out.Orders[0].Host != 1 || !out.Orders[0].Move {
		t.Fatalf("its host is gone: %+v", out.Orders)
	}
	c.Step(2, Input{Kind: Started, Task: 0})
	if out = c.Step(3, Input{Kind: Changed, Host: 1, Down: true}); len(out.Orders) != 0 {
		t.Errorf("one that runs is moved: %+v", out.Orders)
	}
	if c.Step(12, Input{Kind: Ended, Task: 0, Host: 1, Seconds: 10}); !c.IsOver() {
		t.Error("it is not over")
	}
}

func TestThePlanTakesNoteThatATaskWasMoved(t *testing.T) {
	// Task 1 needs a large file of task 0.
	c := newConductor(t, sweep(2, 10), []flow.Edge{{From: 0, To: 1, Bytes: 1e9}}, hosts(1, 1), movable)
	out := c.Step(0, Input{Kind: Begin})
	c.Step(0, Input{Kind: Started, Task: 0})
	other := 1 - out.Orders[0].Host
	if host, _, ok := c.PlannedSlot(1); !ok || host == other {
		t.Fatalf("task 1 is planned on %d, far from its file", host)
	}
	out = c.Step(5, Input{Kind: Moved, Task: 0, Host: other})
	if out.Note == nil || out.Note.Why != "t was moved to "+hosts(1, 1)[other].Name {
		t.Errorf("planned again because of %+v", out.Note)
	}
	if host, _, ok := c.PlannedSlot(1); !ok || host != other {
		t.Errorf("task 1 is planned on %d, and its file will be on %d", host, other)
	}
	if out = c.Step(6, Input{Kind: Moved, Task: 0, Host: other}); out.Note != nil {
		t.Errorf("told twice, and planned again because of %+v", out.Note)
	}
	if n := c.CountTasks(nil); n.Running != 1 {
		t.Errorf("%+v", n)
	}
	out = c.Step(15, Input{Kind: Ended, Task: 0, Host: other, Seconds: 10})
	if len(out.Orders) != 1 || out.Orders[0].Task != 1 || out.Orders[0].Host != other {
		t.Errorf("then %+v", out.Orders)
	}
}

// PlannedSlot is where and when a task that has not been sent is to run, by the present
// plan.
func (c *Conductor) PlannedSlot(task int) (host int, start float64, ok bool) {
	if c.plan == nil || c.task[task].state != waits {
		return 0, 0, false
	}
	return c.plan.Slots[task].Host, c.plan.Slots[task].Start, true
}

// What a task waits takes as long where it gets half of a core; only the rest takes
// twice as long.
func TestASmallerShareDoesNotMakeWaitingLonger(t *testing.T) {
	for _, c := range []struct{ waits, onHalf float64 }{{10, 10}, {5, 15}, {0, 20}} {
		m := newConductor(t, sweep(4, 10), nil, hosts(1, 1), nil)
		m.Step(0, Input{Kind: Begin})
		m.Step(0, Input{Kind: Started, Task: 0})
		m.Step(10, Input{Kind: Ended, Task: 0, Host: 0, Seconds: 10, Waiting: c.waits, Share: 1})
		m.Step(10, Input{Kind: Changed, Host: 1, Share: 0.5})
		m.rebuildGrid()
		for h, want := range []float64{10, c.onHalf} {
			if takes := m.grid.HostRuntime(&m.d.Tasks[3], h); math.Abs(takes-want) > 1e-9 {
				t.Errorf("it waits %v of 10 s: expected to take %v s on host %d, not %v", c.waits, takes, h, want)
			}
		}
	}
}

// A task that waited half of its time beside others had half of a core in the rest of it.
func TestWhatATaskWaitedIsNotTakenForALackOfCores(t *testing.T) {
	c := newConductor(t, sweep(4, 10), nil, hosts(1, 1), nil)
	c.Step(0, Input{Kind: Changed, Host: 0, Share: 0.5})
	c.Step(0, Input{Kind: Begin})
	c.Step(0, Input{Kind: Started, Task: 0})
	c.Step(15, Input{Kind: Ended, Task: 0, Host: 0, Seconds: 15, Waiting: 5, Share: 0.5})
	if f := c.model.learnedFactor(0, 0); math.Abs(f-1) > 1e-9 {
		t.Errorf("factor %v after a task that waited 5 s and computed 10 s on half of a core", f)
	}
}

// What earlier runs of a kind waited is not divided by the share either, before the first
// of this run has ended.
func TestTheFirstPlanDoesNotMakeKnownWaitingLonger(t *testing.T) {
	c := newConductor(t, sweep(4, 10), nil, hosts(1, 1), func(cfg *Config) {
		cfg.Waiting = func(_, class int) float64 { return []float64{0, 0.75}[class] }
	})
	for h := range c.hosts {
		c.Step(0, Input{Kind: Changed, Host: h, Share: 0.25})
	}
	c.rebuildGrid()
	for h, want := range []float64{40, 17.5} {
		if takes := c.grid.HostRuntime(&c.d.Tasks[0], h); math.Abs(takes-want) > 1e-9 {
			t.Errorf("expected to take %v s on a quarter of a core of host %d, not %v", want, h, takes)
		}
	}
}
