package flowsim

import (
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
	"github.com/godwit-hpc/godwit/internal/sched/forecast"
	"github.com/godwit-hpc/godwit/internal/sched/netflow"
)

// maxVolume is the most bytes of one transfer that are counted: an exbibyte.
const maxVolume = 1 << 60

// sendTask gives a task its cores and sends for its files.
func (s *simulator) sendTask(o conduct.Order) {
	x := &s.tasks[o.Task]
	*x = task{order: o, live: true, gen: x.gen + 1, runs: x.runs}
	s.res.Tasks[o.Task].Sent = s.now.Seconds()
	for _, c := range o.Cores {
		s.cores[c] = append(s.cores[c], int32(o.Task))
	}
	to := s.cfg.Grid.Places[o.Host]
	s.cfg.DAG.EachParent(o.Task, func(e flow.Edge) {
		from := s.res.Tasks[e.From].Host
		if e.Bytes < 0 || from == o.Host || from < 0 {
			return
		}
		r, ok := s.cfg.Grid.Platform.FindRoute(s.cfg.Grid.Places[from], to)
		if !ok {
			return
		}
		s.nextID++
		// The files of one parent come one after another, each with the latency of the way.
		s.net.Start(s.now, s.nextID, r.Links, int64(min(e.Bytes, maxVolume)), time.Duration(e.Files)*r.Latency())
		s.flows[s.nextID] = o.Task
		x.flows = append(x.flows, s.nextID)
		x.missing++
		s.res.Moved += e.Bytes
	})
	s.beginTask(o.Task)
}

// fileArrived takes in that a file is there.
func (s *simulator) fileArrived(id netflow.ID) {
	t, ok := s.flows[id]
	if !ok {
		return
	}
	delete(s.flows, id)
	s.tasks[t].missing--
	s.beginTask(t)
}

// beginTask starts a task if its files are there and it is first on all of its cores.
func (s *simulator) beginTask(t int) {
	x := &s.tasks[t]
	if !x.live || x.running || x.missing > 0 {
		return
	}
	for _, c := range x.order.Cores {
		if s.cores[c][0] != int32(t) {
			return
		}
	}
	x.running, x.began, x.since = true, s.now, s.now
	x.runs++
	for _, c := range x.order.Cores {
		x.truth = max(x.truth, s.trueSeconds(t, s.hostOf(c)))
	}
	x.left = x.truth
	s.setRate(t)
	s.tellConductor(conduct.Input{Kind: conduct.Started, Task: t})
}

func (s *simulator) trueSeconds(t, h int) float64 {
	if s.cfg.Truth != nil {
		return s.cfg.Truth(t, h)
	}
	return s.cfg.DAG.Tasks[t].Work / s.cfg.Grid.Hosts[h].Speed
}

func (s *simulator) hostOf(c int32) int { return s.owner[c] }

// setRate works out how fast a task runs from now on, and when it will end. One of
// several cores goes at the pace of the slowest.
func (s *simulator) setRate(t int) {
	x := &s.tasks[t]
	x.left = max(0, x.left-x.rate*s.now.Sub(x.since).Seconds())
	x.since, x.rate = s.now, 1
	for _, c := range x.order.Cores {
		x.rate = min(x.rate, s.hosts[s.hostOf(c)].share)
	}
	x.gen++
	s.agenda.addEvent(event{at: s.now.Add(core.DurationFromSeconds(x.left / x.rate)), kind: taskEnds, task: t, gen: x.gen})
}

// dropTask takes a task from its cores and lets the next ones begin.
func (s *simulator) dropTask(t int) {
	x := &s.tasks[t]
	x.live, x.running = false, false
	x.gen++
	for _, id := range x.flows {
		if _, under := s.flows[id]; under {
			s.net.Cancel(s.now, id)
			delete(s.flows, id)
		}
	}
	for _, c := range x.order.Cores {
		if i := slices.Index(s.cores[c], int32(t)); i >= 0 {
			s.cores[c] = slices.Delete(s.cores[c], i, i+1)
		}
	}
}

// beginWaiting lets those begin that wait for cores.
func (s *simulator) beginWaiting(cores []int32) {
	for _, c := range cores {
		if len(s.cores[c]) > 0 {
			s.beginTask(int(s.cores[c][0]))
		}
	}
}

// endTask takes in that a task is through.
func (s *simulator) endTask(t int) {
	x := &s.tasks[t]
	cores, took := x.order.Cores, s.now.Sub(x.began).Seconds()
	s.dropTask(t)
	r := &s.res.Tasks[t]
	r.Runs = x.runs
	if s.cfg.Fails != nil && s.cfg.Fails(t, x.runs) {
		s.tellConductor(conduct.Input{Kind: conduct.Failed, Task: t})
		s.beginWaiting(cores)
		return
	}
	r.Host, r.Core, r.Start, r.End = x.order.Host, int(cores[0])-s.hosts[x.order.Host].first, x.began.Seconds(),
		s.now.Seconds()
	s.res.Makespan = max(s.res.Makespan, r.End)
	share := 1.0
	if took > 0 {
		share = x.truth / took
	}
	s.tellConductor(conduct.Input{Kind: conduct.Ended, Task: t, Host: x.order.Host, Seconds: took, Share: share})
	s.beginWaiting(cores)
}

// setShare changes what a host gives to tasks.
func (s *simulator) setShare(h int, share float64) {
	s.hosts[h].share = share
	for c := range s.cfg.Grid.Hosts[h].Cores {
		if list := s.cores[s.hosts[h].first+c]; len(list) > 0 && s.tasks[list[0]].running {
			s.setRate(int(list[0]))
		}
	}
}

// failHost takes a host away, with what is there.
func (s *simulator) failHost(h int) {
	s.hosts[h].down = true
	s.tellConductor(conduct.Input{Kind: conduct.Changed, Host: h, Down: true})
	for t := range s.tasks {
		x := &s.tasks[t]
		if !x.live || !slices.ContainsFunc(x.order.Cores, func(c int32) bool { return s.hostOf(c) == h }) {
			continue
		}
		cores := x.order.Cores
		s.dropTask(t)
		s.res.Lost++
		s.tellConductor(conduct.Input{Kind: conduct.Lost, Task: t})
		s.beginWaiting(cores)
	}
}

// before is how many measurements there are before the beginning.
const before = 12

// senseHosts measures what every host gives to a task, and tells what it will give.
func (s *simulator) senseHosts(at core.Time) {
	for h := range s.hosts {
		x := &s.hosts[h]
		if x.forecast == nil {
			x.forecast = forecast.New(forecast.Config{Step: core.DurationFromSeconds(s.cfg.Sense), Most: 1,
				Prior: forecast.LoadPrior()})
		}
		share := x.share
		if s.cfg.Noise != nil {
			s.sensed++
			share = min(1, max(0.01, share+s.cfg.Noise(s.sensed)))
		}
		if x.forecast.AddValue(at, share) != nil {
			continue
		}
		if f, ok := x.forecast.ForecastNext(); ok {
			s.tellConductor(conduct.Input{Kind: conduct.Changed, Host: h, Share: f.Value, Down: x.down})
		}
	}
}
