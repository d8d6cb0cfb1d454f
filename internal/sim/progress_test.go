package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// integrals follows from the events alone how much work every job has done:
// its rate on the processors that it holds, summed over time, without pauses.
type integrals struct {
	sites []*site
	jobs  []workload.Job // by number, from 1
	done  map[core.JobID]*integral
}

type integral struct {
	parts   []integralPart
	runs    bool
	since   core.Time // of the last change
	paused  core.Time // until then it stands still
	amount  float64   // work done, in seconds at rate 1
	saved   float64   // of it, in the last checkpoint
	endings int       // how often it was over
}

type integralPart struct {
	cluster core.ClusterID
	size    int
	procs   core.ProcSet
	offered core.ProcSet
}

func newIntegrals(s *Simulator, jobs []workload.Job) *integrals {
	return &integrals{s.sites, jobs, map[core.JobID]*integral{}}
}

// rate is how much a job does in a second with what it holds.
func (w *integrals) rate(id core.JobID, i *integral) float64 {
	speed, size := math.Inf(1), 0
	for _, p := range i.parts {
		speed = min(speed, w.sites[p.cluster].speedOf(p.procs))
		size += p.size
	}
	if j := &w.jobs[id-1]; j.Work > 0 && j.Run == 0 {
		return j.App.WorkRate(size, speed)
	}
	return speed
}

func (w *integrals) observe(ev *core.Event) error {
	if ev.Job == 0 || ev.Kind == core.ReclaimBegan || ev.Kind == core.ReclaimEnded {
		return nil
	}
	i := w.done[ev.Job]
	if i == nil {
		i = &integral{}
		w.done[ev.Job] = i
	}
	if i.runs {
		if from := max(i.since, i.paused); ev.At > from {
			i.amount += ev.At.Sub(from).Seconds() * w.rate(ev.Job, i)
		}
		i.since = ev.At
	}
	switch ev.Kind {
	case core.PartPlanned:
		if ev.Part == 0 {
			i.parts = nil
		}
		i.parts = append(i.parts, integralPart{cluster: ev.Cluster, size: ev.N, procs: ev.Procs})
	case core.PartHeld:
		i.parts[ev.Part].procs = ev.Procs
	case core.PartOffered:
		i.parts[ev.Part].offered = ev.Procs
	case core.PartAnswered:
		i.answered(ev, w.jobs[ev.Job-1].App.Resize)
	case core.PartGaveBack:
		i.parts[ev.Part].lose(ev.N)
	case core.JobBecame:
		return w.became(i, ev)
	}
	return nil
}

func (i *integral) answered(ev *core.Event, pause time.Duration) {
	p := &i.parts[ev.Part]
	if ev.N == 0 {
		return
	}
	if ev.Grow {
		got, _ := p.offered.SplitLast(p.offered.CountProcs() - ev.N)
		p.procs, p.size = p.procs.Union(got), p.size+ev.N
	} else {
		p.lose(ev.N)
	}
	i.paused = max(i.paused, ev.At.Add(pause))
}

func (p *integralPart) lose(n int) {
	p.procs, _ = p.procs.SplitLast(n)
	p.size -= n
}

func (w *integrals) became(i *integral, ev *core.Event) error {
	switch ev.To {
	case core.Running:
		i.runs, i.since, i.paused, i.amount = true, ev.At, ev.At, i.saved
	case core.Stopped:
		i.runs = false
		if ev.Why.Code == core.SavedItself {
			i.saved = i.amount
		}
	case core.Done, core.Failed, core.Cancelled:
		i.runs = false
		i.endings++
	}
	if ev.To == core.Done {
		j := &w.jobs[ev.Job-1]
		want := j.Work
		if j.Run > 0 || j.Work == 0 {
			want = j.Run.Seconds()
		}
		if math.Abs(i.amount-want) > 1e-6*max(1, want) {
			return fmt.Errorf("job %d did %g of its work of %g", ev.Job, i.amount, want)
		}
	}
	return nil
}

// ended checks that every job was over once, except those that are left.
func (w *integrals) ended(left map[core.JobID]*task) error {
	for n := range w.jobs {
		id := core.JobID(n + 1)
		want := 1
		if left[id] != nil {
			want = 0
		}
		i := w.done[id]
		if i == nil {
			return fmt.Errorf("job %d was never seen", id)
		}
		if i.endings != want {
			return fmt.Errorf("job %d was over %d times, want %d", id, i.endings, want)
		}
	}
	return nil
}
