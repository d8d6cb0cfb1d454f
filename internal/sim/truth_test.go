package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
)

func policyNamed(name string) malleable.Policy { return malleable.ByName(name) }

// truth compares the grid as it is with the engine's world at the end of an
// instant: no processor has two users, every task runs where the engine thinks
// it does, and the clusters' own queues count the same.
func (s *Simulator) truth() error {
	if s.told != len(s.inbox) {
		return fmt.Errorf("%d inputs are not told", len(s.inbox)-s.told)
	}
	users := make([]map[int32]string, len(s.sites))
	queued := make([]int, len(s.sites))
	for i := range users {
		users[i] = map[int32]string{}
	}
	running := 0
	for _, id := range slices.Sorted(maps.Keys(s.tasks)) {
		t := s.tasks[id]
		if t.running {
			running++
		}
		if err := s.taskTruth(t, users, queued); err != nil {
			return fmt.Errorf("job %d: %w", id, err)
		}
	}
	if running != s.running {
		return fmt.Errorf("%d tasks run, counted %d", running, s.running)
	}
	if live := s.eng.World().LiveCount(); live != len(s.tasks) {
		return fmt.Errorf("%d tasks, the engine knows %d jobs", len(s.tasks), live)
	}
	for id, f := range s.intruders.running { // order-free: sums and sets
		if s.sites[f.cluster].queue == nil {
			if err := use(users[f.cluster], f.procs, fmt.Sprintf("background job %d", id)); err != nil {
				return err
			}
		}
	}
	for i, st := range s.sites {
		if err := s.siteTruth(st, users[i], queued[i]); err != nil {
			return fmt.Errorf("cluster %d: %w", i, err)
		}
	}
	return nil
}

func (s *Simulator) taskTruth(t *task, users []map[int32]string, queued []int) error {
	id := t.job.Spec.ID
	j := s.eng.World().Job(id)
	switch {
	case j == nil:
		return fmt.Errorf("the engine does not know it")
	case t.running != (j.State() == core.Running):
		return fmt.Errorf("runs is %v, but to the engine it is %s", t.running, j.State())
	case t.running && (t.epoch != j.Epoch() || len(t.parts) != len(j.Parts())):
		return fmt.Errorf("runs in epoch %d with %d parts, the engine has %d and %d", t.epoch, len(t.parts), j.Epoch(),
			len(j.Parts()))
	}
	for i := range t.parts {
		p := &t.parts[i]
		if err := use(users[p.cluster], p.procs, fmt.Sprintf("job %d", id)); err != nil {
			return err
		}
		if s.sites[p.cluster].queue != nil {
			queued[p.cluster] += p.size + len(p.more.early)
		}
		switch {
		case t.running && (p.cluster != j.Part(i).Cluster().ID() || p.size != j.Part(i).Size()):
			return fmt.Errorf("part %d runs with %d in cluster %d, the engine has %d in %d",
				i, p.size, p.cluster, j.Part(i).Size(), j.Part(i).Cluster().ID())
		case len(p.procs) > 0 && !slices.Equal(p.procs, j.Part(i).Procs()):
			return fmt.Errorf("part %d holds %v, the engine has %v", i, p.procs, j.Part(i).Procs())
		case len(p.procs) > 0 && p.procs.CountProcs() != p.size:
			return fmt.Errorf("part %d of size %d holds %v", i, p.size, p.procs)
		}
	}
	return nil
}

func (s *Simulator) siteTruth(st *site, users map[int32]string, queued int) error {
	if st.queue != nil {
		waiting := 0
		for _, f := range s.intruders.running { // order-free: a sum
			if s.sites[f.cluster] == st {
				waiting += f.size
			}
		}
		switch {
		case waiting != st.foreign:
			return fmt.Errorf("background jobs have %d processors, counted %d", waiting, st.foreign)
		case st.touched:
			return fmt.Errorf("its queue was not looked at")
		case st.queue.Len() == 0 && max(st.queue.Capacity()-queued-waiting, 0) != st.queue.FreeProcs():
			return fmt.Errorf("%d of %d processors are free, but jobs have %d and others %d", st.queue.FreeProcs(),
				st.queue.Capacity(), queued, waiting)
		}
		return nil
	}
	for p, by := range st.owner {
		if _, used := users[int32(p)]; used != (by&(ownJobs|foreignOwner) != 0) {
			return fmt.Errorf("processor %d is marked %b, used is %v", p, by, used)
		}
	}
	return nil
}

// use notes who uses processors.
func use(users map[int32]string, procs core.ProcSet, who string) error {
	for _, r := range procs {
		for p := r.Lo; p < r.Hi; p++ {
			if other, taken := users[p]; taken {
				return fmt.Errorf("processor %d is used by %s and %s", p, min(who, other), max(who, other))
			}
			users[p] = who
		}
	}
	return nil
}
