package flowrun

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// unknownSeconds is how long a task is taken to run of which nothing is known: what the
// first of its kind took says more.
const unknownSeconds = 10.0

// minWork is the seconds that every task takes at least: no plan is to begin all at
// once because each takes no time.
const minWork = 0.01

// BuildDAG is the workflow as planning sees it, on clusters, each given as a host whose
// class is its place in the list; and how many times the work over the speed single
// kinds of tasks take on single clusters. known is what earlier runs say, one for each
// task; nil: nothing. A task that ran before as it is takes as long as it took then,
// whatever its estimate says; runs with other arguments say less than an estimate.
func BuildDAG(f *flowfile.Flow, hosts []flow.Host,
	known []api.Estimate) (*flow.DAG, func(kind, class int) float64, error) {
	tasks := make([]flow.Task, len(f.Tasks))
	prior := make([]float64, len(f.Kinds)*len(hosts))
	for i := range prior {
		prior[i] = 1
	}
	for i := range f.Tasks {
		t := &f.Tasks[i]
		width := max(1, t.Job.Min)
		x := flow.Task{Name: t.ID, Work: unknownSeconds, Wide: width, Kind: t.Kind}
		if e := earlierRun(f, i, known); e != nil {
			x.Work = max(*e.RunS, minWork)
			for h := range hosts { // what it waits takes as long on any host
				prior[t.Kind*len(hosts)+h] = e.Waiting*hosts[h].Speed + 1 - e.Waiting
			}
		} else if t.Estimate > 0 {
			x.Work = t.Estimate.Seconds() / float64(width)
		}
		if len(t.On) > 0 {
			x.Work = referenceWork(t.On, hosts)
			for h := range hosts {
				if on := t.On[hosts[h].Name]; on > 0 {
					prior[t.Kind*len(hosts)+h] = on.Seconds() * hosts[h].Speed / x.Work
				}
			}
		}
		if len(t.Job.On) > 0 {
			x.Only = make([]bool, len(hosts))
			for h := range hosts {
				x.Only[h] = slices.Contains(t.Job.On, hosts[h].Name)
			}
		}
		tasks[i] = x
	}
	edges := make([]flow.Edge, len(f.Needs))
	for i, n := range f.Needs {
		edges[i] = flow.Edge{From: n.From, To: n.To, Bytes: float64(n.Bytes), Files: n.Files}
	}
	d, err := flow.NewDAG(tasks, edges)
	return d, func(kind, class int) float64 { return prior[kind*len(hosts)+class] }, err
}

// earlierRun is what a task takes by earlier runs; nil if there are none, or its estimate
// says more.
func earlierRun(f *flowfile.Flow, task int, known []api.Estimate) *api.Estimate {
	if task >= len(known) || known[task].RunS == nil || f.Tasks[task].Estimate > 0 && !known[task].Same {
		return nil
	}
	return &known[task]
}

// WaitingParts is which part of its time on a cluster, with processors of its own, each
// kind of tasks waited for something else, by the earlier runs that BuildDAG counts with.
func WaitingParts(f *flowfile.Flow, hosts []flow.Host, known []api.Estimate) func(kind, class int) float64 {
	parts := make([]float64, len(f.Kinds)*len(hosts))
	for i := range f.Tasks {
		e := earlierRun(f, i, known)
		if e == nil || !(e.Waiting > 0) || len(f.Tasks[i].On) > 0 {
			continue
		}
		for h := range hosts {
			waits, computes := e.Waiting, (1-e.Waiting)/hosts[h].Speed
			parts[f.Tasks[i].Kind*len(hosts)+h] = waits / (waits + computes)
		}
	}
	return func(kind, class int) float64 { return parts[kind*len(hosts)+class] }
}

// referenceWork is the work of a task that is known on some clusters: the middle of what
// these tell.
func referenceWork(on map[string]time.Duration, hosts []flow.Host) float64 {
	sum, n := 0.0, 0.0
	for h := range hosts {
		if d := on[hosts[h].Name]; d > 0 {
			sum += math.Log(d.Seconds() * hosts[h].Speed)
			n++
		}
	}
	if n == 0 {
		for _, name := range slices.Sorted(maps.Keys(on)) { // none of them is here
			return on[name].Seconds()
		}
	}
	return math.Exp(sum / n)
}
