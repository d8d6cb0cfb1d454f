// Package place decides where the components of a job run: worst fit, close
// to files, cluster minimisation, flexible cluster minimisation (papers/001,
// section IV-A) and, of our own, best chance of the deadline. A policy is a
// function of a read-only view and returns its choice with the reason; all
// components get a place or none does. It must not know how a choice is
// carried out.
package place

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
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
	list, why, ok := placeTogether(v, job, policy, dst)
	if !ok {
		if drained, is := DrainReason(v, job, policy); is {
			why = drained
		}
	}
	return list, why, ok
}

func placeByPolicy(v world.View, job *core.Job, policy core.PlacePolicy,
	dst []Choice) ([]Choice, core.Reason, bool) {
	switch policy {
	case core.ClusterMin, core.FlexibleMin:
		minimise := clusterMin
		if policy == core.FlexibleMin {
			minimise = flexibleMin
		}
		if policy == core.FlexibleMin && v.Whole {
			minimise = placeWhole
		}
		list, why, ok := minimise(v, job, dst)
		if !ok { // nothing is free: into the queues of clusters that have one
			if queued, w, ok := oneByOne(v, job, worstFit, dst); ok {
				return queued, w, true
			}
		}
		return list, why, ok
	case core.CloseToFiles:
		return rankOrPack(v, job, closeToFiles, dst)
	case core.DeadlineFirst:
		return rankOrPack(v, job, bestChance, dst)
	default:
		return rankOrPack(v, job, worstFit, dst)
	}
}

// placeWhole: flexible cluster minimisation where jobs cannot be split.
func placeWhole(v world.View, job *core.Job, dst []Choice) ([]Choice, core.Reason, bool) {
	list, why, ok := clusterMin(v, job, dst)
	if ok {
		why = core.Reason{Code: core.PlacedWhole}
	}
	return list, why, ok
}

// rankOrPack places component by component. Where those placed first leave no
// room for the others, they are packed together: a job that fits is placed.
func rankOrPack(v world.View, job *core.Job, rank ranking, dst []Choice) ([]Choice, core.Reason, bool) {
	list, why, ok := oneByOne(v, job, rank, dst)
	if !ok && len(job.Components) > 1 {
		if packed, w, ok := clusterMin(v, job, dst); ok {
			return packed, w, true
		}
	}
	return list, why, ok
}

// AtCluster places a job of one component in a given cluster, if it can run there now.
func AtCluster(v world.View, job *core.Job, at core.ClusterID, dst []Choice) ([]Choice, bool) {
	if len(job.Components) != 1 || at < 0 || int(at) >= len(v.Clusters()) {
		return dst, false
	}
	c, comp := v.Cluster(at), &job.Components[0]
	s := spot{view: v, job: job, comp: comp, cluster: c, room: v.RoomIn(c)}
	if _, wait := CountSeats(v, c, comp); wait || !isEligible(&v, v.Job(job.ID), comp, c) || s.room < comp.Min {
		return dst, false
	}
	return append(dst, Choice{Cluster: at, Size: firstSize(s), Min: comp.Min, Max: min(comp.Max, c.UsableProcs())}), true
}

// EverFits reports whether the policy could place the job if nobody else were
// there, and otherwise why not. Whoever passes will be placed once the grid
// has drained, if not sooner.
func EverFits(v world.View, job *core.Job, policy core.PlacePolicy) (core.Reason, bool) {
	flexible := policy == core.FlexibleMin && !v.Whole
	j := v.Job(job.ID)
	for i := range job.Components {
		comp := &job.Components[i]
		need, widest, total := comp.Min, 0, 0
		for _, c := range v.Clusters() {
			if isEligible(&v, j, comp, c) {
				if c.IsUnknown() { // it may turn out to be large enough
					return core.Reason{}, true
				}
				widest = max(widest, c.UsableProcs())
				total += max(0, c.UsableProcs())
			}
		}
		if flexible {
			need, widest = job.MinSize(), total
		}
		if widest < need && total >= need && policy == core.FlexibleMin {
			return core.Reason{Code: core.NotSplit, A: float64(need), B: float64(widest)}, false
		}
		if widest < need {
			if most := mostMemory(v, job, comp, need); most > 0 && !flexible {
				const gib = 1 << 30
				return core.Reason{Code: core.NeverMemory, A: float64(comp.Memory) / gib, B: float64(most) / gib}, false
			}
			if best := mostReliable(v, job, comp); best > 0 && !flexible {
				return core.Reason{Code: core.NotReliable, A: comp.Reliability, B: best}, false
			}
			return core.Reason{Code: core.NeverFits, A: float64(need), B: float64(widest)}, false
		}
	}
	if len(job.Components) == 1 && !(flexible && job.Joint) {
		return core.Reason{}, true
	}
	v.Empty = true
	if _, _, ok := Place(v, job, policy, nil); !ok {
		return neverTogether(v, job, policy), false
	}
	return core.Reason{}, true
}

