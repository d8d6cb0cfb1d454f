package place

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// grid describes a small grid for a table of cases.
type grid struct {
	sizes    []int
	busy     []int // processors used by others
	keep     []int // kept free for local users
	managed  []bool
	speed    []float64
	memory   []int64
	files    []world.FileSpec
	paths    [][]world.Path
	waiting  int   // other jobs in the placement queue
	inQueues []int // processors that wait in the clusters' own queues
}

// fatal is what testing and rapid have in common.
type fatal interface{ Fatal(args ...any) }

func at[T any](list []T, i int, otherwise T) T {
	if i < len(list) {
		return list[i]
	}
	return otherwise
}

func (g grid) world(t fatal) *world.World {
	spec := world.Spec{Files: g.files, Paths: g.paths}
	for i, n := range g.sizes {
		spec.Clusters = append(spec.Clusters, world.ClusterSpec{
			Name: string(rune('a' + i)), KeepFree: at(g.keep, i, 0), Managed: at(g.managed, i, false),
			Hosts: []world.HostSpec{{Procs: n, Speed: at(g.speed, i, 1), Memory: at(g.memory, i, 0)}},
		})
	}
	w := world.New(spec)
	apply := func(ev core.Event) {
		if err := w.ApplyEvent(&ev); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range g.busy {
		if n > 0 {
			apply(core.Event{Kind: core.OthersPolled, Cluster: core.ClusterID(i), Procs: core.ProcSet{{Lo: 0, Hi: int32(n)}}})
		}
	}
	id := core.JobID(1000)
	submit := func(n int) {
		id++
		apply(core.Event{Kind: core.JobSubmitted, Job: id,
			Spec: &core.Job{ID: id, Components: []core.Component{{Min: n, Max: n}}}})
	}
	for range g.waiting {
		submit(1)
		apply(core.Event{Kind: core.JobEnqueued, Job: id})
	}
	for i, left := range g.inQueues {
		for left > 0 {
			n := min(left, g.sizes[i])
			submit(n)
			apply(core.Event{Kind: core.PartPlanned, Job: id, Epoch: 1, Cluster: core.ClusterID(i), N: n, Min: n, Max: n})
			apply(core.Event{Kind: core.JobBecame, Job: id, From: core.Submitted, To: core.Selected})
			left -= n
		}
	}
	return w
}

func (g grid) view(t fatal) world.View { return g.world(t).ViewFor(0, 1) }

// rigid is a job with a component of each size.
func rigid(sizes ...int) *core.Job {
	j := &core.Job{ID: 1}
	for _, n := range sizes {
		j.Components = append(j.Components, core.Component{Min: n, Max: n})
	}
	return j
}

func flexible(kind core.Kind, comps ...core.Component) *core.Job {
	return &core.Job{ID: 1, Kind: kind, Components: comps}
}

// spots writes choices as component:cluster:size, in order.
func spots(list []Choice) string {
	s := ""
	for i, c := range list {
		if i > 0 {
			s += " "
		}
		s += string(rune('0'+c.Component)) + string(rune('a'+int(c.Cluster))) + itoa(c.Size)
	}
	return s
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

type placement struct {
	name string
	grid grid
	job  *core.Job
	want string // spots; empty if it has no place
	why  string // how the reason begins
}

func (c placement) run(t *testing.T, policy core.PlacePolicy) {
	t.Run(c.name, func(t *testing.T) {
		before := []Choice{{Component: 7, Cluster: 7, Size: 7}}
		got, why, ok := Place(c.grid.view(t), c.job, policy, before)
		if len(got) == 0 || got[0] != before[0] {
			t.Fatalf("what was there before is gone: %v", got)
		}
		if ok != (c.want != "") || spots(got[1:]) != c.want {
			t.Errorf("placed %v at %q, want %q: %v", ok, spots(got[1:]), c.want, why)
		}
		if s := why.String(); len(s) < len(c.why) || s[:len(c.why)] != c.why {
			t.Errorf("because %q, want %q", s, c.why)
		}
	})
}
