package malleable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// fatal is what testing and rapid have in common.
type fatal interface{ Fatal(args ...any) }

// job is a malleable job that runs in the test cluster.
type job struct{ size, least, most, refused int }

// cluster is a cluster of the given number of processors in which these jobs
// run, number 1 started first.
func cluster(t fatal, procs int, jobs ...job) (*world.World, *world.Cluster) {
	w := world.New(world.Spec{Clusters: []world.ClusterSpec{{Name: "a",
		Hosts: []world.HostSpec{{Procs: procs, Speed: 1}}}}})
	c := w.Cluster(0)
	for i, j := range jobs {
		id := core.JobID(i + 1)
		spec := &core.Job{ID: id, Kind: core.Malleable, App: "gadget",
			Components: []core.Component{{Min: j.least, Max: j.most}}}
		apply(t, w,
			core.Event{Kind: core.JobSubmitted, Job: id, Spec: spec},
			core.Event{Kind: core.PartPlanned, Job: id, Epoch: 1, N: j.size, Min: j.least, Max: j.most,
				Procs: c.ChooseProcs(j.size, nil)},
			core.Event{Kind: core.JobBecame, Job: id, From: core.Submitted, To: core.Selected},
			core.Event{Kind: core.JobBecame, Job: id, From: core.Selected, To: core.Queued},
			core.Event{Kind: core.JobBecame, Job: id, From: core.Queued, To: core.Running})
		if j.refused > 0 {
			apply(t, w,
				core.Event{Kind: core.PartOffered, Job: id, Epoch: 1, N: j.refused, Procs: c.ChooseProcs(j.refused, nil),
					When: core.Never, Serial: 1},
				core.Event{Kind: core.PartAnswered, Job: id, Epoch: 1, Serial: 1})
		}
	}
	return w, c
}

func apply(t fatal, w *world.World, events ...core.Event) {
	for _, ev := range events {
		if err := w.ApplyEvent(&ev); err != nil {
			t.Fatal(err)
		}
	}
}

// offers writes offers as job+N or job-N, by job.
func offers(list []Offer) string {
	var words []string
	for _, o := range list {
		words = append(words, fmt.Sprintf("%d%+d", o.Part.Job().Spec().ID, o.N))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