// mostMemory is the memory of the best among the clusters that have all the component
// needs but memory; 0 if there is none.
func mostMemory(v world.View, job *core.Job, comp *core.Component, need int) int64 {
	any, most := *comp, int64(0)
	any.Memory = 0
	j := v.Job(job.ID)
	for _, c := range v.Clusters() {
		if isEligible(&v, j, &any, c) && !c.MeetsRequirements(comp) && c.UsableProcs() >= need {
			most = max(most, c.SmallestMemory())
		}
	}
	return most
}

// mostReliable is the best reliability among the clusters that have all the component
// needs but that; 0 if there is none.
func mostReliable(v world.View, job *core.Job, comp *core.Component) float64 {
	if comp.Reliability == 0 {
		return 0
	}
	any, best := *comp, 0.0
	any.Reliability = 0
	j := v.Job(job.ID)
	for _, c := range v.Clusters() {
		if isEligible(&v, j, &any, c) && !c.MeetsRequirements(comp) && c.UsableProcs() >= comp.Min {
			best = max(best, c.Reliability())
		}
	}
	return best
}

// isEligible reports whether the component could run in the cluster: it meets
// the requirements, has not refused the job, the user did not choose another, and
// the input files can be brought there. j is the job, nil if it is not live.
func isEligible(v *world.View, j *world.Job, comp *core.Component, c *world.Cluster) bool {
	if at, except := v.Except.Cluster(); !c.MeetsRequirements(comp) || except && at == c.ID() ||
		slices.Contains(v.Without, c.ID()) {
		return false
	}
	if j != nil {
		if at, pinned := j.PinnedAim().Cluster(); j.IsBarred(c.ID()) || pinned && at != c.ID() {
			return false
		}
	}
	if len(comp.Inputs) == 0 {
		return true
	}
	_, reachable := v.TransferTime(comp, c.ID())
	return reachable
}

// spot is one cluster considered for one component.
type spot struct {
	view    world.View
	job     *core.Job
	comp    *core.Component
	cluster *world.Cluster
	room    int // processors it could be given now
	taken   int // that the job's other components need there
}

// score ranks spots: higher first, more of the later where the earlier are
// equal.
type score [5]float64

func (s *score) isBetter(t *score) bool {
	for i := range s {
		if s[i] != t[i] {
			return s[i] > t[i]
		}
	}
	return false
}

// ranking scores a spot and says why it would be chosen; false leaves it out.
type ranking func(s spot) (score, core.Reason, bool)

// oneByOne places the largest component first, each on the spot that ranks
// highest among those with room. A cluster with a queue of its own always has
// room in that queue; it is taken only where nothing is free at once.
func oneByOne(v world.View, job *core.Job, rank ranking, dst []Choice) ([]Choice, core.Reason, bool) {
	if len(job.Components) == 1 {
		ch, why, ok := pickSpot(v, job, 0, nil, rank)
		if !ok {
			return dst, why, false
		}
		return append(dst, ch), why, true
	}
	taken := make([]int, len(v.Clusters()))
	start := len(dst)
	var why core.Reason
	for _, i := range largestFirst(job) {
		ch, w, ok := pickSpot(v, job, i, taken, rank)
		if !ok {
			return dst[:start], w, false
		}
		taken[ch.Cluster] += ch.Min // all must have their minimum before any has more
		dst, why = append(dst, ch), w
	}
	shareRoom(v, job, dst[start:])
	return dst, why, true
}

// shareRoom gives the components placed together their first sizes: each its
// minimum, and of what is left in the cluster an equal share.
func shareRoom(v world.View, job *core.Job, list []Choice) {
	for i := range list {
		ch := &list[i]
		left, heirs := v.RoomIn(v.Cluster(ch.Cluster)), 0
		for k := range list {
			if list[k].Cluster != ch.Cluster {
				continue
			}
			if k < i {
				left -= list[k].Size
			} else {
				left -= list[k].Min
				heirs++
			}
		}
		comp := &job.Components[ch.Component]
		ch.Size = firstSize(spot{view: v, job: job, comp: comp, cluster: v.Cluster(ch.Cluster),
			room: comp.Min + max(0, left)/heirs})
	}
}

