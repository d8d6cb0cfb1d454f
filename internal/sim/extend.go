package sim

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
)

// firstHolder is the number, among the parts of a job, of its first holding job: one that the cluster's own queue runs
// on one processor for a part that grows.
const firstHolder = partsPerJob / 2

// extension is what a part holds, in a cluster with a queue of its own, besides the processors that it began with.
type extension struct {
	until   core.Time // by then it is expected to be over
	granted []int64   // holding jobs, by their numbers in the queue
	early   []int64   // those that run, while others of the same offer still wait
	waiting []int64
	number  uint32 // of the acquisition that these two are about
	serial  int    // of its offer
}

// acquireProcs has the queue of a cluster run holding jobs for what a part has accepted.
func (s *Simulator) acquireProcs(t *task, c *core.Command) {
	if !t.running {
		return
	}
	x, st := &t.parts[c.Part].more, s.sites[c.Cluster]
	s.acquisitions++
	x.number, x.serial = s.acquisitions, c.Serial
	for range c.N {
		id := queueID(c.Job, firstHolder+t.holders%firstHolder)
		t.holders++
		// Its number is new and its size 1: an error would be a mistake of ours.
		if err := st.queue.Submit(s.now, localq.Job{ID: id, Procs: 1, Estimate: max(0, x.until.Sub(s.now))}); err != nil {
			panic("sim: " + err.Error())
		}
		x.waiting = append(x.waiting, id)
	}
	st.touched = true
	s.agenda.addEntry(c.Due, grantDue, entry{task: t, version: x.number, number: int32(c.Part)})
}

// isAwaited reports whether an acquisition still is.
func (e *entry) isAwaited() bool {
	i := int(e.number)
	return i < len(e.task.parts) && e.task.parts[i].more.number == e.version && len(e.task.parts[i].more.waiting) > 0
}

// holderStarts: the queue of a cluster has started a holding job. With the last of an offer the part has it all.
func (s *Simulator) holderStarts(t *task, id int64) {
	for i := range t.parts {
		x := &t.parts[i].more
		if k := slices.Index(x.waiting, id); k >= 0 {
			x.waiting, x.early = slices.Delete(x.waiting, k, k+1), append(x.early, id)
			if len(x.waiting) == 0 {
				s.grantProcs(t, i)
			}
			return
		}
	}
}

// grantProcs hands a part the processors that the queue has given it by now, and gives up those that it has not.
func (s *Simulator) grantProcs(t *task, part int) {
	p := &t.parts[part]
	x, done := &p.more, t.progress.DonePart(s.now)
	s.endHolders(p, x.waiting)
	n := len(x.early)
	x.granted = append(x.granted, x.early...)
	x.waiting, x.early = nil, nil
	in := core.Input{Kind: core.Granted, Job: t.job.Spec.ID, Epoch: t.epoch, Part: part, N: n, Serial: x.serial,
		Done: done}
	also := 0
	if p.size += n; n > 0 {
		if also = min(n, t.totalSize()-t.job.App.Accept.UsableSize(t.totalSize())); len(t.parts) > 1 {
			also = 0
		}
		s.dropProcessors(p, also)
		s.resumeResized(t)
	}
	s.tellEngine(in)
	if also > 0 { // it was to be more
		s.tellEngine(core.Input{Kind: core.GiveBack, Job: t.job.Spec.ID, Epoch: t.epoch, Part: part, N: also})
	}
}

// endHolders ends holding jobs of a part, whether they run or wait.
func (s *Simulator) endHolders(p *taskPart, ids []int64) {
	st := s.sites[p.cluster]
	for _, id := range ids {
		st.queue.CancelJob(s.now, id)
		st.touched = true
	}
}

// endAllHolders ends all of them.
func (s *Simulator) endAllHolders(p *taskPart) {
	for _, ids := range [][]int64{p.more.granted, p.more.early, p.more.waiting} {
		s.endHolders(p, ids)
	}
}
