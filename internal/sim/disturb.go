package sim

import (
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
)

// Disturbances is what happens to the grid besides our jobs, as streams in the
// order of time. A stream that is nil brings nothing.
type Disturbances struct {
	Background func() (BackgroundJob, bool)
	Hosts      func() (HostChange, bool)
	Links      func() (LinkChange, bool)
	Drains     func() (DrainChange, bool)
	Loads      func() (LoadChange, bool)
}

// BackgroundJob is a job of somebody who bypasses us.
type BackgroundJob struct {
	At      core.Time
	Cluster core.ClusterID
	Procs   int
	Run     time.Duration
}

// HostChange is a host that fails or comes back. Host counts within the
// cluster as the platform lists it.
type HostChange struct {
	At      core.Time
	Cluster core.ClusterID
	Host    int
	Up      bool
}

// LinkChange gives a link of the platform another rate.
type LinkChange struct {
	At   core.Time
	Link int
	Mbps float64
}

// DrainChange is a cluster that is drained, or used again.
type DrainChange struct {
	At      core.Time
	Cluster core.ClusterID
	Drained bool
}

// intruders is the state of what disturbs a run: the next of each stream, and
// the background jobs that are there.
type intruders struct {
	job     BackgroundJob
	host    HostChange
	link    LinkChange
	drain   DrainChange
	load    LoadChange
	running map[int64]foreignJob
	last    int64
}

// foreignJob is a background job that holds processors, or waits in a
// cluster's own queue.
type foreignJob struct {
	cluster core.ClusterID
	size    int
	procs   core.ProcSet
	run     time.Duration
}

func (s *Simulator) scheduleDisturbances() {
	d := s.cfg.Disturb
	if d == nil {
		return
	}
	s.intruders.running = map[int64]foreignJob{}
	s.nextBackground()
	s.nextHost()
	s.nextLink()
	s.nextDrain()
	s.nextLoad()
	if s.cfg.PollEvery > 0 && d.Background != nil {
		s.agenda.addEntry(s.now.Add(s.cfg.PollEvery), pollDue, entry{})
	}
}

func (s *Simulator) nextBackground() {
	if d := s.cfg.Disturb; d.Background != nil {
		if j, ok := d.Background(); ok {
			s.intruders.job = j
			s.agenda.addEntry(j.At, backgroundComes, entry{})
		}
	}
}

func (s *Simulator) nextHost() {
	if d := s.cfg.Disturb; d.Hosts != nil {
		if h, ok := d.Hosts(); ok {
			s.intruders.host = h
			s.agenda.addEntry(h.At, hostChanges, entry{})
		}
	}
}

func (s *Simulator) nextLink() {
	if d := s.cfg.Disturb; d.Links != nil {
		if l, ok := d.Links(); ok {
			s.intruders.link = l
			s.agenda.addEntry(l.At, linkChanges, entry{})
		}
	}
}

func (s *Simulator) nextDrain() {
	if d := s.cfg.Disturb; d.Drains != nil {
		if c, ok := d.Drains(); ok {
			s.intruders.drain = c
			s.agenda.addEntry(c.At, drainChanges, entry{})
		}
	}
}

func (s *Simulator) nextLoad() {
	if d := s.cfg.Disturb; d.Loads != nil {
		if l, ok := d.Loads(); ok {
			s.intruders.load = l
			s.agenda.addEntry(l.At, loadChanges, entry{})
		}
	}
}

func (s *Simulator) applyDisturbance(e *entry) {
	switch e.entryKind() {
	case backgroundComes:
		s.backgroundJob(s.intruders.job)
		s.nextBackground()
	case backgroundEnds:
		s.backgroundLeaves(int64(e.number))
	case hostChanges:
		s.hostChange(s.intruders.host)
		s.nextHost()
	case linkChanges:
		s.net.net.SetCapacity(s.now, s.intruders.link.Link, s.intruders.link.Mbps)
		s.nextLink()
	case loadChanges:
		s.loadChange(s.intruders.load)
		s.nextLoad()
	case drainChanges:
		s.drainChange(s.intruders.drain)
		s.nextDrain()
	case pollDue:
		s.pollClusters()
		s.agenda.addEntry(s.now.Add(s.cfg.PollEvery), pollDue, entry{})
	}
}

// backgroundJob starts a job of a local user: through the cluster's own queue
// if it has one, else on what is really idle, as much as it finds of what it
// wants.
func (s *Simulator) backgroundJob(j BackgroundJob) {
	s.intruders.last--
	id := s.intruders.last
	st := s.sites[j.Cluster]
	f := foreignJob{cluster: j.Cluster, run: j.Run, size: min(j.Procs, st.procs)}
	if st.queue != nil {
		if st.queue.Submit(s.now, localq.Job{ID: id, Procs: f.size, Estimate: f.run}) == nil {
			s.intruders.running[id] = f
			st.foreign += f.size
			st.touched, st.news = true, true
		}
		return
	}
	f.procs = st.idleFromTop(j.Procs)
	if len(f.procs) == 0 {
		return // everything is taken: a local user with nothing to use goes away
	}
	st.markOwner(f.procs, foreignOwner, true)
	s.intruders.running[id] = f
	s.agenda.addEntry(s.now.Add(j.Run), backgroundEnds, entry{number: int32(id)})
}

// foreignStarts: the cluster's own queue starts a background job.
func (s *Simulator) foreignStarts(id int64) {
	s.agenda.addEntry(s.now.Add(s.intruders.running[id].run), backgroundEnds, entry{number: int32(id)})
}

func (s *Simulator) backgroundLeaves(id int64) {
	f := s.intruders.running[id]
	delete(s.intruders.running, id)
	st := s.sites[f.cluster]
	if st.queue != nil {
		st.queue.EndJob(s.now, id)
		st.foreign -= f.size
		st.touched, st.news = true, true
		return
	}
	st.markOwner(f.procs, foreignOwner, false)
}

// hostChange takes a host away or gives it back. In a cluster with a queue of
// its own only the number of processors changes: its manager drains.
func (s *Simulator) hostChange(h HostChange) {
	st := s.sites[h.Cluster]
	host := &st.hosts[st.rank[h.Host]]
	if host.down != h.Up {
		return // it is so already
	}
	host.down = !h.Up
	kind, procs := core.HostsDown, core.ProcSet{host.procs}
	n := -procs.CountProcs()
	if h.Up {
		kind, n = core.HostsUp, -n
	}
	if st.queue != nil {
		st.queue.SetCapacity(s.now, st.queue.Capacity()+n)
		st.touched = true
	}
	st.markOwner(procs, down, host.down)
	s.tellEngine(core.Input{Kind: kind, Cluster: h.Cluster, Procs: procs})
}

// drainChange tells the engine that a cluster is drained, or used again: nothing else
// happens to it.
func (s *Simulator) drainChange(c DrainChange) {
	in := core.Input{Kind: core.UndrainCluster, Cluster: c.Cluster, Drain: &core.Drain{}}
	if c.Drained {
		in.Kind = core.DrainCluster
	}
	s.tellEngine(in)
}

// pollClusters shows the engine what others use, where that has changed.
func (s *Simulator) pollClusters() {
	for i, st := range s.sites {
		if !st.news {
			continue
		}
		if before := st.polled; !slices.Equal(before, st.pollForeign()) {
			s.tellEngine(core.Input{Kind: core.Polled, Cluster: core.ClusterID(i), Procs: st.polled})
		}
	}
}