func largestFirst(job *core.Job) []int {
	order := make([]int, len(job.Components))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return job.Components[b].Min - job.Components[a].Min })
	return order
}

// pickSpot chooses the best spot for component i.
func pickSpot(v world.View, job *core.Job, i int, taken []int, rank ranking) (Choice, core.Reason, bool) {
	comp := &job.Components[i]
	var best, second score
	var why core.Reason
	var chosen spot
	found, runnerUp, queues := false, false, true
	widest, seats := 0, -1
	j := v.Job(job.ID)
	for id, c := range v.Clusters() {
		if !isEligible(&v, j, comp, c) {
			continue
		}
		s := spot{view: v, job: job, comp: comp, cluster: c, room: v.RoomIn(c)}
		if taken != nil {
			s.taken = taken[id]
			s.room -= s.taken
		}
		widest = max(widest, s.room)
		waits := s.room < comp.Min
		if now, wait := CountSeats(v, c, comp); wait && !waits {
			seats = max(seats, now)
			continue
		}
		if waits && (!c.IsManaged() || comp.Min > c.QueueRoom()-s.taken || found && !queues) {
			continue
		}
		sc, w, ok := rank(s)
		if !ok {
			continue
		}
		if !found || queues && !waits || sc.isBetter(&best) {
			second, runnerUp = best, found && queues == waits
			best, why, chosen, found, queues = sc, w, s, true, waits
		} else if !runnerUp || sc.isBetter(&second) {
			second, runnerUp = sc, true
		}
	}
	if !found && seats >= 0 {
		return Choice{}, tooFewSeats(comp, seats), false
	}
	if !found {
		return Choice{}, noRoom(v, job, comp, widest), false
	}
	switch {
	case why.Code != core.MostIdle: // tells all there is to tell
	case queues:
		why = core.Reason{Code: core.ShortestQueue, A: float64(-chosen.cluster.IdleProcs())}
	case runnerUp:
		why.B = second[0]
	default:
		why.Code = core.OnlyChoice
	}
	return Choice{Component: i, Cluster: chosen.cluster.ID(), Size: firstSize(chosen), Min: comp.Min,
		Max: min(comp.Max, chosen.cluster.UsableProcs())}, why, true
}

// tooFewSeats says for which hosts a component waits.
func tooFewSeats(comp *core.Component, seats int) core.Reason {
	if comp.Pattern == nil {
		return core.Reason{Code: core.NoRoomOnOneHost, A: float64(comp.Min)}
	}
	return core.Reason{Code: core.TooFewHosts, A: float64(comp.Pattern.Nodes), B: float64(seats)}
}

// noRoom is why a component has no place: the clusters where it may run have no
// room, or none of them can be asked.
func noRoom(v world.View, job *core.Job, comp *core.Component, widest int) core.Reason {
	unknown, closed, removed := 0, 0, 0
	j := v.Job(job.ID)
	for _, c := range v.Clusters() {
		switch {
		case c.IsRemoved():
			removed++
		case !isEligible(&v, j, comp, c):
		case c.IsUnknown():
			unknown++
		case c.IsClosed():
			closed++
		default:
			return core.Reason{Code: core.NoRoom, A: float64(comp.Min), B: float64(widest)}
		}
	}
	switch {
	case mostReliable(v, job, comp) > 0:
		return core.Reason{Code: core.NotReliable, A: comp.Reliability, B: mostReliable(v, job, comp)}
	case closed > 0:
		return core.Reason{Code: core.NotReached}
	case unknown > 0:
		return core.Reason{Code: core.NotKnownYet}
	case removed > 0:
		return core.Reason{Code: core.ClusterRemoved}
	}
	return core.Reason{Code: core.NoRoom, A: float64(comp.Min), B: float64(widest)}
}

// firstSize is the size at which a component starts: what its user has said since, or it
// asks for, else an equal share of what is idle with the other jobs that wait
// (papers/001, V-B: from the processors available).
func firstSize(s spot) int {
	if s.job.Kind == core.Rigid {
		return s.comp.Min
	}
	want := s.comp.Initial
	if j := s.view.Job(s.job.ID); j != nil && j.FixedSize() > 0 {
		want = j.FixedSize()
	}
	if want == 0 && s.job.Kind == core.Malleable && s.cluster != nil && s.cluster.CanExtend() {
		want = s.comp.Min // what more it gets it can give back again
	}
	if want == 0 {
		room := s.room
		if s.view.Reclaim {
			room = s.comp.Min // taking from others is for the minimum only
		}
		want = room / (1 + s.view.OtherWaiting())
	}
	return max(s.comp.Min, min(want, s.comp.Max, s.room))
}
