// Package place decides where the components of a job run: worst fit, close
// to files, cluster minimisation, flexible cluster minimisation (papers/001,
// section IV-A) and, of our own, best chance of the deadline. A policy is a
// function of a read-only view and returns its choice with the reason; all
// components get a place or none does. It must not know how a choice is
// carried out.
package place

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

// Choice is the place of one part of a job.
type Choice struct {
	Component int
	Cluster   core.ClusterID
	Size      int
	Min, Max  int // within which it may change while running
}

// Place chooses places for all components of a job and appends them to dst.
// If it cannot, it reports false and says why.
func Place(v world.View, job *core.Job, policy core.PlacePolicy, dst []Choice) ([]Choice, core.Reason, bool) {
	switch policy {
	case core.ClusterMin:
		return clusterMin(v, job, dst)
	case core.FlexibleMin:
		return flexibleMin(v, job, dst)
	case core.CloseToFiles:
		return oneByOne(v, job, closeToFiles, dst)
	case core.DeadlineFirst:
		return oneByOne(v, job, bestChance, dst)
	default:
		return oneByOne(v, job, worstFit, dst)
	}
}

// EverFits reports whether the job could be placed if nobody else were there,
// and otherwise the most that one of its components could get.
func EverFits(v world.View, job *core.Job, policy core.PlacePolicy) (most int, ok bool) {
	if policy == core.FlexibleMin {
		for _, c := range v.Clusters() {
			if eligible(&job.Components[0], c) {
				most += c.Usable()
			}
		}
		return most, most >= job.MinSize()
	}
	for i := range job.Components {
		most = 0
		for _, c := range v.Clusters() {
			if eligible(&job.Components[i], c) {
				most = max(most, c.Usable())
			}
		}
		if most < job.Components[i].Min {
			return most, false
		}
	}
	return most, true
}

// eligible reports whether the cluster meets the component's requirements.
func eligible(comp *core.Component, c *world.Cluster) bool {
	if len(comp.Clusters) > 0 && !slices.Contains(comp.Clusters, c.ID()) {
		return false
	}
	if comp.Memory > 0 {
		if m := c.Memory(); m > 0 && m < comp.Memory {
			return false
		}
	}
	return true
}

// spot is one cluster considered for one component.
type spot struct {
	view    world.View
	job     *core.Job
	comp    *core.Component
	cluster *world.Cluster
	room    int // processors it could be given now
}

// score ranks spots: higher first, more of the later where the earlier are
// equal.
type score struct{ first, second, third float64 }

func (s score) better(t score) bool {
	switch {
	case s.first != t.first:
		return s.first > t.first
	case s.second != t.second:
		return s.second > t.second
	}
	return s.third > t.third
}

// ranking scores a spot and says why it would be chosen; false leaves it out.
type ranking func(s spot) (score, core.Reason, bool)

// oneByOne places the largest component first, each on the spot that ranks
// highest among those with room. A cluster with a queue of its own always has
// room in that queue; it is taken only where nothing is free at once.
func oneByOne(v world.View, job *core.Job, rank ranking, dst []Choice) ([]Choice, core.Reason, bool) {
	if len(job.Components) == 1 {
		ch, why, ok := pick(v, job, 0, nil, rank)
		if !ok {
			return dst, why, false
		}
		return append(dst, ch), why, true
	}
	taken := make([]int, len(v.Clusters()))
	start := len(dst)
	var why core.Reason
	for _, i := range largestFirst(job) {
		ch, w, ok := pick(v, job, i, taken, rank)
		if !ok {
			return dst[:start], w, false
		}
		taken[ch.Cluster] += ch.Size
		dst, why = append(dst, ch), w
	}
	return dst, why, true
}

func largestFirst(job *core.Job) []int {
	order := make([]int, len(job.Components))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return job.Components[b].Min - job.Components[a].Min })
	return order
}

// pick chooses the best spot for component i.
func pick(v world.View, job *core.Job, i int, taken []int, rank ranking) (Choice, core.Reason, bool) {
	comp := &job.Components[i]
	var best, second score
	var why core.Reason
	var chosen spot
	found, runnerUp, queues := false, false, true
	widest := 0
	for id, c := range v.Clusters() {
		if !eligible(comp, c) {
			continue
		}
		s := spot{view: v, job: job, comp: comp, cluster: c, room: v.Room(c)}
		if taken != nil {
			s.room -= taken[id]
		}
		widest = max(widest, s.room)
		waits := s.room < comp.Min
		if waits && (!c.Managed() || comp.Min > c.Usable() || found && !queues) {
			continue
		}
		sc, w, ok := rank(s)
		if !ok {
			continue
		}
		if !found || queues && !waits || sc.better(best) {
			second, runnerUp = best, found && queues == waits
			best, why, chosen, found, queues = sc, w, s, true, waits
		} else if !runnerUp || sc.better(second) {
			second, runnerUp = sc, true
		}
	}
	if !found {
		return Choice{}, core.Reason{Code: core.NoRoom, A: float64(comp.Min), B: float64(widest)}, false
	}
	switch {
	case queues:
		why = core.Reason{Code: core.ShortestQueue, A: float64(-chosen.cluster.Idle())}
	case !runnerUp:
		why.B = 0
	case why.Code == core.MostIdle:
		why.B = second.first
	}
	return Choice{Component: i, Cluster: chosen.cluster.ID(), Size: firstSize(chosen), Min: comp.Min, Max: min(comp.Max, chosen.cluster.Usable())}, why, true
}

// firstSize is the size at which a component starts: what it asks for, else an
// equal share of what is idle with the jobs that wait behind it (papers/001,
// V-B: from the processors available).
func firstSize(s spot) int {
	if s.job.Kind == core.Rigid {
		return s.comp.Min
	}
	want := s.comp.Initial
	if want == 0 {
		room := s.room
		if s.view.Reclaim {
			room = s.comp.Min // taking from others is for the minimum only
		}
		want = room / (1 + s.view.Waiting())
	}
	return max(s.comp.Min, min(want, s.comp.Max, s.room))
}
