package conduct

import (
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// Config is a workflow, and where it runs.
type Config struct {
	DAG   *flow.DAG
	Hosts []flow.Host // their speeds are those of hosts that do nothing else
	Sites int
	Route func(from, to int) flow.Route

	Weights flow.Weights // of the matrix of ranks; zero: 1 and 1
	// Budget bounds the improvement of the first plan; nil: none. Later plans are not
	// improved: they are soon made again.
	Budget func(best, bound float64) flow.Budget
	// Prior is how many times the work of a kind of tasks over the speed of hosts they
	// take on a class of these, as far as that is known beforehand; nil: once.
	Prior func(kind, class int) float64
	// Waiting is which part of its time, with processors of its own, a kind of tasks waits
	// for something else on a class of hosts, as far as that is known beforehand; nil: none.
	Waiting func(kind, class int) float64
	// First is the plan to begin with; nil: one is made.
	First *flow.Schedule
	// Static keeps to the first plan whatever happens, except that tasks of hosts
	// that are gone are planned again. For comparisons.
	Static bool

	// Movable says that a task that was sent to a host and does not run yet can be
	// sent to another when that host is down, and that whoever runs tasks may move them.
	Movable bool

	// Retries is how often a task is started again after a failure of its own.
	Retries func(task int) int
	// StopAll starts nothing more once a task has failed for good; else only what
	// waits for it is given up.
	StopAll bool
}

// maxLost is how often a task may be lost to hosts that fail.
const maxLost = 10

// state is how far a task is.
type state uint8

const (
	waits   state = iota // for its parents, or its turn
	sent                 // to a host, not running yet
	running              // there
	done
	failed // for good
	never  // will it run: what it waits for failed
)

// A Conductor runs one workflow.
type Conductor struct {
	cfg   Config
	d     *flow.DAG
	grid  *flow.Grid // as it is now
	task  []task
	hosts []host
	cores []core
	model *model

	siteCores []int // of each site

	plan   *flow.Schedule
	queue  [][]int32 // of each core, the tasks that the plan gives it and that have not been sent
	stale  string    // why the plan is to be made anew; "": it is not
	urgent bool      // and at once
	fresh  int       // tasks that ended since the plan was made
	left   int       // tasks that are not over
	wakes  float64
	halted bool
	begun  bool
}

type task struct {
	state   state
	recall  bool // it was sent to a host that went down: the next order moves it
	parents int  // that are not done
	host    int
	cores   []int32
	sent    float64
	began   float64
	expect  float64 // when it ends, as whoever runs it says; 0: nobody does
	failed  int
	lost    int
}

type host struct {
	share float64 // of a processor that a task gets there
	down  bool
}

// core is the tasks that were sent to a core, the one that has it first.
type core struct{ tasks []int32 }

// New makes a conductor. Nothing happens before the first Step.
func New(cfg Config) (*Conductor, error) {
	c := &Conductor{cfg: cfg, d: cfg.DAG, task: make([]task, len(cfg.DAG.Tasks)), hosts: make([]host, len(cfg.Hosts)),
		left:      len(cfg.DAG.Tasks),
		siteCores: make([]int, cfg.Sites)}
	for h := range c.hosts {
		c.hosts[h] = host{share: 1, down: cfg.Hosts[h].Down}
		c.siteCores[cfg.Hosts[h].Site] += cfg.Hosts[h].Cores
	}
	for t := range c.task {
		c.d.EachParent(t, func(flow.Edge) { c.task[t].parents++ })
	}
	c.model = newModel(&cfg)
	c.rebuildGrid()
	c.cores = make([]core, c.grid.CoreCount())
	if t := c.unrunnableTask(); t >= 0 {
		return nil, &flow.NobodyError{Task: t}
	}
	return c, nil
}

// unrunnableTask is a task that no host can run, even if all were up; -1 if there is none. One
// that is down may come back.
func (c *Conductor) unrunnableTask() int {
	up := append([]flow.Host(nil), c.cfg.Hosts...)
	for h := range up {
		up[h].Down = false
	}
	return flow.NewGrid(up, c.cfg.Sites, c.cfg.Route).UnrunnableTask(c.d)
}

// rebuildGrid makes the grid as it is now: with what hosts give to a task, and what is
// known of how long kinds of tasks take.
func (c *Conductor) rebuildGrid() {
	hosts := make([]flow.Host, len(c.cfg.Hosts))
	for h := range hosts {
		hosts[h] = c.cfg.Hosts[h]
		hosts[h].Share = c.hosts[h].share
		hosts[h].Speed *= hosts[h].Share
		hosts[h].Down = c.hosts[h].down
	}
	c.grid = flow.NewGrid(hosts, c.cfg.Sites, c.cfg.Route)
	if !c.cfg.Static || c.cfg.Prior != nil {
		c.grid.CorrectSpeeds(c.model.kinds, c.model.runtimeFactor)
		c.grid.SpareWaiting(c.model.waitingPart)
	}
}

// Kind says what has happened.
type Kind uint8

const (
	Tick    Kind = iota // nothing: the time has come that Step asked for
	Begin               // the workflow may start; what was adopted before is there
	Adopt               // a task was sent to a host in an earlier life
	Started             // it runs now
	Ended               // well
	Failed              // by its own fault
	Lost                // with its host, or for want of it
	Changed             // a host gives another share to tasks, or is down, or up again
	Expect              // when a task will end, as whoever runs it says
	Moved               // whoever runs a task has it on another host than it was sent to
)

// An Input is one thing that has happened.
type Input struct {
	Kind    Kind
	Task    int
	Host    int     // of Adopt, Changed, Moved; Ended: where it was, -1 if that is none of the hosts
	Seconds float64 // Ended: how long it ran
	// Ended: seconds of them in which it waited for something else than a processor
	Waiting float64
	// Ended: of a processor that it had on average while it did not wait, 0 if nobody knows; Changed: what a task gets
	// from now on
	Share float64
	Down  bool    // Changed
	At    float64 // Expect; Started: when, if that was earlier
}

// An Order is a task to be sent to a host now. One of several cores is spread over
// those given; of others the host alone counts.
type Order struct {
	Task, Host int
	Cores      []int32 // counted over all hosts
	Move       bool    // it was sent elsewhere before, and has not failed there
}

// An Output is what is to be done, and what was decided on the way.
type Output struct {
	Orders []Order
	Wake   float64 // Step wants to be called by then; 0: never
	Note   *Note   // the plan was made anew
	GaveUp []int   // tasks that failed for good just now
}

// A Note tells why what had not started was planned again.
type Note struct {
	At        float64
	Why       string
	Heuristic string
	Tasks     int     // that had not started
	End       float64 // of the workflow, by the new plan
	Before    float64 // by the old one
}

// Step takes in what has happened and says what is to be done.
func (c *Conductor) Step(now float64, in Input) Output {
	var out Output
	c.wakes = 0
	switch in.Kind {
	case Begin:
		c.begun, c.stale, c.urgent = true, "the workflow begins", true
	case Adopt:
		c.adoptTask(now, in.Task, in.Host)
	case Started:
		if t := &c.task[in.Task]; t.state == sent {
			t.state, t.began = running, now
			if in.At > 0 {
				t.began = in.At
			}
		}
	case Ended:
		c.taskEnded(now, in)
	case Failed, Lost:
		c.taskFailed(now, in, &out)
	case Changed:
		c.hostChanged(in)
	case Moved:
		c.taskMoved(now, in.Task, in.Host)
	case Expect:
		c.task[in.Task].expect = in.At
	}
	if !c.begun || c.halted {
		return out
	}
	c.checkOverdue(now)
	if c.isReplanDue() {
		out.Note = c.planAgain(now)
	}
	out.Orders = c.dispatchReady(now)
	out.Wake = c.wakes
	return out
}

// IsOver tells whether nothing is left to be done or waited for.
func (c *Conductor) IsOver() bool {
	if c.left == 0 {
		return true
	}
	return c.halted && !c.hasLiveTasks()
}

func (c *Conductor) hasLiveTasks() bool {
	for t := range c.task {
		if s := c.task[t].state; s == sent || s == running {
			return true
		}
	}
	return false
}

// A Count is how many tasks are how far.
type Count struct{ Waiting, Ready, Sent, Running, Done, Failed, Never int }

// CountTasks are those of the tasks for which pick is true; nil: of all.
func (c *Conductor) CountTasks(pick func(task int) bool) Count {
	var n Count
	for t := range c.task {
		if pick != nil && !pick(t) {
			continue
		}
		switch c.task[t].state {
		case waits:
			n.Waiting++
			if c.task[t].parents == 0 {
				n.Ready++
			}
		case sent:
			n.Sent++
		case running:
			n.Running++
		case done:
			n.Done++
		case failed:
			n.Failed++
		case never:
			n.Never++
		}
	}
	return n
}
