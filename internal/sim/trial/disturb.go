package trial

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
)

// makeDisturbances hands the scenario's streams to the simulator.
func (t *Setup) makeDisturbances() *sim.Disturbances {
	s := t.Scenario
	if s == nil || len(s.Background)+len(s.Failures)+len(s.Links)+len(s.Drains)+len(s.HostLoads) == 0 {
		return nil
	}
	d := &sim.Disturbances{}
	if len(s.Background) > 0 {
		jobs := s.BackgroundJobs(t.Seed, core.Never)
		d.Background = func() (sim.BackgroundJob, bool) {
			j, ok := jobs.NextJob()
			return sim.BackgroundJob(j), ok
		}
	}
	if len(s.Failures) > 0 {
		hosts := s.HostChanges(t.Seed, core.Never)
		d.Hosts = func() (sim.HostChange, bool) {
			h, ok := hosts.NextChange()
			return sim.HostChange(h), ok
		}
	}
	if len(s.Links) > 0 {
		d.Links = linkChanges(s.Links)
	}
	if len(s.Drains) > 0 {
		d.Drains = drainChanges(s.Drains)
	}
	if loads := s.LoadChanges(); len(loads) > 0 {
		d.Loads = loadChanges(loads)
	}
	return d
}

func loadChanges(changes []scenario.LoadChange) func() (sim.LoadChange, bool) {
	return func() (sim.LoadChange, bool) {
		if len(changes) == 0 {
			return sim.LoadChange{}, false
		}
		next := changes[0]
		changes = changes[1:]
		return sim.LoadChange(next), true
	}
}

func linkChanges(changes []scenario.LinkChange) func() (sim.LinkChange, bool) {
	return func() (sim.LinkChange, bool) {
		if len(changes) == 0 {
			return sim.LinkChange{}, false
		}
		next := changes[0]
		changes = changes[1:]
		return sim.LinkChange(next), true
	}
}

func drainChanges(changes []scenario.DrainChange) func() (sim.DrainChange, bool) {
	return func() (sim.DrainChange, bool) {
		if len(changes) == 0 {
			return sim.DrainChange{}, false
		}
		next := changes[0]
		changes = changes[1:]
		return sim.DrainChange(next), true
	}
}
