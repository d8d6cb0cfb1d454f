package broker

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// salvageFiles sees to it that what there is of the files of a job that did not run to
// its end comes home too: what its program left when it was cancelled, or else what
// its newest checkpoint has. What is lost is said.
func (t *turn) salvageFiles(j *job, ev *core.Event) {
	lost := ev.To == core.Failed && (ev.Why.Code == core.RetriesUsedUp || ev.Why.Code == core.NotStartedAgain)
	if ev.To != core.Cancelled && !lost || j.spec.Workdir == "" {
		return
	}
	if j.rec.Started == 0 {
		if ev.From == core.Queued && t.startsAtOnce(j) {
			t.explainJob(j, "results", "no results", "it was cancelled before its agent said whether its program had started",
				nil)
			j.rec.Lost = true
		}
		return
	}
	if j.rec.Result == "" && len(j.saved) > 0 {
		newest := &j.saved[0]
		j.rec.FromCheckpoint, j.rec.Partial = newest.N, true
		if newest.Work != j.rec.Work {
			j.rec.Result = newest.Work
		}
		return
	}
	j.rec.Partial = j.rec.Result != ""
	if !j.toldEnd {
		t.explainJob(j, "results", "no results",
			"its last attempt was lost, or given up, before its files could be copied back", nil)
		j.rec.Lost = true
	}
}

// startsAtOnce reports whether a job that was handed to its cluster may run by now
// though its agent has not said so: the cluster has no queue of its own.
func (t *turn) startsAtOnce(j *job) bool {
	c := t.b.clusterNamed(j.rec.Cluster)
	return c != nil && !c.Managed
}
