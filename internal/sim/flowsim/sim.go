package flowsim

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
	"github.com/godwit-hpc/godwit/internal/sched/forecast"
	"github.com/godwit-hpc/godwit/internal/sched/netflow"
)

// Config is what happens.
type Config struct {
	Grid    *Grid
	DAG     *flow.DAG
	Conduct conduct.Config // DAG, hosts and routes are filled in

	// Truth is how long a task really runs on a host of which it has a whole
	// processor; nil: what its model says.
	Truth   func(task, host int) float64
	Loads   []Load
	Outages []Outage
	Fails   func(task, try int) bool // whether that run of the task fails by its own fault; nil: none does
	// Sense is how often the load of hosts is measured, 10 s if 0, and Noise by how
	// much a measurement is off, given a number that tells them apart.
	Sense float64
	Noise func(n int) float64
}

// A Record is what became of a task.
type Record struct {
	Host       int // -1: it never ran to its end
	Core       int
	Sent       float64
	Start, End float64
	Runs       int // begun
}

// A Result is what became of the workflow.
type Result struct {
	Makespan float64
	Tasks    []Record
	Notes    []conduct.Note
	Failed   []int // tasks, for good
	Lost     int   // runs that ended with their host
	Moved    float64
	Stuck    bool // tasks are left that no host can run any more
	Count    conduct.Count
}

// A simulator is one run.
type simulator struct {
	cfg    *Config
	c      *conduct.Conductor
	net    *netflow.Net
	agenda agenda
	now    core.Time
	inbox  []conduct.Input
	tasks  []task
	cores  [][]int32
	hosts  []host
	owner  []int // host of each core
	flows  map[netflow.ID]int
	nextID netflow.ID
	wake   core.Time
	sensed int
	res    Result
}

type task struct {
	order   conduct.Order
	live    bool
	running bool
	missing int     // files under way
	left    float64 // seconds at a whole processor
	truth   float64
	rate    float64
	since   core.Time
	began   core.Time
	gen     int // of its end in the agenda
	runs    int
	flows   []netflow.ID
}

type host struct {
	first    int // of its cores, counted over all hosts
	share    float64
	down     bool
	forecast *forecast.Forecaster
}

// Run carries the workflow out.
func Run(cfg Config) (*Result, error) {
	g := cfg.Grid
	cfg.Conduct.DAG, cfg.Conduct.Hosts, cfg.Conduct.Sites, cfg.Conduct.Route = cfg.DAG, g.Hosts, g.Sites, g.Route
	c, err := conduct.New(cfg.Conduct)
	if err != nil {
		return nil, err
	}
	links := make([]netflow.Link, len(g.Platform.Links))
	for i, l := range g.Platform.Links {
		links[i] = netflow.Link{Mbps: l.Mbps, Shared: l.Shared}
	}
	s := &simulator{cfg: &cfg, c: c, net: netflow.New(links), tasks: make([]task, len(cfg.DAG.Tasks)),
		flows: map[netflow.ID]int{}}
	s.res.Tasks = make([]Record, len(s.tasks))
	for t := range s.res.Tasks {
		s.res.Tasks[t].Host = -1
	}
	for i, h := range g.Hosts {
		s.hosts = append(s.hosts, host{share: 1, first: len(s.owner)})
		for range h.Cores {
			s.owner = append(s.owner, i)
		}
	}
	s.cores = make([][]int32, len(s.owner))
	s.prepareAgenda()
	if err := s.runEvents(); err != nil {
		return nil, err
	}
	s.res.Count = c.CountTasks(nil)
	return &s.res, nil
}

// prepareAgenda puts what is to happen into the agenda, and lets the sensors look at how
// things are before the beginning.
func (s *simulator) prepareAgenda() {
	for _, l := range s.cfg.Loads {
		if l.At <= 0 {
			s.hosts[l.Host].share = l.Share
			continue
		}
		s.agenda.addEvent(event{at: core.AtSecond(l.At), kind: loadChanges, host: l.Host, share: l.Share})
	}
	for _, o := range s.cfg.Outages {
		s.agenda.addEvent(event{at: core.AtSecond(o.From), kind: hostFails, host: o.Host})
		if o.To > o.From {
			s.agenda.addEvent(event{at: core.AtSecond(o.To), kind: hostReturns, host: o.Host})
		}
	}
	if s.cfg.Sense == 0 {
		s.cfg.Sense = 10
	}
	if len(s.cfg.Loads) > 0 {
		for i := range before {
			s.senseHosts(core.AtSecond(float64(i) * s.cfg.Sense))
		}
		s.agenda.addEvent(event{at: core.AtSecond(s.cfg.Sense), kind: sensorsLook})
	}
}

// runEvents goes from event to event.
func (s *simulator) runEvents() error {
	s.tellConductor(conduct.Input{Kind: conduct.Begin})
	for !s.c.IsOver() {
		next, net := s.agenda.nextTime(), s.net.NextEvent()
		at := min(next, net)
		if s.wake > 0 {
			at = min(at, max(s.wake, s.now))
		}
		if at == core.Never || !s.hasHope() {
			s.res.Stuck = true
			return nil
		}
		s.now = max(s.now, at)
		for _, f := range s.net.Advance(s.now) {
			s.fileArrived(f.ID)
		}
		if s.wake > 0 && s.wake <= s.now {
			s.wake = 0
			s.tellConductor(conduct.Input{Kind: conduct.Tick})
		}
		for s.agenda.nextTime() <= s.now {
			if err := s.handleEvent(s.agenda.popEvent()); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasHope tells whether anything can still happen to the tasks: sensors look for ever.
func (s *simulator) hasHope() bool {
	if s.wake > 0 || s.agenda.others > 0 {
		return true
	}
	for t := range s.tasks {
		if s.tasks[t].live {
			return true
		}
	}
	return false
}

// tellConductor hands an input to the conductor, and whatever follows from its orders.
func (s *simulator) tellConductor(in conduct.Input) {
	s.inbox = append(s.inbox, in)
	if len(s.inbox) > 1 {
		return // whoever is telling goes on
	}
	for len(s.inbox) > 0 {
		out := s.c.Step(s.now.Seconds(), s.inbox[0])
		if out.Note != nil {
			s.res.Notes = append(s.res.Notes, *out.Note)
		}
		s.res.Failed = append(s.res.Failed, out.GaveUp...)
		s.wake = 0
		if out.Wake > 0 {
			s.wake = max(core.AtSecond(out.Wake), s.now+1)
		}
		for _, o := range out.Orders {
			s.sendTask(o)
		}
		s.inbox = s.inbox[1:]
	}
	s.inbox = nil
}

// handleEvent does what stands in the agenda.
func (s *simulator) handleEvent(e event) error {
	switch e.kind {
	case taskEnds:
		if t := &s.tasks[e.task]; t.live && t.gen == e.gen {
			s.endTask(e.task)
		}
	case loadChanges:
		s.setShare(e.host, e.share)
	case sensorsLook:
		s.senseHosts(s.now.Add(core.DurationFromSeconds(before * s.cfg.Sense)))
		s.agenda.addEvent(event{at: s.now.Add(core.DurationFromSeconds(s.cfg.Sense)), kind: sensorsLook})
	case hostFails:
		s.failHost(e.host)
	case hostReturns:
		s.hosts[e.host].down = false
		s.tellConductor(conduct.Input{Kind: conduct.Changed, Host: e.host})
	default:
		return fmt.Errorf("flowsim: event %d", e.kind)
	}
	return nil
}
