package sim

import (
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/contract"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Programs with a contract: what is predicted of them, how their phases end, and what it costs to save, move and start
// them again. As on a live cluster the monitor is the program's own: the engine hears only of violations.

// Moves is what saving, moving and starting programs costs. The zero value costs nothing.
type Moves struct {
	WriteMbps float64       // at which a checkpoint is written, and read within a cluster
	Start     time.Duration // of the program
	Schedule  time.Duration
	Weather   time.Duration
	Other     time.Duration
	// Noise is by which part the true times differ from the predicted ones at most, drawn from Seed.
	Noise float64
	Seed  uint64
}

// LoadChange is programs of somebody else that keep a host busy from a moment on.
type LoadChange struct {
	At       core.Time
	Cluster  core.ClusterID
	Host     int // as the platform lists it
	Programs int
}

// predictedTotal is how many seconds the whole program would take on processors, as a model of it says that was made on
// hosts like these, with the load that is on them now.
func (s *Simulator) predictedTotal(t *task, c core.ClusterID, procs core.ProcSet, size int) float64 {
	return t.totalWork() / t.rateAt(size, s.sites[c].speedOf(procs)) * t.job.App.PredictionFactor()
}

// moveCost is what it is predicted to cost to move a task between clusters.
func (s *Simulator) moveCost(t *task, from, to core.ClusterID) core.MoveCost {
	m, megabits := &s.cfg.Moves, float64(t.job.App.Data)*8/1e6
	if m.WriteMbps == 0 && m.Start+m.Schedule+m.Weather+m.Other == 0 {
		return core.MoveCost{} // nobody says what moves cost
	}
	cost := core.MoveCost{Weather: m.Weather.Seconds(), Schedule: m.Schedule.Seconds(), Start: m.Start.Seconds(),
		Other: m.Other.Seconds()}
	if m.WriteMbps > 0 {
		cost.Write, cost.Redistribute = megabits/m.WriteMbps, megabits/m.WriteMbps
	}
	route, ok := s.cfg.Platform.FindRoute(platform.FrontEndOf(int(from)), platform.FrontEndOf(int(to)))
	if ok && from != to && route.Mbps > 0 && !math.IsInf(route.Mbps, 1) {
		cost.Redistribute = max(cost.Redistribute, route.Latency().Seconds()+megabits/route.Mbps)
	}
	return cost
}

// moveNoise is by which factor the true time of a step of a move differs from the predicted one.
func (s *Simulator) moveNoise(t *task, step uint64) float64 {
	m := &s.cfg.Moves
	x := workload.HashFraction(m.Seed, uint64(t.job.Spec.ID), uint64(t.epoch)<<8|step)
	return 1 + m.Noise*(2*x-1)
}

// assessTask tells the engine what is predicted of a task, where it is and elsewhere.
func (s *Simulator) assessTask(t *task, c *core.Command) {
	a := &core.Assessment{Promise: s.predictedTotal(t, c.Cluster, c.Procs, c.N)}
	bias := 1.0
	if t.running && t.monitor != nil {
		a.Promise, a.Done, a.Left = t.promise, t.progress.DonePart(s.now), t.monitor.Left()
		a.Spread, a.Phases = t.monitor.Evidence()
		bias = t.monitor.Bias()
	} else {
		t.promise = a.Promise
	}
	if t.running && (t.monitor == nil || !t.monitor.HasRatios()) {
		a.Left = a.Promise * (1 - a.Done)
	}
	for _, to := range s.eng.World().Clusters() {
		if to.ID() != c.Cluster {
			a.Options = s.addOptions(a.Options, t, c.Cluster, to, bias*(1-a.Done))
		}
	}
	s.tellEngine(core.Input{Kind: core.Assessed, Job: c.Job, Epoch: c.Epoch, Assessment: a})
}

// maxSizesTried bounds how many sizes are looked at in a cluster.
const maxSizesTried = 64

// addOptions appends a place in a cluster for each size that a task could have there.
func (s *Simulator) addOptions(list []core.MoveOption, t *task, from core.ClusterID, to *world.Cluster,
	part float64) []core.MoveOption {
	comp := &t.job.Spec.Components[0]
	most := min(comp.Max, to.AvailableProcs())
	cost := s.moveCost(t, from, to.ID())
	for size := most; size >= comp.Min && size > most-maxSizesTried; size-- {
		procs := to.ChooseProcs(size, nil)
		if to.IsManaged() {
			procs = nil
		}
		o := core.MoveOption{Cluster: to.ID(), Size: size, Procs: procs,
			Left: s.predictedTotal(t, to.ID(), procs, size) * part}
		if t.running {
			o.Cost = cost
		}
		list = append(list, o)
	}
	return list
}

// beginContract begins to watch a program that runs from a moment on.
func (s *Simulator) beginContract(t *task, from core.Time) {
	t.monitor = nil
	if t.job.Spec.Contract == nil || len(t.parts) != 1 || t.job.App.Phases == 0 ||
		t.job.Spec.Kind == core.Malleable {
		return
	}
	m, err := contract.New(t.job.Spec.Contract, t.promise, t.saved)
	if err != nil {
		return // nothing was promised
	}
	t.monitor, t.phaseFrom = m, from
	s.expectPhase(t)
}

// expectPhase schedules the end of the phase that a program is in.
func (s *Simulator) expectPhase(t *task) {
	if t.monitor == nil {
		return
	}
	if next := app.NextPhase(t.monitor.Done(), t.job.App.Phases); next < 1 {
		s.agenda.addEntry(t.progress.TimeOfPart(next), phaseEnds, entry{task: t, version: t.version})
	}
}

// endPhase shows the monitor what a phase took.
func (s *Simulator) endPhase(t *task) {
	done := app.NextPhase(t.monitor.Done(), t.job.App.Phases)
	found := t.monitor.Observe(done, s.now.Sub(t.phaseFrom).Seconds())
	t.phaseFrom = s.now
	if found == contract.Violated {
		_, limit := t.monitor.Limits()
		s.tellEngine(core.Input{Kind: core.ContractBroken, Job: t.job.Spec.ID, Epoch: t.epoch, Done: done,
			Why: core.Reason{Code: core.ContractViolated, A: t.monitor.Last(), B: limit}})
	}
	s.expectPhase(t)
}

// changePace lets a program go on at the speed that its hosts have now.
func (s *Simulator) changePace(t *task) {
	rate := t.workRate(s.taskSpeed(t))
	if rate == t.progress.CurrentRate() {
		return
	}
	t.version++
	t.progress.SetRate(s.now, rate, 0)
	s.agenda.addEntry(t.progress.FinishTime(), jobEnds, entry{task: t, version: t.version})
	s.expectPhase(t)
	s.reportLater(t, 0)
}

// loadChange gives a host another load.
func (s *Simulator) loadChange(l LoadChange) {
	st := s.sites[l.Cluster]
	st.hosts[st.rank[l.Host]].load = l.Programs
	st.isLoaded = slices.ContainsFunc(st.hosts, func(h siteHost) bool { return h.load > 0 })
	var running []core.JobID
	for id, t := range s.tasks { // order-free: sorted below
		isThere := slices.ContainsFunc(t.parts, func(p taskPart) bool { return p.cluster == l.Cluster })
		if isThere && t.running && !t.saving && !t.suspended {
			running = append(running, id)
		}
	}
	slices.Sort(running)
	for _, id := range running {
		s.changePace(s.tasks[id])
	}
}

// beginSaving stops a program that writes a checkpoint first, and reports whether that takes time.
func (s *Simulator) beginSaving(t *task) bool {
	if t.saving {
		return true
	}
	cost := s.moveCost(t, t.parts[0].cluster, t.parts[0].cluster).Write
	if cost == 0 {
		return false
	}
	t.saved, t.saving = t.progress.DonePart(s.now), true
	t.progress.SetRate(s.now, 0, 0)
	t.version++
	took := core.DurationFromSeconds(cost * s.moveNoise(t, 1))
	s.agenda.addEntry(s.now.Add(took), saveEnds, entry{task: t, version: t.version})
	return true
}

// restartPause is how long a program that goes on elsewhere stands still until it has its data.
func (s *Simulator) restartPause(t *task) time.Duration {
	if t.saved == 0 || t.lastCluster == core.Nowhere {
		return 0
	}
	cost := s.moveCost(t, t.lastCluster, t.parts[0].cluster)
	cost.Write = 0
	return core.DurationFromSeconds(cost.TotalSeconds() * s.moveNoise(t, 2))
}
